import type { AuditedAccess } from '../../records/store/audit/audit-log.ts'
import { runAndRollBack, type StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { droppedElementWarnings, issuesOf, type OutcomeIssue } from '../outcome/issue.ts'
import type { ResourceWrite } from '../sources/resource-source.ts'

const VALID: OutcomeIssue = {
  severity: 'information',
  code: 'informational',
  diagnostics: 'The service would accept this',
}

/**
 * Runs a write and rolls it back. It is audited as a query, since nothing is written.
 * @param isLenient elements that would be dropped are warnings
 * @returns the issues that the write would have
 */
export async function validateWrite(
  context: StoreContext,
  write: (options: ResourceWrite) => Promise<unknown>,
  isLenient: boolean,
): Promise<OutcomeIssue[]> {
  const droppedPaths = new Set<string>()
  const onDropped = (paths: readonly string[]) => paths.forEach((path) => void droppedPaths.add(path))
  let accesses: AuditedAccess[]
  try {
    accesses = await runAndRollBack(context, (tx) =>
      write({ tx, isValidation: true, onDropped: isLenient ? onDropped : undefined }),
    )
  } catch (error) {
    if (error instanceof ServiceError && error.status < 429) return issuesOf(error)
    throw error
  }
  const validation = { action: 'query', asked: 'validate' } as const
  await context.audit.record(...accesses.map((access) => ({ ...access, ...validation, ids: [] })))
  return droppedPaths.size > 0 ? droppedElementWarnings(droppedPaths) : [VALID]
}
