import { SeverityEnum } from '../../schemas/enums.ts'
import { OccurrenceForms as forms } from '../../schemas/user-data/user-data.ts'
import { defineKind, type Rules } from '../ehr-records/kind.ts'
import { payloadViolations } from '../ehr-records/refusals/payload-violations.ts'
import { severityRank } from '../ehr-records/timeline-definition.ts'
import { timestampViolations } from '../measurements/measurement.ts'
import type { ResolvedType } from '../types/type-registry.ts'
import { createDailyQuota } from './daily-quota.ts'
import { occurrenceObservation } from './fhir/own-type-observation.ts'
import { createRulesResolver, prefixPaths } from './typed-rules.ts'

/** The rules that apply to every type. */
const baseRules: Rules = {
  dependentFields: ['data', 'timestamp'],
  violations: (values) => [
    ...timestampViolations(values),
    ...(values.data === undefined ? [] : payloadViolations(values.data, 'data')),
  ],
  fixedDerived: ['typeVersion'],
}

const rulesOfType = (type: ResolvedType): Rules => ({
  ...baseRules,
  violations: (values, changedFields) => [
    ...baseRules.violations(values, changedFields),
    ...prefixPaths('data', type.check(values.data ?? {})),
  ],
  derived: () => ({
    name: type.name,
    typeVersion: type.version,
    ...(type.severity !== undefined && { severity: type.severity }),
  }),
})

const newestFirst = { sort: 'timestamp', order: 'desc' } as const

/** Occurrences of the event types that modellers define. */
export const Occurrence = defineKind(forms, {
  words: { en: 'occurrences', nl: 'voorvallen' },
  fhir: occurrenceObservation,
  helperAct: 'RECORD',
  rules: baseRules,
  rulesFor: createRulesResolver('event', 'eventType', { rules: rulesOfType, fallbackRules: baseRules }),
  quota: createDailyQuota({ collection: forms.name, family: 'event', typeField: 'eventType' }),
  lists: {
    ofEhr: { requiredFields: ['ehrId'], ...newestFirst },
    ofType: { requiredFields: ['ehrId', 'eventType'], ...newestFirst },
    ofPlan: { requiredFields: ['carePlanId'], ...newestFirst },
  },
  filters: {
    eventType: { schema: forms.fields.eventType, where: (eventType) => ({ eventType }) },
  },
  timeline: {
    kind: 'occurrence',
    group: 'events',
    start: ['timestamp'],
    describe: ({ name, eventType, comment, severity }) => ({
      content: String(name ?? eventType),
      summary: comment as string | undefined,
      severity: severityRank(SeverityEnum.enum, severity),
    }),
  },
})
