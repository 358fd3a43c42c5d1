import Parse from 'parse/node'
import type { ClassKind } from '../../records/registered/kind.ts'
import { type Faults, missingProperties } from '../../records/registered/rules.ts'
import { isOutage } from '../../records/store/documents/outage.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { inOneLine, type Violation } from '../../schemas/violation.ts'
import { UNAVAILABLE } from '../parse-server/adapter/query-refusals.ts'

/** The answer about what does not exist, is someone else's, or does not belong together: always the same. */
export const notFound = () => new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'Object not found.')

/** The answer about what the caller may see but not do. */
export const forbidden = (why: string) => new Parse.Error(Parse.Error.OPERATION_FORBIDDEN, why)

/** The answer about what is there but breaks a rule. */
export const invalid = (...violations: Violation[]) =>
  new Parse.Error(Parse.Error.VALIDATION_ERROR, inOneLine(violations))

const missingError = (names: readonly string[]) =>
  new Parse.Error(Parse.Error.SCRIPT_FAILED, `Missing required properties: ${names.join(', ')}`)

/** @throws Parse.Error 141 naming every missing property, otherwise 142 with every violation */
export function refuseFaults({ missing, violations }: Faults): void {
  if (missing.length > 0) throw missingError(missing)
  if (violations.length > 0) throw invalid(...violations)
}

/** @throws Parse.Error 141 naming every required property that is absent or null */
export const requireAll = (required: readonly string[] | undefined, values: Record<string, unknown>): void =>
  refuseFaults({ missing: missingProperties(required, values), violations: [] })

/** What a trigger throws Parse takes for a refusal, unless it is said that the database is away. */
export const tellOutage = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw isOutage(error) ? new Parse.Error(Parse.Error.INTERNAL_SERVER_ERROR, UNAVAILABLE) : error
  })

/** @throws Parse.Error 119 for an object that is only changed with what it follows from */
export function refuseChange({ refuseChange }: ClassKind, values: Record<string, unknown>): void {
  try {
    refuseChange?.(values as never)
  } catch (error) {
    throw error instanceof ServiceError ? forbidden(error.detail ?? '') : error
  }
}

/** Does what the records forbid in the class family's words: nothing tells what is missing from someone else's. */
export async function inParse<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.error === 'RuleViolated') throw invalid(...error.violations)
    if (error.error === 'TooManyRequests')
      throw new Parse.Error(Parse.Error.REQUEST_LIMIT_EXCEEDED, error.message)
    throw error.error === 'NotFound' || error.error === 'Forbidden' ? notFound() : error
  }
}
