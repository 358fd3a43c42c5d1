import { SeverityEnum } from '../../schemas/enum.ts'
import { Occurrence as forms } from '../../schemas/user-data.ts'
import { momentViolations } from '../measurements/measurement.ts'
import { kind, type Rules } from '../registered/kind.ts'
import { payloadViolations } from '../registered/refusals/payload.ts'
import { severityIn } from '../registered/timeline-line.ts'
import type { KnownType } from '../types/known-types.ts'
import { daily } from './admission.ts'
import { below, typedRules } from './typed-rules.ts'

/** What holds whatever the type says. */
const untyped: Rules = {
  together: ['data', 'timestamp'],
  violations: (values) => [
    ...momentViolations(values),
    ...(values.data === undefined ? [] : payloadViolations(values.data, 'data')),
  ],
  once: ['typeVersion'],
}

const rules = (type: KnownType): Rules => ({
  ...untyped,
  violations: (values, changed) => [
    ...untyped.violations(values, changed),
    ...below('data', type.check(values.data ?? {})),
  ],
  derived: () => ({
    name: type.name,
    typeVersion: type.version,
    ...(type.severity !== undefined && { severity: type.severity }),
  }),
})

const byTime = { sort: 'timestamp', order: 'desc' } as const

/** Occurrences of the event types that modellers make. */
export const Occurrence = kind(forms, {
  words: { en: 'occurrences', nl: 'voorvallen' },
  rules: untyped,
  rulesFor: typedRules('event', 'eventType', { rules, untyped }),
  admission: daily({ collection: forms.name, family: 'event', by: 'eventType' }),
  lists: {
    ofEhr: { by: ['ehrId'], ...byTime },
    ofType: { by: ['ehrId', 'eventType'], ...byTime },
    ofPlan: { by: ['carePlanId'], ...byTime },
  },
  filters: {
    eventType: { schema: forms.fields.eventType, where: (eventType) => ({ eventType }) },
  },
  timeline: {
    ...{ kind: 'occurrence', group: 'events', start: ['timestamp'] },
    says: ({ name, eventType, comment, severity }) => ({
      content: String(name ?? eventType),
      summary: comment as string | undefined,
      severity: severityIn(SeverityEnum.enum, severity),
    }),
  },
})
