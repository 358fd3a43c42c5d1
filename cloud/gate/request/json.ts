import { Type } from '@sinclair/typebox'
import { walkJson } from '../../../schemas/json-values.ts'
import { checkOf } from '../../../schemas/registry.ts'
import { code, Refusal } from './parse-request.ts'

/** Of a whole request, a batch included; a trigger may take its time for each value. */
const LIMITS = { depth: 32, values: 50_000 }
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Refuses what no class accepts and what Parse or the database would stumble over: nesting and values without end, keys that
 * reach into prototypes, numbers that JSON cannot hold, dates that no calendar has, typed values of no such form.
 * @throws Refusal 400/107
 */
export function checkJson(body: unknown): void {
  const exceeded = walkJson(body, LIMITS, (value) => {
    if (typeof value === 'number' && !Number.isFinite(value)) refuse('a number is out of range')
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      checkObject(value as Record<string, unknown>)
  })
  if (exceeded === 'values') refuse(`JSON must not contain more than ${LIMITS.values} values`)
  if (exceeded === 'depth') refuse(`JSON must not be nested deeper than ${LIMITS.depth} levels`)
}

function checkObject(value: Record<string, unknown>): void {
  for (const name of Object.keys(value))
    if (reserved.has(name) || name.includes('\0')) refuse('a property has a reserved name')
  if (value.__type !== undefined && !fits(typed, value.__type, value))
    refuse(value.__type === 'Date' ? NO_DATE : 'a value does not match its __type')
  if (value.__op !== undefined && !fits(operations, value.__op, value))
    refuse('an operation does not match its __op')
}

const fits = (forms: Record<string, (value: Fields) => boolean>, name: unknown, value: Fields): boolean =>
  typeof name === 'string' && Object.hasOwn(forms, name) && forms[name]?.(value) === true

type Fields = Record<string, unknown>
const text = (value: unknown): value is string => typeof value === 'string' && value !== ''
const between = (value: unknown, most: number): boolean =>
  typeof value === 'number' && Math.abs(value) <= most

/** Parse's typed values; the class family keeps no files. */
const typed: Record<string, (value: Fields) => boolean> = {
  Date: ({ iso }) => isDate(iso),
  Pointer: ({ className, objectId }) => text(className) && text(objectId),
  Object: ({ className }) => text(className),
  Relation: ({ className }) => text(className),
  Bytes: ({ base64 }) => text(base64),
  GeoPoint: ({ latitude, longitude }) => between(latitude, 90) && between(longitude, 180),
  Polygon: ({ coordinates }) =>
    Array.isArray(coordinates) && coordinates.length > 2 && coordinates.every(isPair),
}

const hasObjects = ({ objects }: Fields): boolean => Array.isArray(objects)
const hasPointers = ({ objects }: Fields): boolean =>
  Array.isArray(objects) && objects.every((pointer: Fields | null) => pointer?.__type === 'Pointer')

/** Parse's atomic changes of a field. */
const operations: typeof typed = {
  Delete: () => true,
  Increment: ({ amount }) => typeof amount === 'number',
  SetOnInsert: ({ amount }) => amount !== undefined,
  Add: hasObjects,
  AddUnique: hasObjects,
  Remove: hasObjects,
  AddRelation: hasPointers,
  RemoveRelation: hasPointers,
  Batch: ({ ops }) => Array.isArray(ops) && ops.every((op: Fields | null) => typeof op?.__op === 'string'),
}

const isPair = (pair: unknown): boolean =>
  Array.isArray(pair) && between(pair[0], 90) && between(pair[1], 180)

const dateTime = checkOf(Type.String({ format: 'date-time' }))

/** Of the forms of a moment Parse reads this one only: an offset is no value to it, a tenth of a second a millisecond. */
const isDate = (iso: unknown): boolean =>
  typeof iso === 'string' && /^[\d:T-]{19}([.]\d{3})?Z$/.test(iso) && dateTime(iso).length === 0

const NO_DATE = 'a date must be {"__type":"Date","iso":"<time in UTC, such as 2026-03-01T07:30:00.000Z>"}'

function refuse(message: string): never {
  throw new Refusal(400, code.invalidJson, message)
}
