import { type Static, Type } from '@sinclair/typebox'
import { closed, id, KEPT, kept, line, moment, text } from './common.ts'
import { InvitationEnum, SeverityEnum } from './enum.ts'

const participant = Type.Object(
  {
    mvUid: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: 'User id of the participant',
      examples: ['bW81kPzQ7e'],
    }),
    status: InvitationEnum,
  },
  { additionalProperties: false, description: 'Somebody who takes part in the event' },
)

const participants = Type.Array(participant, {
  maxItems: 100,
  default: [],
  description: 'Who takes part; being named here lets nobody see the event',
  examples: [[{ mvUid: 'bW81kPzQ7e', status: 'INVITED' }]],
})

export const Event = closed('Event', 'What happens, or has happened, in an EHR or in one of its care plans', {
  ...kept,
  ehrId: id('the EHR', 'e5RtGb81Xz'),
  carePlanId: Type.Optional(id('the care plan; without one the event belongs to the EHR as a whole')),
  type: line('Kind of the event', 'appointment'),
  title: line('What it is', 'Yearly check-up'),
  description: Type.Optional(text('More about it', 'Bring the blood pressure diary')),
  start: moment('When it begins'),
  end: Type.Optional(moment('When it is over; without it the event is a moment, or a day')),
  allDay: Type.Optional(Type.Boolean({ default: false, description: 'Whether it takes whole days' })),
  location: Type.Optional(line('Where it takes place', 'Room 12')),
  participants: Type.Optional(participants),
  severity: Type.Optional(SeverityEnum),
  data: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Whatever belongs to this kind of event, at most 32 levels deep',
      examples: [{ systolic: 185 }],
    }),
  ),
  last: Type.Optional(moment('Its last moment, set by the service')),
  long: Type.Optional(
    Type.Boolean({ description: 'Whether it takes more than 31 days, set by the service' }),
  ),
  participantIds: Type.Optional(
    Type.Array(Type.String(), { description: 'The user ids of the participants, set by the service' }),
  ),
})
export type Event = Static<typeof Event>

/** What follows from the other properties: lists are made by it. */
const DERIVED = ['last', 'long', 'participantIds'] as const

export const EventCreate = Type.Omit(Event, [...KEPT, ...DERIVED], { $id: 'EventCreate' })

export const EventUpdate = Type.Partial(Type.Omit(EventCreate, ['ehrId', 'carePlanId']), {
  $id: 'EventUpdate',
  description: 'What may change in an event',
})
