import { type Static, Type } from '@sinclair/typebox'
import { closed, id } from './common.ts'
import { Event, EventCreate } from './event.ts'
import { bodyForm, pathForm, shownForm } from './path-form.ts'

const time = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] })

const { start, end, ...others } = EventCreate.properties

/** An event in the path family's form: here it is the time of the day that counts. */
const fields = {
  ...pathForm(others),
  start: time(start.description ?? '', '2026-03-01T08:30:00Z'),
  end: Type.Optional(time(end.description ?? '', '2026-03-01T09:00:00Z')),
}

/** What is kept of an event. */
export const storedEvent = Type.Object({
  ...fields,
  last: Type.String({ format: 'date-time' }),
  long: Type.Boolean(),
  participantIds: Type.Array(Type.String()),
})

export const EventResource = closed('EventResource', Event.description ?? '', {
  id: { ...id('the event'), examples: ['v4QwEr67Cv'] },
  version: Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' }),
  ...shownForm(fields),
})
export type EventResource = Static<typeof EventResource>

const { ehrId: _, ...written } = fields

export const EventBody = closed('EventBody', 'A new event', bodyForm(written))
export type EventBody = Static<typeof EventBody>

export const EventReplacement = closed('EventReplacement', 'A complete event: what is left out is removed', {
  ...EventBody.properties,
  id: Type.Optional({ ...id('the event: the one in the path'), examples: ['v4QwEr67Cv'] }),
  carePlanId: Type.Optional({
    ...EventBody.properties.carePlanId,
    description: 'The care plan, which stays the same; left out, it stays too',
  }),
})
export type EventReplacement = Static<typeof EventReplacement>
