import { Event as forms } from '../../schemas/event.ts'
import { kind } from '../registered/kind.ts'
import { eventRules } from './rules.ts'

const byTime = { sort: 'start', order: 'asc' } as const

export const Event = kind(forms, {
  words: { en: 'events', nl: 'gebeurtenissen' },
  rules: eventRules,
  lists: {
    ofEhr: { by: ['ehrId', 'long'], ...byTime },
    ofType: { by: ['ehrId', 'type', 'long'], ...byTime },
    ofPlan: { by: ['carePlanId', 'long'], ...byTime },
    ofParticipant: { by: ['ehrId', 'participantIds', 'long'], ...byTime },
  },
})
