import type { Coding } from '../../schemas/coding.ts'
import { DiagnosisForms as forms } from '../../schemas/conditions/diagnosis.ts'
import { CertaintyEnum, DiagnosisStatusEnum, GradeEnum } from '../../schemas/enums.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { defineKind, type Values } from '../ehr-records/kind.ts'
import { isRetracted, severityRank, withVerification } from '../ehr-records/timeline-definition.ts'
import {
  blankViolations,
  dateOrderViolations,
  futureDateViolations,
} from '../ehr-records/validation/field-violations.ts'
import { conditionMapping } from './fhir/condition-mapping.ts'
import { clinicalStatusFilter, codeFilter, searchFieldsFrom, searchFilter } from './search-filters.ts'

const ONGOING_STATUSES = ['active', 'recurrence', 'relapse']

/** Without a status, a diagnosis with an end date is resolved. */
const diagnosisStatusOf = ({ status, resolved }: Values) => status ?? (resolved ? 'resolved' : 'active')

const isOngoing = (values: Values): boolean => ONGOING_STATUSES.includes(String(diagnosisStatusOf(values)))

const SEARCHED_FIELDS = ['name', 'bodySite', 'comment']
const DAYS = ['onset', 'recognised', 'resolved']

const deriveSearchFields = searchFieldsFrom((values) => SEARCHED_FIELDS.map((field) => values[field]))

/** FHIR's constraint con-4 on a Condition. */
const resolvedViolations = (values: Values): Violation[] =>
  values.resolved && isOngoing(values)
    ? [
        {
          path: 'status',
          code: 'resolved',
          message: 'must be inactive, remission or resolved for a diagnosis with an end',
        },
      ]
    : []

export const Diagnosis = defineKind(forms, {
  words: { en: 'diagnoses', nl: 'diagnoses' },
  fhir: conditionMapping(DiagnosisStatusEnum.enum, CertaintyEnum.enum),
  rules: {
    // 2: a refuted diagnosis, or one entered in error, is not ongoing.
    derivationVersion: 2,
    dependentFields: [...SEARCHED_FIELDS, ...DAYS, 'code', 'status', 'certainty'],
    violations: (values, changedFields) => [
      ...blankViolations(values, 'name'),
      ...futureDateViolations(values, changedFields, DAYS),
      ...dateOrderViolations(values, 'recognised', 'onset'),
      ...dateOrderViolations(values, 'resolved', 'onset'),
      ...resolvedViolations(values),
    ],
    derived: (values) => ({
      ...deriveSearchFields(values),
      status: diagnosisStatusOf(values),
      goesOn: isOngoing(values) && !isRetracted(values.certainty),
    }),
  },
  lists: { ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  filters: {
    search: searchFilter('the name, the body site and the comment', 'blood press'),
    code: codeFilter,
    status: clinicalStatusFilter(DiagnosisStatusEnum, 'certainty'),
  },
  timeline: {
    kind: 'diagnosis',
    group: 'diagnoses',
    start: ['onset', 'recognised', 'createdAt'],
    end: 'resolved',
    open: { goesOn: true },
    describe: ({ name, status, severity, code, certainty }) =>
      withVerification(certainty, {
        content: String(name),
        summary: String(status),
        severity: severityRank(GradeEnum.enum, severity),
        code: code as Coding | undefined,
      }),
  },
})
