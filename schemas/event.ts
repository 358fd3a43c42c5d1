import { type Static, Type } from '@sinclair/typebox'
import { line, text } from './common.ts'
import { InvitationEnum, SeverityEnum } from './enum.ts'
import { internal, time } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

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
  description: 'Who takes part; being named here gives no access to the event',
  examples: [[{ mvUid: 'bW81kPzQ7e', status: 'INVITED' }]],
})

const data = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Whatever belongs to this kind of event, at most 32 levels deep',
  examples: [{ systolic: 185 }],
})

export const Event = forms({
  name: 'Event',
  noun: 'event',
  description: 'Something that happens or has happened in an EHR or in one of its care plans',
  registeredIn: 'either',
  example: 'v4QwEr67Cv',
  fields: {
    type: line('Kind of the event', 'appointment'),
    title: line('What it is', 'Yearly check-up'),
    description: Type.Optional(text('More about it', 'Bring the blood pressure diary')),
    start: time('When it begins'),
    end: Type.Optional(
      time('When it ends; without an end the event is a moment, or a day', '2026-03-01T09:00:00Z'),
    ),
    allDay: Type.Optional(Type.Boolean({ default: false, description: 'Whether it lasts whole days' })),
    location: Type.Optional(line('Where it takes place', 'Room 12')),
    participants: Type.Optional(participants),
    severity: Type.Optional(SeverityEnum),
    data: Type.Optional(data),
    last: internal(time('Its last moment')),
    long: internal(Type.Boolean({ description: 'Whether it takes more than 31 days' })),
    participantIds: internal(Type.Array(Type.String(), { description: 'The user ids of the participants' })),
  },
})

export type EventRecord = Static<typeof Event.record>
export type EventResource = Static<typeof Event.resource>
