import { type TProperties, Type } from '@sinclair/typebox'

/** An object that holds the given properties and no others. */
export const closed = <P extends TProperties>($id: string, description: string, properties: P) =>
  Type.Object(properties, { $id, description, additionalProperties: false })

/** The id of a stored object. No pattern: an id that cannot exist is answered like one that does not. */
export const id = (of: string, example?: string) =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: `Id of ${of}`,
    ...(example && { examples: [example] }),
  })

/** A short line, such as a name. */
export const line = (description: string, ...examples: string[]) =>
  Type.String({ minLength: 1, maxLength: 200, description, ...(examples.length > 0 ? { examples } : {}) })

/** Free text. */
export const text = (description: string, example?: string, maxLength = 10_000) =>
  Type.String({ maxLength, description, ...(example && { examples: [example] }) })

const mustBeMoment = { sentence: 'must be {"__type":"Date","iso":"<time in UTC>"}' }

/** A moment as the class family writes it; whatever is wrong inside it is one violation. */
export const moment = (description: string) =>
  Type.Object(
    {
      __type: Type.Literal('Date', mustBeMoment),
      iso: Type.String({ format: 'date-time', ...mustBeMoment }),
    },
    { additionalProperties: false, description, ...mustBeMoment },
  )

/** A measured number; its unit stands in a property beside it, and its range is a rule: it depends on the unit. */
export const quantity = (description: string, ...examples: number[]) =>
  Type.Number({ description, ...(examples.length > 0 ? { examples } : {}) })

/** The unit of a quantity: the codes are checked by records/measurements/quantities. */
export const unit = (of: string, codes: string) =>
  Type.String({
    minLength: 1,
    maxLength: 20,
    description: `Unit of ${of}, as UCUM code: ${codes}`,
    examples: [codes.split(/[ ,]/)[0]],
  })

/** What the service itself keeps on every stored object. */
export const kept = {
  objectId: Type.Optional(id('this object, given by the service')),
  createdAt: Type.Optional(Type.String({ format: 'date-time', description: 'Time of creation' })),
  updatedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the last update' })),
  version: Type.Optional(Type.Integer({ minimum: 1, description: 'Counts the writes, from 1' })),
}

export const KEPT = Object.keys(kept) as (keyof typeof kept)[]

const href = (description: string, example: string) => Type.String({ description, examples: [example] })

/** Where an answer shows what belongs to a record: paths of the same service. */
export const Links = closed('Links', 'Where to go on', {
  self: href('The record', '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io'),
  collection: href('The list that it is in', '/ehr/e5RtGb81Xz/procedure/bloodpressure'),
  history: href('Who changed it, when and how', '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io/history'),
  carePlan: Type.Optional(href('The care plan that it belongs to', '/ehr/e5RtGb81Xz/careplan/p0LmNb72Qw')),
})

/** `an event`, `a goal`. */
export const articled = (noun: string): string => `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
