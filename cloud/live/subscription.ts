import { compileFilter } from '@health-record-service/embedded-mongo/matcher'
import Parse from 'parse/node'
import { type ClassName, isClassName } from '../../records/kinds.ts'
import type { Happening } from '../../records/live/happenings.ts'
import { type Caller, isPermitted } from '../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { noSuchClass } from '../gate/not-offered.ts'
import { readListQuery } from '../gate/query/list-query.ts'
import { fieldList } from '../gate/query/parameters.ts'
import { newBudget } from '../gate/query/where.ts'
import { servedClasses } from '../gate/request/classes.ts'
import { code, Refusal } from '../gate/request/parse-request.ts'
import type { ParseForms } from '../parse-server/internals.ts'

/** What somebody has subscribed to, checked and ready to be compared with what happens. */
export interface LiveQuery {
  className: ClassName
  where: Record<string, unknown>
  matches(document: ParseDocument): boolean
  /** The fields that are sent; undefined: all. */
  keys: readonly string[] | undefined
  /** The fields of which at least one must have changed. */
  watch: readonly string[] | undefined
}

/** What a subscription is told of a change, of the record in the form of the database. */
export interface LiveEvent {
  op: 'create' | 'update' | 'enter' | 'leave' | 'delete'
  object: ParseDocument
  original?: ParseDocument | undefined
}

const serves = servedClasses(false)

/**
 * Reads a query as a list's is read; subqueries would have to be asked anew with every change.
 * @throws Refusal
 */
export async function readLiveQuery(query: Record<string, unknown>, forms: ParseForms): Promise<LiveQuery> {
  const { className, where = {}, keys, fields, watch } = query
  if (!isClassName(className))
    throw new Refusal(400, code.forbidden, noSuchClass(typeof className === 'string' ? className : ''))
  const read = readListQuery({ where, keys: keys ?? fields }, className, {
    serves,
    budget: { ...newBudget(), subqueries: 0 },
  })
  const conditions = read.where ?? {}
  return {
    className,
    where: conditions,
    matches: await matcherOf(className, structuredClone(conditions), forms),
    keys: read.keys?.split(','),
    watch: watch === undefined ? undefined : fieldList(watch, 'watch')?.split(','),
  }
}

/** @throws Refusal for conditions in which values are of no type that they could have */
async function matcherOf(className: ClassName, conditions: object, forms: ParseForms) {
  try {
    return compileFilter(await forms.filterOf(className, conditions))
  } catch (error) {
    const told = error instanceof Parse.Error ? error : { code: code.invalidQuery, message: NOT_COMPARED }
    throw new Refusal(400, told.code, told.message)
  }
}

const NOT_COMPARED = 'Objects cannot be compared with these conditions'

/** Whether somebody may read a record as it was, or as it is. */
export const isOfInterest = (caller: Caller, { before, after }: Happening): boolean =>
  isPermitted(after?._rperm, caller) || isPermitted(before?._rperm, caller)

/**
 * What a change is for one who asks: it may begin or cease to be what they asked for, or may see. Nobody is shown what they
 * may not read at this moment.
 */
export function eventFor(
  { matches, watch }: LiveQuery,
  caller: Caller,
  { before, after }: Happening,
): LiveEvent | undefined {
  const readable = (document: ParseDocument | null) =>
    document !== null && isPermitted(document._rperm, caller)
  const fits = (document: ParseDocument | null) => readable(document) && matches(document as ParseDocument)
  const [was, is] = [fits(before), fits(after)]
  if (before && !after) return was ? { op: 'delete', object: before } : undefined
  if (!after || (!was && !is)) return undefined
  if (!is)
    return {
      op: 'leave',
      object: (readable(after) ? after : before) as ParseDocument,
      original: before ?? undefined,
    }
  const hasChanged = !watch || watch.some((field) => !isSame(before?.[field], after[field]))
  if (was) return hasChanged ? { op: 'update', object: after, original: before as ParseDocument } : undefined
  if (before) return { op: 'enter', object: after, original: readable(before) ? before : undefined }
  return hasChanged ? { op: 'create', object: after } : undefined
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
