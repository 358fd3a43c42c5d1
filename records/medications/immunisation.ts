import type { Coding } from '../../schemas/coding.ts'
import { ImmunisationStatusEnum } from '../../schemas/enums.ts'
import { ImmunisationForms as forms } from '../../schemas/medications/immunisation.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { codeFilter, fieldFilter, searchFieldsFrom, searchFilter } from '../conditions/search-filters.ts'
import { defineKind, type Values } from '../ehr-records/kind.ts'
import { blankViolations } from '../ehr-records/validation/field-violations.ts'
import { immunizationMapping } from './fhir/immunization-mapping.ts'

const doseViolations = ({ doseNumber, seriesDoses }: Values): Violation[] =>
  Number(doseNumber) > Number(seriesDoses)
    ? [{ path: 'doseNumber', code: 'order', message: 'must not be greater than seriesDoses' }]
    : []

/** FHIR: reportOrigin is the source of a record whose primarySource is false. */
const originViolations = ({ primarySource, reportOrigin }: Values): Violation[] =>
  primarySource === true && reportOrigin !== undefined
    ? [{ path: 'reportOrigin', code: 'primary', message: 'must be left out if primarySource is true' }]
    : []

export const Immunisation = defineKind(forms, {
  words: { en: 'immunisations', nl: 'vaccinaties' },
  fhir: immunizationMapping,
  openehr: {
    concept: 'immunisation',
    elements: [
      { field: 'vaccine', name: 'Vaccine', code: 'code' },
      { field: 'date', name: 'Date' },
      { field: 'status', name: 'Status' },
      { field: 'statusReason', name: 'Reason for the status' },
      { field: 'targetDisease', name: 'Disease' },
      { field: 'doseNumber', name: 'Number of the dose' },
      { field: 'seriesDoses', name: 'Recommended doses' },
      { field: 'lotNumber', name: 'Lot number' },
      { field: 'manufacturer', name: 'Manufacturer' },
      { field: 'expiry', name: 'Expiration date' },
      { field: 'site', name: 'Site' },
      { field: 'route', name: 'Route' },
      { field: 'performer', name: 'Performer' },
      { field: 'primarySource', name: 'From whoever gave it' },
      { field: 'reportOrigin', name: 'Origin of the report' },
      { field: 'comment', name: 'Comment' },
    ],
  },
  rules: {
    dependentFields: [
      'vaccine',
      'code',
      'targetDisease',
      'comment',
      'doseNumber',
      'seriesDoses',
      'primarySource',
      'reportOrigin',
    ],
    violations: (values) => [
      ...blankViolations(values, 'vaccine'),
      ...doseViolations(values),
      ...originViolations(values),
    ],
    derived: searchFieldsFrom(({ vaccine, targetDisease, comment }) => [vaccine, targetDisease, comment]),
  },
  lists: {
    ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' },
    byDate: { requiredFields: ['ehrId'], sort: 'date', order: 'desc' },
  },
  filters: {
    search: searchFilter('the vaccine, the disease and the comment', 'flu'),
    code: codeFilter,
    status: fieldFilter('status', ImmunisationStatusEnum),
  },
  timeline: {
    kind: 'immunisation',
    group: 'immunisations',
    start: ['date', 'createdAt'],
    describe: ({ vaccine, status, code }) => ({
      content: String(vaccine),
      summary: String(status),
      code: code as Coding | undefined,
    }),
  },
})
