import type { AuditedAccess } from '../../records/store/audit/audit-log.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { droppedElementWarnings, issuesOf, type OutcomeIssue } from '../outcome/issue.ts'
import type { ResourceWrite } from '../sources/resource-source.ts'

/** Ends a transaction whose writes are not to be kept. */
class RolledBack extends Error {}

const VALID: OutcomeIssue = {
  severity: 'information',
  code: 'informational',
  diagnostics: 'The service would accept this',
}

/**
 * Tries a write and rolls it back.
 * @param isLenient elements that would not be kept are warnings
 * @returns the issues that the write would have; the audit tells that somebody asked
 */
export async function tryWrite(
  context: StoreContext,
  write: (options: ResourceWrite) => Promise<unknown>,
  isLenient: boolean,
): Promise<OutcomeIssue[]> {
  const droppedPaths = new Set<string>()
  const onDropped = (paths: readonly string[]) => paths.forEach((path) => void droppedPaths.add(path))
  let accesses: AuditedAccess[] = []
  const work = async (tx: Transaction) => {
    await write({ tx, isTrial: true, onDropped: isLenient ? onDropped : undefined })
    accesses = tx.accesses
    throw new RolledBack()
  }
  try {
    await runStoreTransaction(context, work)
  } catch (error) {
    if (error instanceof ServiceError && error.status < 429) return issuesOf(error)
    if (!(error instanceof RolledBack)) throw error
  }
  const validation = { action: 'query', asked: 'validate' } as const
  await context.audit.record(...accesses.map((access) => ({ ...access, ...validation, ids: [] })))
  return droppedPaths.size > 0 ? droppedElementWarnings(droppedPaths) : [VALID]
}
