import { isDeepStrictEqual } from 'node:util'
import { OptionalKind, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Permissions } from './caller.ts'

/** The fields of every record beside those of its schema. Times are RFC 3339 in UTC with milliseconds. */
interface RecordMetadata {
  id: string
  /** 1 when created; each write adds 1. */
  version: number
  createdAt: string
  updatedAt: string
}

/** A record in API form: plain JSON values. */
export type SavedRecord<T> = T & RecordMetadata

/** A record in its stored form, which Parse Server reads and writes, too. */
export interface ParseDocument {
  _id: string
  version: number
  _created_at: Date
  _updated_at: Date
  /** The readers; Parse treats a missing list as "everyone". */
  _rperm: string[]
  _wperm: string[]
  [field: string]: unknown
}

/** The conversion of one field between API form and stored form. */
interface FieldFormat {
  /** The field's name in the database. */
  key: string
  store(value: unknown): unknown
  load(value: unknown): unknown
  /** Converts a searched value; for an array field, one element. */
  search(value: unknown): unknown
  /** The field is stored as a BSON date. */
  isDate: boolean
  /** A record may lack the field. */
  isOptional: boolean
}

/** Converts the records of one resource between API form and stored form. */
export interface ParseFormat<T> {
  /**
   * Converts the schema's fields; undefined fields are omitted. A value that reads the same as in `before`
   * keeps its stored form: a date keeps the time of day that the class family stored.
   */
  toStored(record: Partial<T>, before?: ParseDocument): Record<string, unknown>
  fromStored(document: ParseDocument): SavedRecord<T>
  /** @throws TypeError for a field that the schema does not have. */
  field(name: string): Pick<FieldFormat, 'key' | 'search' | 'isDate' | 'isOptional'>
  /** The names of the stored fields. */
  keys: ReadonlySet<string>
}

type Converter = (value: unknown) => unknown
/** undefined: the value is stored unchanged. */
type Conversion = { store: Converter; load: Converter } | undefined

const identity: Converter = (value) => value

function parseDate(value: unknown): Date {
  const time = new Date(value as string)
  if (!Number.isNaN(time.getTime())) return time
  throw new RangeError('must be a valid time')
}

const DATE_TIME_CONVERSION: Conversion = { store: parseDate, load: (value) => (value as Date).toISOString() }
const DAY_LENGTH = 'YYYY-MM-DD'.length

/** The class family may send a day with its time, and gets both back. */
const DATE_CONVERSION: Conversion = {
  store: (value) => parseDate(`${value}`.length === DAY_LENGTH ? `${value}T00:00:00.000Z` : value),
  load: (value) => (value as Date).toISOString().slice(0, 10),
}

/** The date that a Parse Date means; undefined for other values, and for a time in another notation. */
function exactDateIn({ __type, iso, ...more }: { __type?: unknown; iso?: unknown }): Date | undefined {
  if (__type !== 'Date' || typeof iso !== 'string' || Object.keys(more).length > 0) return undefined
  const date = new Date(iso)
  return !Number.isNaN(date.getTime()) && date.toISOString() === iso ? date : undefined
}

/** Converts the members of lists and plain objects, at any depth. */
function mapJson(value: unknown, convert: (one: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const converted = convert(value)
  if (converted !== undefined) return converted
  if (Array.isArray(value)) return value.map((one) => mapJson(one, convert))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapJson(one, convert)]))
}

/** Any JSON. Parse Dates in it are stored as dates, so that the class family can search by them. */
const JSON_CONVERSION: Conversion = {
  store: (value) => mapJson(value, exactDateIn),
  load: (value) =>
    mapJson(value, (one) => (one instanceof Date ? { __type: 'Date', iso: one.toISOString() } : undefined)),
}

/** Passes null and undefined through. */
const nullable = (convert: Converter): Converter => {
  return (value) => (value === null || value === undefined ? value : convert(value))
}

function mapProperties(
  conversions: Map<string, Conversion>,
  rest: Conversion,
  way: 'store' | 'load',
): Converter {
  return (value) =>
    Object.fromEntries(
      Object.entries(value as object).map(([name, member]) => {
        const conversion = conversions.get(name) ?? rest
        return [name, conversion ? nullable(conversion[way])(member) : member]
      }),
    )
}

function objectConversion(schema: TSchema): Conversion {
  const conversions = new Map<string, Conversion>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    conversions.set(name, conversionOf(property as TSchema))
  }
  const open = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties
  const rest = typeof open === 'object' ? conversionOf(open as TSchema) : undefined
  if (!rest && ![...conversions.values()].some(Boolean)) return undefined
  return { store: mapProperties(conversions, rest, 'store'), load: mapProperties(conversions, rest, 'load') }
}

function unionConversion(branches: TSchema[]): Conversion {
  const conversions = branches.filter((branch) => branch.type !== 'null').map(conversionOf)
  if (!conversions.some(Boolean)) return undefined
  if (conversions.length === 1) return conversions[0]
  throw new TypeError('A union with dates is ambiguous in storage, except with null.')
}

function arrayConversion(items: TSchema): Conversion {
  const element = conversionOf(items)
  if (!element) return undefined
  const each =
    (convert: Converter): Converter =>
    (value) =>
      (value as unknown[]).map(nullable(convert))
  return { store: each(element.store), load: each(element.load) }
}

function conversionOf(schema: TSchema): Conversion {
  if (schema.$ref) throw new TypeError(`Give the schema itself in place of the reference ${schema.$ref}.`)
  if (schema.anyOf) return unionConversion(schema.anyOf)
  if (schema.allOf)
    return objectConversion({ ...schema, properties: Object.assign({}, ...schema.allOf.map(propertiesOf)) })
  if (schema.type === 'array' && schema.items) return arrayConversion(schema.items)
  if (schema.type === 'object') return objectConversion(schema)
  if (schema.format === 'date') return DATE_CONVERSION
  if (schema.format === 'date-time') return DATE_TIME_CONVERSION
  return isAnyJson(schema) ? JSON_CONVERSION : undefined
}

const isAnyJson = ({ type, enum: values, const: value }: TSchema): boolean =>
  type === undefined && values === undefined && value === undefined

const propertiesOf = (schema: TSchema): Record<string, TSchema> => schema.properties ?? {}

function fieldFormatOf(name: string, schema: TSchema): FieldFormat {
  const isOptional = OptionalKind in schema
  if (schema.pointer) {
    const prefix = `${schema.pointer}$`
    const store = nullable((id) => prefix + id)
    const load = nullable((pointer) => (pointer as string).slice(prefix.length))
    return { key: `_p_${name}`, store, load, search: store, isDate: false, isOptional }
  }
  const conversion = conversionOf(schema)
  const element = schema.type === 'array' && schema.items ? conversionOf(schema.items) : conversion
  return {
    key: name,
    store: conversion ? nullable(conversion.store) : identity,
    load: conversion ? nullable(conversion.load) : identity,
    search: element ? nullable(element.store) : identity,
    isDate: conversion === DATE_CONVERSION || conversion === DATE_TIME_CONVERSION,
    isOptional,
  }
}

const UNCONVERTED_FIELD = {
  store: identity,
  load: identity,
  search: identity,
  isDate: false,
  isOptional: false,
}
const DATE_TIME_FIELD = {
  ...DATE_TIME_CONVERSION,
  search: DATE_TIME_CONVERSION.store,
  isDate: true,
  isOptional: false,
}

const METADATA_FIELDS: Record<string, FieldFormat> = {
  id: { key: '_id', ...UNCONVERTED_FIELD },
  version: { key: 'version', ...UNCONVERTED_FIELD },
  createdAt: { key: '_created_at', ...DATE_TIME_FIELD },
  updatedAt: { key: '_updated_at', ...DATE_TIME_FIELD },
}

/**
 * Derives a resource's storage format from its schema. At any depth, strings of the formats `date` and
 * `date-time` become BSON dates, which the class family shows as Date. A string annotated `{ pointer:
 * 'ClassName' }` becomes a Parse pointer. Parse Dates in values of any type become dates, too. All other values are
 * stored unchanged. Time zones are lost: times
 * are returned in UTC.
 *
 *     const format = createParseFormat(Type.Object({ dueDate: Type.String({ format: 'date' }) }))
 *     format.toStored({ dueDate: '2026-03-01' })   // { dueDate: 2026-03-01T00:00:00.000Z }
 */
export function createParseFormat<S extends TObject>(schema: S): ParseFormat<Static<S>> {
  const own = Object.entries(schema.properties).filter(([name]) => !(name in METADATA_FIELDS))
  const fields = new Map(own.map(([name, property]) => [name, fieldFormatOf(name, property)]))
  const all = [...Object.entries(METADATA_FIELDS), ...fields]
  return {
    keys: new Set([...fields.values()].map((field) => field.key)),
    field(name) {
      const field = METADATA_FIELDS[name] ?? fields.get(name)
      if (!field) throw new TypeError(`The schema has no field ${name}.`)
      return field
    },
    toStored(record, before) {
      const stored: Record<string, unknown> = {}
      for (const [name, { key, store, load }] of fields) {
        const value = (record as Record<string, unknown>)[name]
        if (value === undefined) continue
        const kept = before?.[key]
        const stays = kept !== undefined && load !== identity && isDeepStrictEqual(load(kept), value)
        stored[key] = stays ? kept : convertField(name, store, value)
      }
      return stored
    },
    fromStored(document) {
      const record: Record<string, unknown> = {}
      for (const [name, { key, load }] of all) {
        const value = document[key]
        if (value !== undefined) record[name] = load === identity ? value : load(value)
      }
      return record as SavedRecord<Static<S>>
    },
  }
}

/**
 * Converts a field.
 * @throws ServiceError naming the field, for a time of valid format that does not exist (23:59:60)
 */
function convertField(name: string, store: Converter, value: unknown): unknown {
  try {
    return store(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ServiceError('RuleViolated', {
      violations: [{ path: name, code: 'date', message: error.message }],
    })
  }
}

/**
 * The permissions in Parse's fields. Parse would also write them in a form of its past, `_acl`, which it never reads.
 * @throws TypeError without both lists: the record would be public
 */
export function toStoredPermissions({ read, write }: Permissions): Pick<ParseDocument, '_rperm' | '_wperm'> {
  if (!Array.isArray(read) || !Array.isArray(write)) {
    throw new TypeError('A record without readers and writers would be public, so it is not written.')
  }
  return { _rperm: [...read], _wperm: [...write] }
}

/** The readers and writers of a stored document. */
export const fromStoredPermissions = ({
  _rperm,
  _wperm,
}: Pick<ParseDocument, '_rperm' | '_wperm'>): Permissions => ({ read: _rperm, write: _wperm })
