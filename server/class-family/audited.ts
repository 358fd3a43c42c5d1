import type { Response } from 'express'
import { identityOf } from '../../cloud/caller.ts'
import type { Access } from '../../records/audit.ts'
import type { Caller } from '../../records/caller.ts'
import { accessesOf, attemptOf } from '../../records/resource.ts'
import type { Records } from '../../records/transaction.ts'
import { type ClassName, classes } from '../../schemas/classes.ts'
import type { Call } from './call.ts'
import type { ParseRequest } from './parse-request.ts'

/** A call of the data layer on a class that holds health data. */
interface RecordCall {
  className: ClassName
  id: string | undefined
  action: Access['action']
  where: Fields
  /** The answer holds values, not objects. */
  distinct: boolean
}

type Fields = Record<string, unknown>

/** One answer: an object, a list of them, or an error. */
interface Answer extends Fields {
  results?: unknown
  code?: unknown
}

/**
 * Keeps in the audit what an answer shows of EHRs' data, and what was asked in vain, before the answer leaves.
 * Read off the answer itself, batch included: a trigger on every object found would halve the speed of lists.
 * Writes are announced by the triggers, before they happen.
 */
export function auditAnswer(req: ParseRequest, res: Response, calls: Call[], records: Records): void {
  const ours = calls.map(recordCall)
  if (ours.every((call) => call === undefined)) return
  const send = res.json.bind(res)
  const caller = identityOf(req.auth.isMaster, req.auth.user?.id, req.get('x-request-id'))
  res.json = (body: unknown) => {
    const answers = Array.isArray(body) ? body.map(({ success, error }) => success ?? error) : [body]
    Promise.all(ours.map((call, i) => (call ? accessesIn(records, caller, call, answers[i] ?? {}) : [])))
      .then((accesses) => accesses.flat())
      .then((accesses) => (accesses.length > 0 ? records.audit.record(...accesses) : undefined))
      .then(
        () => send(body),
        () => send.call(res.status(503), {}),
      )
    return res
  }
}

function recordCall({ method, path, carrier }: Call): RecordCall | undefined {
  const [, className, id] = /^\/classes\/(\w+)(?:\/([^/]+))?\/?$/i.exec(path) ?? []
  if (className === undefined || !Object.hasOwn(classes, className)) return undefined
  const action = id === undefined && method !== 'POST' ? 'query' : ACTIONS[String(method)]
  if (action === undefined) return undefined
  const { where, distinct, ehrId } = (carrier.body ?? {}) as Fields
  const asked = action === 'query' ? ((where ?? {}) as Fields) : { ehrId }
  return { className: className as ClassName, id, action, where: asked, distinct: distinct !== undefined }
}

const ACTIONS: Record<string, Access['action']> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  DELETE: 'delete',
}

/** Parse's codes for what is not there for this caller, or not for him to do. */
const DENIED = new Set<unknown>([101, 119])

async function accessesIn(
  records: Records,
  caller: Caller,
  { className, id, action, where, distinct }: RecordCall,
  answer: Answer,
): Promise<Access[]> {
  const audited = { collection: className, ehr: className === 'Ehr' ? 'id' : 'ehrId' }
  const place = { id: id ?? where.objectId, ehrId: where.ehrId }
  if (typeof answer.code === 'number') {
    const outcome = DENIED.has(answer.code) ? 'denied' : 'refused'
    const [known = place] = id === undefined ? [] : await placed(records, className, [{ objectId: id }])
    return attemptOf(audited, caller, { action, outcome }, known)
  }
  if (action !== 'read' && action !== 'query') return []
  const asked = action === 'query' ? { asked: Object.keys(where).sort().join(' ') } : {}
  const shown = distinct ? [] : await placed(records, className, objectsIn(answer))
  return shown.length > 0
    ? accessesOf(audited, caller, { action, ...asked }, shown)
    : attemptOf(audited, caller, { action, ...asked, outcome: 'done' }, place)
}

const objectsIn = (answer: Answer): Fields[] =>
  (Array.isArray(answer.results) ? answer.results : [answer]).filter(
    ({ objectId }) => typeof objectId === 'string',
  )

/** The objects with the EHRs that they belong to; a client may have left that property out of what it asked for. */
async function placed(records: Records, className: ClassName, objects: Fields[]): Promise<Fields[]> {
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
