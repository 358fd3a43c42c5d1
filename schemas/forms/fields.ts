import { type TProperties, type TSchema, Type } from '@sinclair/typebox'

/**
 * Who says a field's value, and when. A field without a mark is the client's: given on creation, changed at any time.
 * - fixed: given on creation; it stays.
 * - closing: said when the record ends; not on creation.
 * - status: ACTIVE on creation; a client may close it.
 * - derived: follows from the others, and is shown.
 * - internal: follows from the others, for lists; the path family does not show it.
 */
type Mark = 'fixed' | 'closing' | 'status' | 'derived' | 'internal'

const MARK = Symbol('mark')

export type Marked<M extends Mark> = { [MARK]: M }

const marked =
  <M extends Mark>(mark: M) =>
  <S extends TSchema>(schema: S) =>
    ({ ...schema, [MARK]: mark }) as S & Marked<M>

export const fixed = marked('fixed')
export const closing = marked('closing')
export const status = marked('status')
export const derived = marked('derived')
export const internal = marked('internal')

const markOf = (schema: TSchema): Mark | undefined => (schema as Partial<Marked<Mark>>)[MARK]

/** The fields without those that bear one of the marks. */
export type Without<P extends TProperties, M extends Mark> = {
  [K in keyof P as P[K] extends Marked<M> ? never : K]: P[K]
}

export const without = <P extends TProperties, M extends Mark>(fields: P, ...marks: M[]) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, schema]) => !(marks as (Mark | undefined)[]).includes(markOf(schema))),
  ) as Without<P, M>

/** The names of the fields that bear one of the marks. */
export const namesOf = (fields: TProperties, ...marks: Mark[]): string[] =>
  Object.keys(fields).filter((name) => marks.some((mark) => mark === markOf(fields[name] as TSchema)))

/** A day. The class family sees the moment at which it begins, in UTC. */
export const date = (description: string, example = '2026-03-01') =>
  Type.String({ format: 'date', description, examples: [example] })

/** A moment, to the millisecond. */
export const time = (description: string, example = '2026-03-01T08:30:00Z') =>
  Type.String({ format: 'date-time', description, examples: [example] })

/** A string derived from other fields, where they yield one. */
export const derivedText = (description: string, example: string) =>
  derived(Type.Optional(Type.String({ description, examples: [example] })))

/** A number derived from other fields, where they yield one. */
export const derivedNumber = (description: string, example: number) =>
  derived(Type.Optional(Type.Number({ description, examples: [example] })))

/** Whether a field holds a day or a moment. */
export const isMoment = ({ format }: TSchema): boolean => format === 'date' || format === 'date-time'

const IN_PATH = Symbol('its name in the path family')

/**
 * A field that the path family calls otherwise: every record has something else under that name; or the name is that of
 * several fields, since a class has one for each type that a value may be of, of which a record has one.
 */
export const inPathAs = <S extends TSchema>(name: string, schema: S): S => ({ ...schema, [IN_PATH]: name })

/** What the path family calls a field. */
export const pathName = (fields: TProperties, name: string): string =>
  (fields[name] as { [IN_PATH]?: string } | undefined)?.[IN_PATH] ?? name

/** What gives values, or anything else, of fields the names that the path family has for them. */
export function toPath(fields: TProperties): <V extends object>(values: V) => V {
  const renamed = Object.keys(fields).flatMap((name): [string, string][] => {
    const inPath = pathName(fields, name)
    return inPath === name ? [] : [[name, inPath]]
  })
  if (renamed.length === 0) return (values) => values
  const own = new Map(renamed)
  return <V extends object>(values: V) => {
    const given = values as Record<string, unknown>
    const named: Record<string, unknown> = {}
    for (const name in given) if (!own.has(name)) named[name] = given[name]
    for (const [name, inPath] of renamed) if (name in given) named[inPath] = given[name]
    return named as V
  }
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  number: (value) => typeof value === 'number',
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
}

const isOfType = ({ type }: TSchema, value: unknown): boolean => TYPES[type]?.(value) ?? false

/** What follows from a kind's fields, which stay as they are: made when it is first asked for. */
export function ofFields<R>(make: (fields: TProperties) => R): (fields: TProperties) => R {
  const known = new WeakMap<TProperties, R>()
  return (fields) => {
    const made = known.get(fields) ?? make(fields)
    known.set(fields, made)
    return made
  }
}

/** The names of the fields, by those that the path family has for them. */
export const namesByPath = ofFields((fields) => {
  const byPath = new Map<string, string[]>()
  for (const name of Object.keys(fields)) {
    const inPath = pathName(fields, name)
    byPath.set(inPath, [...(byPath.get(inPath) ?? []), name])
  }
  return byPath
})

/** The way back: of several fields that share a name the one whose type the value has, else the last one. */
export function fromPath(fields: TProperties, values: object): Record<string, unknown> {
  const byPath = namesByPath(fields)
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const named = byPath.get(name) ?? [name]
      const field = named.length > 1 && named.find((one) => isOfType(fields[one] as TSchema, value))
      return [field || (named.at(-1) as string), value]
    }),
  )
}
