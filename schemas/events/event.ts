import { type Static, Type } from '@sinclair/typebox'
import { longTextField, shortTextField } from '../common.ts'
import { InvitationEnum, SeverityEnum } from '../enums.ts'
import { dateTimeField, internalField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'
import { alertHandlingFields } from './alert-handling.ts'

const participantField = Type.Object(
  {
    mvUid: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: 'User id of the participant',
      examples: ['bW81kPzQ7e'],
    }),
    status: InvitationEnum,
  },
  { additionalProperties: false, description: 'A participant of the event' },
)

const participantsField = Type.Array(participantField, {
  maxItems: 100,
  default: [],
  description: 'Participants; the list gives them no access to the event',
  examples: [[{ mvUid: 'bW81kPzQ7e', status: 'INVITED' }]],
})

const eventDataField = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Data of this kind of event, at most 32 levels deep',
  examples: [{ systolic: 185 }],
})

export const EventForms = defineForms({
  name: 'Event',
  noun: 'event',
  description: 'An event in an EHR or in one of its care plans, such as an appointment',
  parentType: 'either',
  example: 'v4QwEr67Cv',
  fields: {
    type: shortTextField('Kind of the event', 'appointment'),
    title: shortTextField('Title of the event', 'Yearly check-up'),
    description: Type.Optional(longTextField('Description of the event', 'Bring the blood pressure diary')),
    start: dateTimeField('Start time'),
    end: Type.Optional(
      dateTimeField('End time; without one the event is a moment or a day', '2026-03-01T09:00:00Z'),
    ),
    allDay: Type.Optional(
      Type.Boolean({ default: false, description: 'True if the event lasts whole days' }),
    ),
    location: Type.Optional(shortTextField('Location', 'Room 12')),
    participants: Type.Optional(participantsField),
    severity: Type.Optional(SeverityEnum),
    data: Type.Optional(eventDataField),
    ...alertHandlingFields,
    urgency: internalField(
      Type.Optional(Type.Number({ description: 'Severity and age of an alert that is not resolved' })),
    ),
    attentionAt: internalField(
      Type.Optional(dateTimeField('Time at which an alert goes to the next user, unless somebody takes it')),
    ),
    last: internalField(dateTimeField('Last moment of the event')),
    long: internalField(Type.Boolean({ description: 'True if the event takes more than 31 days' })),
    participantIds: internalField(Type.Array(Type.String(), { description: 'User ids of the participants' })),
  },
})

export type EventRecord = Static<typeof EventForms.record>
export type EventResource = Static<typeof EventForms.resource>
