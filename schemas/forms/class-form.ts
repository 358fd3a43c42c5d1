import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { closed, kept, moment } from '../common.ts'
import { ClosingStatusEnum } from '../enum.ts'
import { isMoment, namesOf, without } from './fields.ts'

/** A record as the class family's clients write and read it: days and moments are Parse's Dates. */
export interface ClassForms {
  /** What is kept: decides the Parse fields, and what an updated object must still fulfil. */
  stored: TObject
  /** What a client may send on creation. */
  create: TObject
  /** Which properties an update may change. */
  update: TObject
}

interface About {
  name: string
  description: string
  /** Where it is registered: the ids, in the class family's names. */
  place: TProperties
  fields: TProperties
  /** Whole examples, in the form of the fields; without one each field's own example stands. */
  examples?: readonly object[] | undefined
}

export function classForms({ name, description, place, fields, examples }: About): ClassForms {
  const dated = mapped(fields, (schema) => (isMoment(schema) ? asMoment(schema) : schema))
  const follows = namesOf(fields, 'derived', 'internal')
  const stored = mapped(dated, (schema, field) => (follows.includes(field) ? Type.Optional(schema) : schema))
  const create = { ...place, ...without(dated, 'closing', 'status', 'derived', 'internal') }
  const update = {
    ...Type.Partial(Type.Object(without(dated, 'fixed', 'status', 'derived', 'internal'))).properties,
    ...Object.fromEntries(
      namesOf(fields, 'status').map((field) => [field, Type.Optional(ClosingStatusEnum)]),
    ),
  }
  const placed = Object.fromEntries(Object.entries(place).map(([id, { examples }]) => [id, examples?.[0]]))
  const exampleBodies = (examples ?? []).map((example) => classForm(fields, example))
  return {
    stored: closed(name, description, { ...kept, ...place, ...stored }),
    create: Type.Object(create, {
      ...options(`${name}Create`, description),
      ...(exampleBodies.length > 0 && { examples: exampleBodies.map((one) => ({ ...placed, ...one })) }),
    }),
    update: Type.Object(update, {
      ...options(`${name}Update`, `What may change: ${description}`),
      ...(exampleBodies.length > 0 && { examples: exampleBodies.map((one) => within(update, one)) }),
    }),
  }
}

const within = (properties: TProperties, values: object) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => name in properties))

const options = ($id: string, description: string) => ({ $id, description, additionalProperties: false })

function asMoment(schema: TSchema): TSchema {
  const { description = '', examples } = schema
  const as = { ...moment(description), ...(examples && { examples: examples.map(momentOf) }) }
  return OptionalKind in schema ? Type.Optional(as) : as
}

const mapped = (fields: TProperties, map: (schema: TSchema, name: string) => TSchema): TProperties =>
  Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, marksKept(schema, map(schema, name))]),
  )

/** What a field is marked as, it is in every form. */
const marksKept = (from: TSchema, to: TSchema): TSchema => {
  const marks = Object.getOwnPropertySymbols(from).filter((symbol) => !(symbol in to))
  return Object.assign({ ...to }, ...marks.map((symbol) => ({ [symbol]: from[symbol as never] })))
}

/** A day or a moment as the class family writes it. */
const momentOf = (text: unknown) => ({
  __type: 'Date',
  iso: typeof text === 'string' && text.length === 10 ? `${text}T00:00:00.000Z` : text,
})

/** Values in the form of the fields as the class family writes them; what is not set is left out. */
export const classForm = (fields: TProperties, values: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => name in fields && value !== undefined && value !== null)
      .map(([name, value]) => [name, isMoment(fields[name] as TSchema) ? momentOf(value) : value]),
  )

/** The class family's values in the form of the fields: what is a well-formed Date there is an ISO text here. */
export const fieldForm = (fields: TProperties, values: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined
      const iso: unknown = field && isMoment(field) ? (value as { iso?: unknown } | null)?.iso : undefined
      return [name, typeof iso === 'string' ? iso : value]
    }),
  )
