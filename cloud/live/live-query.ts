import { compileFilter } from '@health-record-service/embedded-mongo/matcher'
import Parse from 'parse/node'
import type { RecordChange } from '../../records/history/changes.ts'
import { type ClassName, isClassName } from '../../records/kinds.ts'
import { type Caller, isPermitted } from '../../records/store/documents/caller.ts'
import { type ParseDocument, storedKeyOf } from '../../records/store/documents/parse-format.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import { describeUnknownClass } from '../http/disabled-endpoints.ts'
import { readListQuery } from '../http/query/list-query.ts'
import { createQueryFieldCheck } from '../http/query/query-fields.ts'
import { createFieldListReader } from '../http/query/query-parameters.ts'
import { createQueryBudget } from '../http/query/where.ts'
import { parseErrorCode, Refusal } from '../http/request/parse-request.ts'
import { createServedClassCheck } from '../http/request/served-classes.ts'
import type { ParseTransform } from '../parse-server/internals.ts'

/** A validated live query, ready to match changes. */
export interface LiveQuery {
  className: ClassName
  where: Record<string, unknown>
  matches(document: ParseDocument): boolean
  /** Fields to send; undefined means all. */
  keys: readonly string[] | undefined
  /** Fields of which at least one must have changed. */
  watch: readonly string[] | undefined
}

/** Event for a subscription, with the record in Parse format. */
export interface LiveEvent {
  op: 'create' | 'update' | 'enter' | 'leave' | 'delete'
  object: ParseDocument
  original?: ParseDocument | undefined
}

const isServedClass = createServedClassCheck(false)
const checkField = createQueryFieldCheck(false, false)

/**
 * Parses a query like that of a list, but without subqueries, which every change would have to run again.
 * @throws Refusal
 */
export async function readLiveQuery(
  query: Record<string, unknown>,
  forms: ParseTransform,
): Promise<LiveQuery> {
  const { className, where = {}, keys, fields, watch } = query
  if (className === '_User') throw new Refusal(400, parseErrorCode.forbidden, ACCOUNTS_MESSAGE)
  if (!isClassName(className))
    throw new Refusal(
      400,
      parseErrorCode.forbidden,
      describeUnknownClass(typeof className === 'string' ? className : ''),
    )
  const read = readListQuery({ where, keys: keys ?? fields }, className, {
    serves: isServedClass,
    checkField,
    budget: { ...createQueryBudget(), subqueries: 0 },
  })
  const readWatched = createFieldListReader((name) => checkField(className, name, 'watch'))
  const conditions = read.where ?? {}
  return {
    className,
    where: conditions,
    matches: await createMatcher(className, structuredClone(conditions), forms),
    keys: read.keys?.split(','),
    watch: watch === undefined ? undefined : readWatched(watch, 'watch')?.split(','),
  }
}

const ACCOUNTS_MESSAGE =
  'Live queries do not cover accounts. Follow changes of your account with GET /auth/account/{mvUid}/changes.'

/** @throws Refusal for conditions whose values have an impossible type */
async function createMatcher(className: ClassName, conditions: object, forms: ParseTransform) {
  try {
    return compileFilter(await forms.toFilter(className, conditions))
  } catch (error) {
    const parseError =
      error instanceof Parse.Error
        ? error
        : { code: parseErrorCode.invalidQuery, message: UNSUPPORTED_CONDITIONS }
    throw new Refusal(400, parseError.code, parseError.message)
  }
}

const UNSUPPORTED_CONDITIONS = 'A value in where has a type that its field cannot be compared with.'

/** Whether the caller may read the record before or after the change. */
export const isReadable = (caller: Caller, { before, after, participants }: RecordChange): boolean =>
  isPermitted(after?._rperm, caller) ||
  isPermitted(before?._rperm, caller) ||
  participants?.has(caller.userId) === true

/**
 * Converts a change to the event for a subscription. A record may enter or leave the query, or become
 * readable or unreadable. The event never contains data that the caller may not read now.
 */
export function toLiveEvent(
  { matches, watch }: LiveQuery,
  caller: Caller,
  { before, after, participants }: RecordChange,
): LiveEvent | undefined {
  const isParticipant = participants?.has(caller.userId) === true
  const readable = (document: ParseDocument | null) =>
    document !== null && (isParticipant || isPermitted(document._rperm, caller))
  const isVisible = (document: ParseDocument | null) =>
    readable(document) && matches(document as ParseDocument)
  const wasVisible = isVisible(before)
  const isVisibleNow = isVisible(after)
  if (before && !after) return wasVisible ? { op: 'delete', object: before } : undefined
  if (!after || (!wasVisible && !isVisibleNow)) return undefined
  if (!isVisibleNow)
    return {
      op: 'leave',
      object: (readable(after) ? after : before) as ParseDocument,
      original: before ?? undefined,
    }
  const hasChanged = !watch || watch.some((path) => !isEqual(valueAt(before, path), valueAt(after, path)))
  if (wasVisible)
    return hasChanged ? { op: 'update', object: after, original: before as ParseDocument } : undefined
  if (before) return { op: 'enter', object: after, original: readable(before) ? before : undefined }
  return hasChanged ? { op: 'create', object: after } : undefined
}

/** The value of a field or of a part of it, such as `payload.mood`; in a list, of each item. */
const valueAt = (document: ParseDocument | null, path: string): unknown =>
  storedKeyOf(path)
    .split('.')
    .reduce(partOf, document as unknown)

function partOf(value: unknown, name: string): unknown {
  if (Array.isArray(value) && !Object.hasOwn(value, name)) return value.map((item) => partOf(item, name))
  return lookUp((value ?? {}) as Record<string, unknown>, name)
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
