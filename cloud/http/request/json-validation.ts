import { type JsonForms, matchesForm, TYPED_VALUES } from '../../../schemas/json/typed-values.ts'
import { RESERVED_KEYS, walkJson } from '../../../schemas/json/walk-json.ts'
import { type IsoTime, parseIsoTime } from '../../../schemas/time/iso-time.ts'
import { parseErrorCode, Refusal } from './parse-request.ts'

/** Limits for a whole request or batch, because a trigger may spend time on each value. */
export const JSON_LIMITS = { depth: 32, values: 50_000 }
/** Parse itself refuses the names of the constructor, too. */
const FORBIDDEN_KEYS = new Set([...RESERVED_KEYS, 'constructor', 'prototype'])

/**
 * Rejects JSON that would break Parse or the database: excessive nesting or size, prototype keys, numbers
 * beyond a double, lone surrogates, invalid dates, and malformed typed values. Normalises dates to UTC, since Parse ignores
 * offsets.
 * @throws Refusal 400/107
 */
export function checkJson(body: unknown): void {
  walkRequest(body, (value) => {
    if (typeof value === 'number' && !Number.isFinite(value))
      rejectJson('A number is too large for a double.')
    if (typeof value === 'string' && !value.isWellFormed()) rejectJson('A text must be valid Unicode.')
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      checkObject(value as Record<string, unknown>)
  })
}

/** Rejects JSON of excessive nesting or size. @throws Refusal 400/107 */
export const checkJsonSize = (body: unknown): void => walkRequest(body, () => {})

function walkRequest(body: unknown, visit: (value: unknown) => void): void {
  const exceeded = walkJson(body, JSON_LIMITS, visit)
  if (exceeded === 'values') rejectJson(`JSON can contain at most ${JSON_LIMITS.values} values.`)
  if (exceeded === 'depth') rejectJson(`JSON can be nested at most ${JSON_LIMITS.depth} levels deep.`)
}

function checkObject(value: Record<string, unknown>): void {
  for (const name of Object.keys(value))
    if (FORBIDDEN_KEYS.has(name) || name.includes('\0') || !name.isWellFormed())
      rejectJson(
        `A property cannot be named ${[...FORBIDDEN_KEYS].join(', ')}, nor have NUL or invalid Unicode in its name.`,
      )
  if (value.__type !== undefined && !matchesForm(TYPED_VALUES, value.__type, value))
    rejectJson(value.__type === 'Date' ? INVALID_DATE_MESSAGE : describeMismatch('__type', value.__type))
  if (value.__op !== undefined && !matchesForm(FIELD_OPERATIONS, value.__op, value))
    rejectJson(describeMismatch('__op', value.__op))
  if (value.__type === 'Date') normalizeDate(value as { iso: string })
}

const sentOffsets = new WeakMap<object, string>()

/** The offset that a date object was sent with; undefined for UTC. */
export const sentOffsetOf = (date: unknown): string | undefined => sentOffsets.get(date as object)

function normalizeDate(date: { iso: string }): void {
  const { utc, offset } = parseIsoTime(date.iso) as IsoTime
  date.iso = utc
  if (offset !== undefined) sentOffsets.set(date, offset)
}

/** @param name the type or operation, as sent */
const describeMismatch = (kind: '__type' | '__op', name: unknown): string => {
  const forms = kind === '__type' ? TYPED_VALUES : FIELD_OPERATIONS
  return typeof name === 'string' && Object.hasOwn(forms, name)
    ? `A value with ${kind} "${name}" lacks a field, or has one of another type.`
    : `${kind} must be one of ${Object.keys(forms).join(', ')}.`
}

type Fields = Record<string, unknown>

const hasObjects = ({ objects }: Fields): boolean => Array.isArray(objects)
const hasPointers = ({ objects }: Fields): boolean =>
  Array.isArray(objects) && objects.every((pointer: Fields | null) => pointer?.__type === 'Pointer')

/** Atomic field operations of Parse. */
const FIELD_OPERATIONS: JsonForms = {
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

const INVALID_DATE_MESSAGE =
  'A date must be {"__type":"Date","iso":"<day, or time with an offset, such as 2026-03-01T08:30:00.000+01:00>"}.'

function rejectJson(message: string): never {
  throw new Refusal(400, parseErrorCode.invalidJson, message)
}
