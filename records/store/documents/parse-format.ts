import { isDeepStrictEqual } from 'node:util'
import { OptionalKind, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Permissions } from './caller.ts'

/** What every record carries beside the fields of its schema; times are RFC 3339, UTC, milliseconds. */
interface Meta {
  id: string
  /** 1 when created; each write adds 1. */
  version: number
  createdAt: string
  updatedAt: string
}

/** A record as the families see it: plain JSON values. */
export type Saved<T> = T & Meta

/** A record as it is stored, where Parse Server reads and writes it too. */
export interface ParseDocument {
  _id: string
  version: number
  _created_at: Date
  _updated_at: Date
  /** Who may read; Parse takes a missing one for "everyone". */
  _rperm: string[]
  _wperm: string[]
  _acl: Record<string, { r?: true; w?: true }>
  [field: string]: unknown
}

/** One field's way into the database and back. */
interface Field {
  /** Its name in the database. */
  key: string
  store(value: unknown): unknown
  load(value: unknown): unknown
  /** For a value that is looked for: of an array field, one of its elements. */
  search(value: unknown): unknown
  /** Whether it is stored as a date. */
  isDate: boolean
  /** Whether a record may be without it. */
  mayMiss: boolean
}

/** The two forms of one resource's records, and the way between them. */
export interface ParseFormat<T> {
  /**
   * The fields of the schema as they are stored; fields that are undefined are left out. What shows as it did `before`
   * stays as it is stored: a date keeps the time of day that the class family gave it.
   */
  toStored(record: Partial<T>, before?: ParseDocument): Record<string, unknown>
  fromStored(document: ParseDocument): Saved<T>
  /** @throws TypeError for a field that the schema does not have. */
  field(name: string): Pick<Field, 'key' | 'search' | 'isDate' | 'mayMiss'>
  /** The names of the stored fields. */
  keys: ReadonlySet<string>
}

type Convert = (value: unknown) => unknown
/** undefined stands for a value that is stored as it is. */
type Conversion = { store: Convert; load: Convert } | undefined

const same: Convert = (value) => value

function storeTime(value: unknown): Date {
  const time = new Date(value as string)
  if (!Number.isNaN(time.getTime())) return time
  throw new RangeError('must be a moment that exists')
}

const DATE_TIME: Conversion = { store: storeTime, load: (value) => (value as Date).toISOString() }
const DATE: Conversion = {
  store: (value) => storeTime(`${value}T00:00:00.000Z`),
  load: (value) => (value as Date).toISOString().slice(0, 10),
}

/** null stays null on both ways; so does what is not there. */
const nullable = (convert: Convert): Convert => {
  return (value) => (value === null || value === undefined ? value : convert(value))
}

function mapProperties(
  conversions: Map<string, Conversion>,
  rest: Conversion,
  way: 'store' | 'load',
): Convert {
  return (value) =>
    Object.fromEntries(
      Object.entries(value as object).map(([name, member]) => {
        const conversion = conversions.get(name) ?? rest
        return [name, conversion ? nullable(conversion[way])(member) : member]
      }),
    )
}

function ofObject(schema: TSchema): Conversion {
  const conversions = new Map<string, Conversion>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    conversions.set(name, conversionOf(property as TSchema))
  }
  const open = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties
  const rest = typeof open === 'object' ? conversionOf(open as TSchema) : undefined
  if (!rest && ![...conversions.values()].some(Boolean)) return undefined
  return { store: mapProperties(conversions, rest, 'store'), load: mapProperties(conversions, rest, 'load') }
}

function ofUnion(branches: TSchema[]): Conversion {
  const conversions = branches.filter((branch) => branch.type !== 'null').map(conversionOf)
  if (!conversions.some(Boolean)) return undefined
  if (conversions.length === 1) return conversions[0]
  throw new TypeError('A union that holds dates cannot be told apart in storage, except one with null.')
}

function ofArray(items: TSchema): Conversion {
  const element = conversionOf(items)
  if (!element) return undefined
  const each =
    (convert: Convert): Convert =>
    (value) =>
      (value as unknown[]).map(nullable(convert))
  return { store: each(element.store), load: each(element.load) }
}

function conversionOf(schema: TSchema): Conversion {
  if (schema.$ref) throw new TypeError(`Give the schema itself in place of the reference ${schema.$ref}.`)
  if (schema.anyOf) return ofUnion(schema.anyOf)
  if (schema.allOf)
    return ofObject({ ...schema, properties: Object.assign({}, ...schema.allOf.map(propertiesOf)) })
  if (schema.type === 'array' && schema.items) return ofArray(schema.items)
  if (schema.type === 'object') return ofObject(schema)
  if (schema.format === 'date') return DATE
  if (schema.format === 'date-time') return DATE_TIME
  return undefined
}

const propertiesOf = (schema: TSchema): Record<string, TSchema> => schema.properties ?? {}

function fieldOf(name: string, schema: TSchema): Field {
  const mayMiss = OptionalKind in schema
  if (schema.pointer) {
    const prefix = `${schema.pointer}$`
    const store = nullable((id) => prefix + id)
    const load = nullable((pointer) => (pointer as string).slice(prefix.length))
    return { key: `_p_${name}`, store, load, search: store, isDate: false, mayMiss }
  }
  const conversion = conversionOf(schema)
  const element = schema.type === 'array' && schema.items ? conversionOf(schema.items) : conversion
  return {
    key: name,
    store: conversion ? nullable(conversion.store) : same,
    load: conversion ? nullable(conversion.load) : same,
    search: element ? nullable(element.store) : same,
    isDate: conversion === DATE || conversion === DATE_TIME,
    mayMiss,
  }
}

const asItIs = { store: same, load: same, search: same, isDate: false, mayMiss: false }
const moment = { ...DATE_TIME, search: DATE_TIME.store, isDate: true, mayMiss: false }

const META: Record<string, Field> = {
  id: { key: '_id', ...asItIs },
  version: { key: 'version', ...asItIs },
  createdAt: { key: '_created_at', ...moment },
  updatedAt: { key: '_updated_at', ...moment },
}

/**
 * Derives a resource's storage format from its schema. Strings of the formats `date` and `date-time` become BSON
 * dates at any depth (the class family then sees a Date), a string annotated `{ pointer: 'ClassName' }` becomes a
 * Parse pointer; everything else is stored as it is. A time zone is not kept: times come back in UTC.
 *
 *     const format = parseFormat(Type.Object({ dueDate: Type.String({ format: 'date' }) }))
 *     format.toStored({ dueDate: '2026-03-01' })   // { dueDate: 2026-03-01T00:00:00.000Z }
 */
export function parseFormat<S extends TObject>(schema: S): ParseFormat<Static<S>> {
  const own = Object.entries(schema.properties).filter(([name]) => !(name in META))
  const fields = new Map(own.map(([name, property]) => [name, fieldOf(name, property)]))
  const all = [...Object.entries(META), ...fields]
  return {
    keys: new Set([...fields.values()].map((field) => field.key)),
    field(name) {
      const field = META[name] ?? fields.get(name)
      if (!field) throw new TypeError(`There is no field ${name}.`)
      return field
    },
    toStored(record, before) {
      const stored: Record<string, unknown> = {}
      for (const [name, { key, store, load }] of fields) {
        const value = (record as Record<string, unknown>)[name]
        if (value === undefined) continue
        const kept = before?.[key]
        const stays = kept !== undefined && load !== same && isDeepStrictEqual(load(kept), value)
        stored[key] = stays ? kept : at(name, store, value)
      }
      return stored
    },
    fromStored(document) {
      const record: Record<string, unknown> = {}
      for (const [name, { key, load }] of all) {
        const value = document[key]
        if (value !== undefined) record[name] = load === same ? value : load(value)
      }
      return record as Saved<Static<S>>
    },
  }
}

/** Names the field that holds a time which passes its format and yet does not exist (23:59:60). */
function at(name: string, store: Convert, value: unknown): unknown {
  try {
    return store(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ServiceError('RuleViolated', {
      violations: [{ path: name, code: 'date', message: error.message }],
    })
  }
}

/** The permissions in Parse's three fields. @throws TypeError without both lists: the record would be public. */
export function storedPermissions({
  read,
  write,
}: Permissions): Pick<ParseDocument, '_rperm' | '_wperm' | '_acl'> {
  if (!Array.isArray(read) || !Array.isArray(write)) {
    throw new TypeError('A record without its readers and writers would be public: not written.')
  }
  const acl: ParseDocument['_acl'] = {}
  for (const who of read) acl[who] = { r: true }
  for (const who of write) acl[who] = { ...acl[who], w: true }
  return { _rperm: [...read], _wperm: [...write], _acl: acl }
}
