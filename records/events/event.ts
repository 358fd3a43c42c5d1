import { SeverityEnum } from '../../schemas/enums.ts'
import { EventForms as forms } from '../../schemas/events/event.ts'
import { defineKind } from '../ehr-records/kind.ts'
import { severityRank, type TimelineValue } from '../ehr-records/timeline-definition.ts'
import { ALERT_TYPE, alertChangeViolations, eventRules, overlapAlternatives } from './event-rules.ts'
import { appointmentMapping } from './fhir/appointment-mapping.ts'

const byStart = { sort: 'start', order: 'asc' } as const

/** Matches the alerts that nobody has resolved. */
export const OPEN_ALERTS_FILTER = { urgency: { $gte: 0 } } as const

/** The alerts that a user may see and nobody has resolved, the worst and then the oldest first. */
const OPEN_ALERTS_INDEX = {
  name: 'open_alerts',
  key: { _rperm: 1, urgency: -1 },
  partialFilterExpression: { urgency: OPEN_ALERTS_FILTER.urgency },
} as const

/** The open alerts of a user's list, which change hands together. */
const ofList = (field: 'assignedTo' | 'assignedFor' | 'takenBy') => ({
  name: field,
  key: { [field]: 1 },
  partialFilterExpression: { urgency: OPEN_ALERTS_FILTER.urgency },
})

export const Event = defineKind(forms, {
  words: { en: 'events', nl: 'gebeurtenissen' },
  fhir: appointmentMapping,
  helperAct: 'PLAN',
  rules: eventRules,
  reservedViolations: alertChangeViolations,
  lists: {
    ofEhr: { requiredFields: ['ehrId', 'long'], ...byStart },
    byStart: { requiredFields: ['ehrId'], ...byStart },
    ofType: { requiredFields: ['ehrId', 'type', 'long'], ...byStart },
    ofPlan: { requiredFields: ['carePlanId', 'long'], ...byStart },
    ofParticipant: { requiredFields: ['ehrId', 'participantIds', 'long'], ...byStart },
  },
  indexes: [
    OPEN_ALERTS_INDEX,
    ofList('assignedTo'),
    ofList('assignedFor'),
    ofList('takenBy'),
    { key: { attentionAt: 1 }, sparse: true },
  ],
  timeline: {
    kind: 'event',
    group: 'events',
    start: ['start'],
    end: 'end',
    overlapFilters: (from) => overlapAlternatives(from).map((one) => ({ ...one, last: { from } })),
    parts: [{ kind: 'alert', group: 'alerts', type: ALERT_TYPE }],
    describe: ({ title, description, severity, data }) => ({
      content: String(title),
      summary: description as string | undefined,
      severity: severityRank(SeverityEnum.enum, severity),
      values: (data as { values?: TimelineValue[] } | undefined)?.values ?? [],
    }),
  },
})
