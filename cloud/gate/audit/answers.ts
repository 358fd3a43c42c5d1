import type { Response } from 'express'
import type { Access } from '../../../records/store/audit/trail.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { inTime } from '../../../records/store/reading/deadline.ts'
import { accessesOf, attemptOf } from '../../../records/store/resource.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { identityOf } from '../../request/caller.ts'
import { distinctValues } from '../query/distinct.ts'
import type { ParseRequest } from '../request/parse-request.ts'
import type { RequestPart } from '../request/part.ts'
import { beforeAnswer } from '../response/answer.ts'
import { conditionsIn, type Drawn, isRecord, type Question, questionOf } from './questions.ts'

type Fields = Record<string, unknown>

/** One answer: an object, a list of them, or an error. */
interface Answer extends Fields {
  results?: unknown
  count?: unknown
  code?: unknown
}

/** The request that an answer belongs to. */
interface Asking {
  req: ParseRequest
  records: Records
  caller: Caller
}

/**
 * Keeps in the audit what an answer shows of EHRs' data, and what was asked in vain, before the answer leaves.
 * Read off the answer itself, batch included: a trigger on every object found would halve the speed of lists.
 * Writes are announced by the triggers, before they happen.
 */
export function auditAnswer(req: ParseRequest, res: Response, parts: RequestPart[], records: Records): void {
  const questions = parts.map(questionOf)
  if (questions.every((question) => question === undefined)) return
  const caller = identityOf(req.auth.isMaster, req.auth.user?.id, req.get('x-request-id'))
  const asking = { req, records, caller }
  // The query's own deadline may have passed.
  beforeAnswer(res, (body) =>
    inTime(AUDIT_MS, async () => {
      // A batch that is refused as a whole has one answer for all of its parts.
      const answerOf = (i: number) => (Array.isArray(body) ? (body[i].success ?? body[i].error) : body)
      const accesses = questions.map((question, i) => question && accessesIn(asking, question, answerOf(i)))
      const found = (await Promise.all(accesses)).flatMap((some) => some ?? [])
      if (found.length > 0) await records.audit.record(...found)
    }),
  )
}

/** How long it may take to find out whose data was asked for. */
const AUDIT_MS = 5_000

/** Parse's codes for what is not there for this caller, or not for them to do. */
const DENIED = new Set<unknown>([101, 119])

const audited = (className: string) => ({
  collection: className,
  ehr: className === 'Ehr' ? 'id' : 'ehrId',
})

async function accessesIn(asking: Asking, question: Question, answer: Answer): Promise<Access[]> {
  const { className, action } = question
  if (typeof answer.code === 'number') {
    const outcome = DENIED.has(answer.code) ? 'denied' : 'refused'
    return isRecord(className) ? soughtIn(asking, question, outcome) : []
  }
  if (action !== 'read' && action !== 'query') return []
  const shown = await shownIn(asking, question, answer)
  const drawn = await drawnIn(asking, question, answer)
  const seen = [...shown, ...drawn]
  if (!isRecord(className) || seen.some(({ type }) => type === className)) return seen
  return [...seen, ...(await soughtIn(asking, question, 'done'))]
}

/** What was asked by, without the values. */
function whatOf({ action, where }: Pick<Question, 'action' | 'where'>): Pick<Access, 'action' | 'asked'> {
  if (action !== 'query') return { action }
  const fields = new Set(conditionsIn(where).map(([field]) => field))
  return { action, asked: [...fields].sort().join(' ') }
}

/** The objects in an answer, also those that it includes where another one points at them. */
async function shownIn({ records, caller }: Asking, question: Question, answer: Answer): Promise<Access[]> {
  if (question.distinct) return []
  const results: Fields[] = Array.isArray(answer.results) ? answer.results : [answer]
  const byClass = new Map<unknown, Fields[]>([[question.className, results]])
  for (const object of includedIn(results, [])) {
    const { className } = object
    byClass.set(className, [...(byClass.get(className) ?? []), object])
  }
  const accesses = [...byClass].map(async ([className, objects]) => {
    if (!isRecord(className)) return []
    const shown = objects.filter(({ objectId }) => typeof objectId === 'string')
    return accessesOf(audited(className), caller, whatOf(question), await placed(records, className, shown))
  })
  return (await Promise.all(accesses)).flat()
}

/** No client can store an object with this type: it stands where a pointer was. */
function includedIn(value: object, found: Fields[]): Fields[] {
  for (const inner of Object.values(value)) {
    if (typeof inner !== 'object' || inner === null) continue
    if (inner.__type === 'Object') found.push(inner)
    includedIn(inner, found)
  }
  return found
}

/** What an answer tells without showing objects: how many there are, their values, what a subquery found. */
async function drawnIn({ req, caller }: Asking, question: Question, answer: Answer): Promise<Access[]> {
  const { className, where, distinct, subqueries } = question
  const { results = [], count = 0 } = answer as { results?: unknown[]; count?: number }
  const all: Drawn[] = [...subqueries]
  if (isRecord(className) && (distinct || count > results.length)) all.push({ className, where })
  const accesses = all.map(async (drawn) => {
    const kind = audited(drawn.className)
    const ehrIds = await ehrsOf(req, drawn)
    const what = { ...whatOf({ action: 'query', where: drawn.where }), outcome: 'done' } as const
    return ehrIds.flatMap((ehrId) => attemptOf(kind, caller, what, { [kind.ehr]: ehrId }))
  })
  return (await Promise.all(accesses)).flat()
}

/** The EHRs of the objects that fit a condition and that the caller may read. */
async function ehrsOf(req: ParseRequest, { className, where }: Drawn): Promise<unknown[]> {
  const distinct = className === 'Ehr' ? 'objectId' : 'ehrId'
  const query = { where: structuredClone(where), distinct, limit: Number.POSITIVE_INFINITY }
  return (await distinctValues(req, className, query)).results
}

/** What showed and changed nothing, in the audit of the EHR where it was looked for, as far as that is known. */
async function soughtIn(
  { records, caller }: Asking,
  question: Question,
  outcome: Access['outcome'],
): Promise<Access[]> {
  const { className, id, where } = question
  const kind = audited(className)
  const what = { ...whatOf(question), outcome }
  const ids = id === undefined ? named(where, 'objectId') : [id]
  const ehrIds = id === undefined ? named(where, 'ehrId') : []
  let places: Fields[] = ehrIds.map((ehrId) => ({ id: ids[0], ehrId }))
  for (const [holder, holders] of [
    [className, ids],
    ['CarePlan', named(where, 'carePlanId')],
    ['Goal', named(where, 'goalId')],
  ] as const) {
    if (places.length > 0) break
    const found = await placed(
      records,
      holder,
      holders.map((objectId) => ({ objectId })),
    )
    places = holder === className ? found : found.map(({ ehrId }) => ({ ehrId }))
  }
  return (places.length > 0 ? places : [{}]).flatMap((place) => attemptOf(kind, caller, what, place))
}

/** The ids that are asked for in a field. */
const named = (where: Fields, field: string): string[] =>
  conditionsIn(where)
    .filter(([name]) => name === field)
    .flatMap(([, condition]) => {
      const { $eq, $in } = (condition ?? {}) as Fields
      return [condition, $eq, $in].flat().filter((id) => typeof id === 'string')
    })

/** The objects with the EHRs that they belong to; a client may have left that property out of what it asked for. */
async function placed(records: Records, className: string, objects: Fields[]): Promise<Fields[]> {
  const known = objects.map(({ objectId, ehrId }) => ({ id: objectId as string, ehrId }))
  const unknown = known.filter(({ ehrId }) => ehrId === undefined).map(({ id }) => id)
  if (className === 'Ehr' || unknown.length === 0) return known
  const found = await records.db
    .collection<{ _id: string; ehrId: string }>(className)
    .find({ _id: { $in: unknown } }, { projection: { ehrId: 1 } })
    .toArray()
  const ehrOf = new Map(found.map(({ _id, ehrId }) => [_id, ehrId]))
  return known.map(({ id, ehrId }) => ({ id, ehrId: ehrId ?? ehrOf.get(id) }))
}
