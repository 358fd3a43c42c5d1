import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { attemptOf } from '../../store/resource.ts'
import type { Records } from '../../store/writing/transaction.ts'
import type { ClassKind, Values } from '../kind.ts'

/** @throws RuleViolated when there are any */
export function refuseViolations(violations: readonly Violation[]): void {
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

/** @throws what forbids one more of a kind */
export async function requireAdmission(
  records: Records,
  { admission }: Pick<ClassKind, 'admission'>,
  values: Values,
  session?: ClientSession,
): Promise<void> {
  const [refusal] = (await admission?.(records, [values], session)) ?? []
  if (refusal) throw refusal
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
