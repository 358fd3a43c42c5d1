import { isInputErrorName, ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'

export const isInputError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && isInputErrorName(error.error)

export const ifConflict =
  <T>(retry: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (error instanceof ServiceError && error.error === 'Conflict') return retry()
    throw error
  }

/** One error with the faults of several entries. */
export const joinFaults = (faults: readonly ServiceError[]): ServiceError =>
  new ServiceError(faults[0]?.error as 'RuleViolated', {
    violations: faults.flatMap(({ violations }) => violations),
  })

/** Adds the path of the entry to the faults of its work. */
export async function locateFaults<T>(
  { position, type }: { position: number; type: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    const entryPath = `Bundle.entry[${position}]`
    // A fault outside of the resource is one of the conditions or of the search in the request.
    const atEntry = (one: Violation): Violation =>
      one.path.startsWith(`${type}.`)
        ? { ...one, path: `${entryPath}.resource${one.path.slice(type.length)}` }
        : { ...one, path: entryPath, message: `${one.path} ${one.message}` }
    const violations = isInputErrorName(error.error)
      ? error.violations.map(atEntry)
      : [{ path: entryPath, code: error.violations[0]?.code ?? 'entry', message: 'could not be carried out' }]
    const { detail, version } = error
    throw new ServiceError(error.error as 'InvalidInput', {
      violations,
      cause: error,
      ...(detail !== undefined && { detail }),
      ...(version !== undefined && { version }),
    })
  }
}
