import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { accessWithoutRecords } from '../../store/resource.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'

/** @throws RuleViolated if there are violations */
export function requireNoViolations(violations: readonly Violation[]): void {
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

/** Audits a refused creation. */
export async function auditRefusedCreation<T>(
  context: StoreContext,
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
      const access = { action: 'create', outcome } as const
      await context.audit.record(
        ...accessWithoutRecords({ collection, ehr: 'ehrId' }, caller, access, { ehrId }),
      )
    }
    throw error
  }
}
