import type { Response } from 'express'
import { isClassName } from '../../../records/kinds.ts'
import type { AuditedAccess } from '../../../records/store/audit/audit-log.ts'
import { runWithDeadline } from '../../../records/store/reading/deadlines.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { createCallerWithoutRoles } from '../../request/caller.ts'
import { isReadOnlyRequest, operatorCallerOf } from '../read-only-access.ts'
import { type ParseRequest, parseErrorCode } from '../request/parse-request.ts'
import { runBeforeResponse } from '../response/response-pipeline.ts'
import type { RecordAccess } from './record-access.ts'
import { findForbiddenAccesses, findSearchAccesses } from './refused-accesses.ts'
import { type AuditContext, findObjectAccesses } from './response-objects.ts'

/** A response: an object, a list, or an error. */
interface ResponseBody extends Record<string, unknown> {
  code?: unknown
}

/** Timeout for finding the EHRs of a response. */
const AUDIT_TIMEOUT_MS = 5_000

/**
 * Writes the audit entries of a response before it is sent: the EHR data that it contains, and requests
 * without a result. Reads the response itself, batches included, because a trigger per object would halve the
 * speed of lists. Writes have their entries in their own transaction.
 */
export function auditResponse(
  req: ParseRequest,
  res: Response,
  requests: readonly (RecordAccess | undefined)[],
  context: StoreContext,
): void {
  if (requests.every((one) => one === undefined)) return
  const caller = isReadOnlyRequest(req)
    ? operatorCallerOf(req)
    : createCallerWithoutRoles(req.auth.isMaster, req.auth.user, req.get('x-request-id'))
  const roles = async () => (await req.auth.getUserRoles()).map((role) => role.replace(/^role:/, ''))
  const asking = { context, caller, roles }
  // The deadline of the query may have passed.
  runBeforeResponse(res, (body) =>
    runWithDeadline(AUDIT_TIMEOUT_MS, async () => {
      // A batch that is refused as a whole has one error for all its requests.
      const answerOf = (i: number) => (Array.isArray(body) ? (body[i].success ?? body[i].error) : body)
      const accesses = requests.map((one, i) => one && findAccesses(asking, one, answerOf(i)))
      const auditedAccesses = (await Promise.all(accesses)).flatMap((list) => list ?? [])
      await context.audit.record(...auditedAccesses)
    }),
  )
}

async function findAccesses(
  asking: AuditContext,
  request: RecordAccess,
  answer: ResponseBody,
): Promise<AuditedAccess[]> {
  const { className, action, where, subqueries } = request
  if (typeof answer.code === 'number')
    return isClassName(className)
      ? findForbiddenAccesses(asking, request, answer.code === parseErrorCode.notFound ? 'denied' : 'refused')
      : []
  if (action !== 'read' && action !== 'query') return []
  const accesses = await findObjectAccesses(asking, request, answer)
  if (action === 'read') return accesses
  const shownEhrIds = new Set(accesses.flatMap(({ type, ehrId }) => (type === className ? [ehrId] : [])))
  const searchAccesses = [
    ...subqueries.map((subquery) => findSearchAccesses(asking, subquery, new Set())),
    ...(isClassName(className) ? [findSearchAccesses(asking, { className, where }, shownEhrIds)] : []),
  ]
  return [...accesses, ...(await Promise.all(searchAccesses)).flat()]
}
