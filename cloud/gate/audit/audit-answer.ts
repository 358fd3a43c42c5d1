import type { Response } from 'express'
import { isClassName } from '../../../records/kinds.ts'
import type { Access } from '../../../records/store/audit/trail.ts'
import { inTime } from '../../../records/store/reading/deadline.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { identityOf } from '../../request/caller.ts'
import { isOperators, operatorOf } from '../operator.ts'
import type { ParseRequest } from '../request/parse-request.ts'
import { beforeAnswer } from '../response/answer.ts'
import { type AuditedCaller, accessesToObjects } from './objects-in-answer.ts'
import type { RecordsRequest } from './records-request.ts'
import { forbiddenIn, searchedBy } from './unanswered.ts'

/** One answer: an object, a list of them, or an error. */
interface Answer extends Record<string, unknown> {
  code?: unknown
}

/** How long it may take to find out whose data was requested. */
const AUDIT_MS = 5_000

/**
 * Keeps in the audit what a response reveals of EHRs' data, and what was requested in vain, before the response leaves.
 * Read off the answer itself, batch included: a trigger on every object found would halve the speed of lists.
 * Writes are announced by the triggers, before they happen.
 */
export function auditAnswer(
  req: ParseRequest,
  res: Response,
  requests: readonly (RecordsRequest | undefined)[],
  records: Records,
): void {
  if (requests.every((one) => one === undefined)) return
  const caller = isOperators(req)
    ? operatorOf(req)
    : identityOf(req.auth.isMaster, req.auth.user?.id, req.get('x-request-id'))
  const roles = async () => (await req.auth.getUserRoles()).map((role) => role.replace(/^role:/, ''))
  const asking = { records, caller, roles }
  // The query's own deadline may have passed.
  beforeAnswer(res, (body) =>
    inTime(AUDIT_MS, async () => {
      // A batch that is refused as a whole has one answer for all of its parts.
      const answerOf = (i: number) => (Array.isArray(body) ? (body[i].success ?? body[i].error) : body)
      const accesses = requests.map((one, i) => one && accessesIn(asking, one, answerOf(i)))
      const found = (await Promise.all(accesses)).flatMap((some) => some ?? [])
      await records.audit.record(...found)
    }),
  )
}

/** Parse's codes for what is not there for this caller, or not for them to do. */
const DENIED = new Set<unknown>([101, 119])

async function accessesIn(asking: AuditedCaller, request: RecordsRequest, answer: Answer): Promise<Access[]> {
  const { className, action, where, subqueries } = request
  if (typeof answer.code === 'number')
    return isClassName(className)
      ? forbiddenIn(asking, request, DENIED.has(answer.code) ? 'denied' : 'refused')
      : []
  if (action !== 'read' && action !== 'query') return []
  const accesses = await accessesToObjects(asking, request, answer)
  if (action === 'read') return accesses
  const found = new Set(accesses.flatMap(({ type, ehrId }) => (type === className ? [ehrId] : [])))
  const searched = [
    ...subqueries.map((subquery) => searchedBy(asking, subquery, new Set())),
    ...(isClassName(className) ? [searchedBy(asking, { className, where }, found)] : []),
  ]
  return [...accesses, ...(await Promise.all(searched)).flat()]
}
