import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { attemptOf } from '../../store/resource.ts'
import type { Records } from '../../store/writing/transaction.ts'

/** @throws RuleViolated when there are any */
export function refuseViolations(violations: readonly Violation[]): void {
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

/** Leaves an audit entry of a creation that was refused. */
export async function auditingRefusal<T>(
  records: Records,
  caller: Caller,
  collection: string,
  ehrId: string,
  create: () => Promise<T>,
): Promise<T> {
  try {
    return await create()
  } catch (error) {
    if (error instanceof ServiceError && error.error !== 'Conflict') {
      const outcome = error.error === 'NotFound' ? 'denied' : 'refused'
      const what = { action: 'create', outcome } as const
      await records.audit.record(...attemptOf({ collection, ehr: 'ehrId' }, caller, what, { ehrId }))
    }
    throw error
  }
}
