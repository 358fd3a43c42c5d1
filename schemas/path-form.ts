import {
  OptionalKind,
  type Static,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox'
import { KEPT, type moment } from './common.ts'
import { nullable } from './nullable.ts'

type Moment = ReturnType<typeof moment>
type DateText = ReturnType<typeof dateText>
type Kept = (typeof KEPT)[number]

const dateText = (description: string) =>
  Type.String({ format: 'date', description, examples: ['2026-03-01'] })

type Dated<S> = S extends TOptional<Moment> ? TOptional<DateText> : S extends Moment ? DateText : S

const isMoment = (schema: TSchema): boolean => schema.properties?.__type !== undefined

/** The properties of a class in the path family's form: a moment is a date, and what Parse keeps is not among them. */
export const pathForm = <P extends TProperties>(properties: P) =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => !(KEPT as string[]).includes(name))
      .map(([name, schema]) => [name, isMoment(schema) ? dated(schema) : schema]),
  ) as { [K in Exclude<keyof P, Kept>]: Dated<P[K]> }

function dated(schema: TSchema): TSchema {
  const text = dateText(schema.description ?? '')
  return OptionalKind in schema ? Type.Optional(text) : text
}

/** Without what only the service knows: where it belongs stands in the path, and its status has a way of its own. */
const PLACED = ['ehrId', 'carePlanId', 'goalId', 'status'] as const
type Placed = (typeof PLACED)[number]

/** What a client writes of the properties. */
export const own = <P extends TProperties>(properties: P) =>
  Object.fromEntries(
    Object.entries(properties).filter(([name]) => !(PLACED as readonly string[]).includes(name)),
  ) as { [K in Exclude<keyof P, Placed>]: P[K] }

type OrNull<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> ? TUnsafe<Static<P[K]> | null> : P[K]
}

/** As a reply shows them: all are there, null for what is not set. */
export const shownForm = <P extends TProperties>(properties: P) =>
  mapOptional(properties, nullable) as OrNull<P>

type MayBeNull<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> ? TOptional<TUnsafe<Static<P[K]> | null>> : P[K]
}

/** As a body gives them: null stands for what is left out. */
export const bodyForm = <P extends TProperties>(properties: P) =>
  mapOptional(properties, (schema) => Type.Optional(nullable(schema))) as MayBeNull<P>

const mapOptional = (properties: TProperties, map: (schema: TSchema) => TSchema): TProperties =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const { [OptionalKind]: optional, ...plain } = schema as TSchema & { [OptionalKind]?: string }
      return [name, optional ? map(plain as TSchema) : schema]
    }),
  )
