import { isDeepStrictEqual } from 'node:util'
import { OptionalKind, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import { lookUp } from '../../../schemas/validation/look-up.ts'
import type { Permissions } from './caller.ts'

/** The fields of every record in addition to those of its schema. Times are RFC 3339 in UTC with milliseconds. */
interface RecordMetadata {
  id: string
  /** 1 when created; each write adds 1. */
  version: number
  createdAt: string
  updatedAt: string
}

/** A record in API form: plain JSON values. */
export type SavedRecord<T> = T & RecordMetadata

/** A record of a schema, in API form. */
export type RecordOf<S extends TObject> = SavedRecord<Static<S>>

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

type Converter = (value: unknown) => unknown

/** The conversion of a value between API form and stored form. */
interface Conversion {
  store: Converter
  load: Converter
}

/** The conversion of one field. */
interface FieldFormat extends Conversion {
  /** The field's name in the database. */
  key: string
  /** The field is stored as a BSON date. */
  isDate: boolean
  /** A record may lack the field. */
  isOptional: boolean
}

/** Converts the records of one resource between API form and stored form. */
export interface ParseFormat<T> {
  /**
   * Converts the schema's fields; undefined fields are omitted. A value that reads the same as in one of `versions`
   * takes its stored form from the first of them: a date keeps the time of day that the class family stored.
   */
  toStored(record: Partial<T>, ...versions: readonly (ParseDocument | undefined)[]): Record<string, unknown>
  fromStored(document: ParseDocument): SavedRecord<T>
  /** @throws TypeError for a field that the schema does not have. */
  field(name: string): Omit<FieldFormat, 'load'>
  /** The names of the stored fields. */
  keys: ReadonlySet<string>
}

const identity: Converter = (value) => value
const NO_CONVERSION: Conversion = { store: identity, load: identity }

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
  const convertedValue = convert(value)
  if (convertedValue !== undefined) return convertedValue
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
const nullable =
  (convert: Converter): Converter =>
  (value) =>
    value === null || value === undefined ? value : convert(value)

/** @throws TypeError for a date that is only a part of the value: no conversion would find it */
function conversionOf(schema: TSchema): Conversion {
  if (schema.format === 'date') return DATE_CONVERSION
  if (schema.format === 'date-time') return DATE_TIME_CONVERSION
  const parts = schemasWithin(schema)
  if (parts.some(({ $ref, format }) => $ref || format === 'date' || format === 'date-time'))
    throw new TypeError('A date must be a field of its own, and no field may be a reference.')
  return parts.some(isAnyJson) ? JSON_CONVERSION : NO_CONVERSION
}

/** A schema, and all schemas within it. */
function schemasWithin(schema: TSchema): TSchema[] {
  const { properties = {}, patternProperties = {}, additionalProperties, items } = schema
  const { anyOf = [], allOf = [] } = schema
  const inner = [...Object.values(properties), ...Object.values(patternProperties), ...anyOf, ...allOf]
  const innerSchemas = [...inner, additionalProperties, items].filter((one) => typeof one === 'object')
  return [schema, ...(innerSchemas as TSchema[]).flatMap(schemasWithin)]
}

const isAnyJson = ({ type, enum: values, const: value, anyOf, allOf }: TSchema): boolean =>
  [type, values, value, anyOf, allOf].every((keyword) => keyword === undefined)

const fieldFormatOf = (key: string, conversion: Conversion, isOptional = false): FieldFormat => ({
  key,
  store: conversion === NO_CONVERSION ? identity : nullable(conversion.store),
  load: conversion === NO_CONVERSION ? identity : nullable(conversion.load),
  isDate: conversion === DATE_CONVERSION || conversion === DATE_TIME_CONVERSION,
  isOptional,
})

/** Keys in stored documents of fields that Parse names otherwise. */
const STORED_KEYS = { objectId: '_id', createdAt: '_created_at', updatedAt: '_updated_at' } as const

export const storedKeyOf = (field: string): string => lookUp(STORED_KEYS, field) ?? field

const METADATA_FIELDS: Record<string, FieldFormat> = {
  id: fieldFormatOf(STORED_KEYS.objectId, NO_CONVERSION),
  version: fieldFormatOf('version', NO_CONVERSION),
  createdAt: fieldFormatOf(STORED_KEYS.createdAt, DATE_TIME_CONVERSION),
  updatedAt: fieldFormatOf(STORED_KEYS.updatedAt, DATE_TIME_CONVERSION),
}

/**
 * Derives a resource's storage format from its schema. Fields of the formats `date` and `date-time` become BSON dates,
 * which the class family shows as Date. Parse Dates in values of any type become dates, too. All other values are
 * stored unchanged. Time zones are lost: times are returned in UTC.
 */
export function createParseFormat<S extends TObject>(schema: S): ParseFormat<Static<S>> {
  const schemaFields = Object.entries(schema.properties).filter(([name]) => !(name in METADATA_FIELDS))
  const fields = new Map(
    schemaFields.map(([name, property]) => [
      name,
      fieldFormatOf(name, conversionOf(property), OptionalKind in property),
    ]),
  )
  const allFields = [...Object.entries(METADATA_FIELDS), ...fields]
  return {
    keys: new Set(fields.keys()),
    field(name) {
      const field = METADATA_FIELDS[name] ?? fields.get(name)
      if (!field) throw new TypeError(`The schema has no field ${name}.`)
      return field
    },
    toStored(record, ...versions) {
      const storedFields: Record<string, unknown> = {}
      for (const [name, { key, store, load }] of fields) {
        const value = (record as Record<string, unknown>)[name]
        if (value === undefined) continue
        const reads = (stored: unknown) => stored !== undefined && isDeepStrictEqual(load(stored), value)
        const same = load === identity ? undefined : versions.find((version) => reads(version?.[key]))
        storedFields[key] = same ? same[key] : convertField(name, store, value)
      }
      return storedFields
    },
    fromStored(document) {
      const record: Record<string, unknown> = {}
      for (const [name, { key, load }] of allFields) {
        const value = document[key]
        if (value !== undefined) record[name] = load === identity ? value : load(value)
      }
      return record as SavedRecord<Static<S>>
    },
  }
}

/** @throws ServiceError naming the field, for a time of valid format that does not exist (23:59:60) */
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
  if (!Array.isArray(read) || !Array.isArray(write))
    throw new TypeError('A record without readers and writers would be public, so it is not written.')
  return { _rperm: [...read], _wperm: [...write] }
}

/** The readers and writers of a stored document. */
export const fromStoredPermissions = ({
  _rperm,
  _wperm,
}: Pick<ParseDocument, '_rperm' | '_wperm'>): Permissions => ({ read: _rperm, write: _wperm })
