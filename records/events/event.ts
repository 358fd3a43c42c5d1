import { SeverityEnum } from '../../schemas/enum.ts'
import { Event as forms } from '../../schemas/event.ts'
import { kind } from '../registered/kind.ts'
import { severityIn, type TimelineValue } from '../registered/timeline-line.ts'
import { ALERT, eventRules, reaching, untouched } from './event-rules.ts'

const byTime = { sort: 'start', order: 'asc' } as const

export const Event = kind(forms, {
  words: { en: 'events', nl: 'gebeurtenissen' },
  rules: eventRules,
  reserved: untouched,
  lists: {
    ofEhr: { by: ['ehrId', 'long'], ...byTime },
    ofType: { by: ['ehrId', 'type', 'long'], ...byTime },
    ofPlan: { by: ['carePlanId', 'long'], ...byTime },
    ofParticipant: { by: ['ehrId', 'participantIds', 'long'], ...byTime },
  },
  timeline: {
    ...{ kind: 'event', group: 'events', start: ['start'], end: 'end' },
    reaching: (from) => reaching(from).map((one) => ({ ...one, last: { from } })),
    parts: [{ kind: 'alert', group: 'alerts', type: ALERT }],
    says: ({ title, description, severity, data }) => ({
      content: String(title),
      summary: description as string | undefined,
      severity: severityIn(SeverityEnum.enum, severity),
      values: (data as { values?: TimelineValue[] } | undefined)?.values ?? [],
    }),
  },
})
