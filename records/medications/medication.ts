import type { Coding } from '../../schemas/coding.ts'
import { MedicationStatusEnum } from '../../schemas/enums.ts'
import { MedicationForms as forms } from '../../schemas/medications/medication.ts'
import { codeFilter, fieldFilter, searchFieldsFrom, searchFilter } from '../conditions/search-filters.ts'
import { defineKind } from '../ehr-records/kind.ts'
import { blankViolations, dateOrderViolations } from '../ehr-records/validation/field-violations.ts'
import { medicationStatementMapping } from './fhir/medication-statement-mapping.ts'

const deriveSearchFields = searchFieldsFrom(({ name, reason, comment }) => [name, reason, comment])

export const Medication = defineKind(forms, {
  words: { en: 'medications', nl: 'medicijnen' },
  fhir: medicationStatementMapping,
  openehr: {
    concept: 'medication',
    elements: [
      { field: 'name', name: 'Medication', code: 'code' },
      { field: 'status', name: 'Status' },
      { field: 'statusReason', name: 'Reason for the status' },
      { field: 'dosage', name: 'Dosage' },
      { field: 'asNeeded', name: 'As needed' },
      { field: 'route', name: 'Route' },
      { field: 'reason', name: 'Reason' },
      { field: 'start', name: 'Start' },
      { field: 'end', name: 'End' },
      { field: 'asserted', name: 'Day of the report' },
      { field: 'informationSource', name: 'Source of the information' },
      { field: 'comment', name: 'Comment' },
    ],
  },
  rules: {
    dependentFields: ['name', 'code', 'reason', 'comment', 'start', 'end'],
    violations: (values) => [
      ...blankViolations(values, 'name'),
      ...dateOrderViolations(values, 'end', 'start'),
    ],
    derived: (values) => ({
      ...deriveSearchFields(values),
      goesOn: ['active', 'on-hold'].includes(String(values.status)),
    }),
  },
  lists: {
    ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' },
    byStart: { requiredFields: ['ehrId'], sort: 'start', order: 'desc' },
  },
  filters: {
    search: searchFilter('the name, the reason and the comment', 'met'),
    code: codeFilter,
    status: fieldFilter('status', MedicationStatusEnum),
  },
  timeline: {
    kind: 'medication',
    group: 'medications',
    start: ['start', 'asserted', 'createdAt'],
    end: 'end',
    open: { goesOn: true },
    describe: ({ name, status, code }) => ({
      content: String(name),
      summary: String(status),
      code: code as Coding | undefined,
    }),
  },
})
