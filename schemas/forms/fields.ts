import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { memoizeByObject } from './memoize.ts'

/**
 * Field marks: they tell who sets a field, and when. A client sets an unmarked field on creation and may
 * change it.
 * - fixed: set on creation, then constant.
 * - closing: set when the record is closed, not on creation.
 * - status: ACTIVE on creation; a client may close it.
 * - derived: computed from other fields, and shown.
 * - internal: computed from other fields for lists; the path family does not show it.
 */
type FieldMark = 'fixed' | 'closing' | 'status' | 'derived' | 'internal'

const FIELD_MARK = Symbol('mark')

export type MarkedField<M extends FieldMark> = { [FIELD_MARK]: M }

const createMarker =
  <M extends FieldMark>(mark: M) =>
  <S extends TSchema>(schema: S) =>
    ({ ...schema, [FIELD_MARK]: mark }) as S & MarkedField<M>

export const fixedField = createMarker('fixed')
export const closingField = createMarker('closing')
export const statusField = createMarker('status')
export const derivedField = createMarker('derived')
export const internalField = createMarker('internal')

const markOf = (schema: TSchema): FieldMark | undefined =>
  (schema as Partial<MarkedField<FieldMark>>)[FIELD_MARK]

/** The fields without those that have one of the marks. */
export type FieldsWithoutMarks<P extends TProperties, M extends FieldMark> = {
  [K in keyof P as P[K] extends MarkedField<M> ? never : K]: P[K]
}

export const omitMarkedFields = <P extends TProperties, M extends FieldMark>(fields: P, ...marks: M[]) =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([, schema]) => !(marks as (FieldMark | undefined)[]).includes(markOf(schema)),
    ),
  ) as FieldsWithoutMarks<P, M>

const marksOf = memoizeByObject((fields: TProperties) =>
  Object.entries(fields).flatMap(([name, schema]) => {
    const mark = markOf(schema)
    return mark ? [{ name, mark }] : []
  }),
)

/** Names of the fields that have one of the marks. */
export const markedFieldNames = (fields: TProperties, ...marks: FieldMark[]): string[] =>
  marksOf(fields).flatMap(({ name, mark }) => (marks.includes(mark) ? [name] : []))

/** A day; in the class family the time 00:00 UTC of this day. */
export const dateField = (description: string, example = '2026-03-01') =>
  Type.String({ format: 'date', description, examples: [example] })

/** A time with millisecond precision. */
export const dateTimeField = (description: string, example = '2026-03-01T08:30:00Z') =>
  Type.String({ format: 'date-time', description, examples: [example] })

/** A string derived from other fields, if they allow it. */
export const derivedTextField = (description: string, example: string) =>
  derivedField(Type.Optional(Type.String({ description, examples: [example] })))

/** A number derived from other fields, if they allow it. */
export const derivedNumberField = (description: string, example: number) =>
  derivedField(Type.Optional(Type.Number({ description, examples: [example] })))

export const isDateOrDateTime = ({ format }: TSchema): boolean => format === 'date' || format === 'date-time'

const PATH_NAME = Symbol('its name in the path family')

/**
 * Gives a field another name in the path family. Either every record uses the stored name for something else,
 * or several stored fields share the path name: one per type of value, of which a record has one.
 */
export const withPathName = <S extends TSchema>(name: string, schema: S): S => ({
  ...schema,
  [PATH_NAME]: name,
})

export const pathNameOf = (fields: TProperties, name: string): string =>
  (fields[name] as { [PATH_NAME]?: string } | undefined)?.[PATH_NAME] ?? name

/** Returns a function that renames the keys of an object from stored names to path names. */
export function createPathNamer(fields: TProperties): <V extends object>(values: V) => V {
  const renames = Object.keys(fields).flatMap((name): [string, string][] => {
    const inPath = pathNameOf(fields, name)
    return inPath === name ? [] : [[name, inPath]]
  })
  if (renames.length === 0) return (values) => values
  const renamesByField = new Map(renames)
  return <V extends object>(values: V) => {
    const fields = values as Record<string, unknown>
    const pathValues: Record<string, unknown> = {}
    for (const name in fields) if (!renamesByField.has(name)) pathValues[name] = fields[name]
    for (const [name, inPath] of renames) if (name in fields) pathValues[inPath] = fields[name]
    return pathValues as V
  }
}

const TYPE_GUARDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  number: (value) => typeof value === 'number',
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
}

const hasSchemaType = ({ type }: TSchema, value: unknown): boolean => TYPE_GUARDS[type]?.(value) ?? false

/** Stored field names by path name. */
export const fieldNamesByPathName = memoizeByObject((fields: TProperties) => {
  const byPath = new Map<string, string[]>()
  for (const name of Object.keys(fields)) {
    const inPath = pathNameOf(fields, name)
    byPath.set(inPath, [...(byPath.get(inPath) ?? []), name])
  }
  return byPath
})

/**
 * Converts path names to stored names. If several fields share a name, it takes the one whose type matches,
 * otherwise the last one.
 */
export function fromPathNames(fields: TProperties, values: object): Record<string, unknown> {
  const byPath = fieldNamesByPathName(fields)
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const fieldNames = byPath.get(name) ?? [name]
      const field =
        fieldNames.length > 1 && fieldNames.find((one) => hasSchemaType(fields[one] as TSchema, value))
      return [field || (fieldNames.at(-1) as string), value]
    }),
  )
}
