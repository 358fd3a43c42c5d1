import Parse from 'parse/node'
import {
  missingProperties,
  type ValidationFaults,
} from '../../records/ehr-records/validation/record-validation.ts'
import { isCommitInDoubt, isDuplicateKeyError } from '../../records/store/documents/database.ts'
import { isOutage } from '../../records/store/documents/outage.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { formatViolations, type Violation } from '../../schemas/validation/violations.ts'
import {
  OUTCOME_UNKNOWN_MESSAGE,
  PRECONDITION_FAILED,
  UNAVAILABLE_MESSAGE,
} from '../parse-server/adapter/database-errors.ts'
import type { ObjectWriteRequest } from '../parse-server/adapter/request/request-database.ts'

/** The same error for objects that do not exist, belong to others, or do not belong together. */
export const notFoundError = () => new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'Object not found.')

/** Error for an object that the caller may read but not change. */
export const forbiddenError = (why: string) => new Parse.Error(Parse.Error.OPERATION_FORBIDDEN, why)

/** Error for an object that the caller may read. Parse Server would not find it (docs/decisions/rights.md). */
const forbiddenWriteError = () => forbiddenError('You can read this, but not write it.')

/** Error for an object that violates a rule. */
export const validationError = (...violations: Violation[]) =>
  new Parse.Error(Parse.Error.VALIDATION_ERROR, formatViolations(violations))

/** Error for an object whose version `If-Match` does not name. */
const preconditionFailedError = () =>
  new Parse.Error(PRECONDITION_FAILED, 'The object has changed since it was read. Read it again and retry.')

const missingPropertiesError = (names: readonly string[]) =>
  new Parse.Error(Parse.Error.SCRIPT_FAILED, `Missing required properties: ${names.join(', ')}`)

/** @throws Parse.Error 141 with every missing property, otherwise 142 with every violation */
export function rejectFaults({ missing, violations }: ValidationFaults): void {
  if (missing.length > 0) throw missingPropertiesError(missing)
  if (violations.length > 0) throw validationError(...violations)
}

/** @throws Parse.Error 141 with every required property that is absent or null */
export const requireProperties = (
  required: readonly string[] | undefined,
  values: Record<string, unknown>,
): void => rejectFaults({ missing: missingProperties(required, values), violations: [] })

/** Marks database outages; otherwise Parse treats every error of a trigger as a refusal. */
export const translateOutage = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    if (error instanceof Parse.Error || !isOutage(error)) throw error
    const message = isCommitInDoubt(error) ? OUTCOME_UNKNOWN_MESSAGE : UNAVAILABLE_MESSAGE
    throw Object.assign(new Parse.Error(Parse.Error.INTERNAL_SERVER_ERROR, message), { cause: error })
  })

/**
 * Converts errors of the stores to Parse errors. An object that the caller cannot read gets the same error as a
 * missing one.
 */
export async function translateServiceErrors<T>(
  work: () => Promise<T>,
  tellVersion?: ObjectWriteRequest['tellVersion'],
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.error === 'RuleViolated') throw validationError(...error.violations)
    if (error.error === 'PreconditionFailed') {
      if (error.version !== undefined) tellVersion?.(Number(error.version))
      throw preconditionFailedError()
    }
    if (error.error === 'TooManyRequests')
      throw new Parse.Error(Parse.Error.REQUEST_LIMIT_EXCEEDED, error.message)
    const { error: name, detail } = error
    if (name === 'Conflict' && isDuplicateKeyError(error.cause))
      throw new Parse.Error(Parse.Error.DUPLICATE_VALUE, detail ?? error.message)
    if (name === 'Conflict' || name === 'Forbidden')
      throw detail === undefined ? forbiddenWriteError() : forbiddenError(detail)
    throw name === 'NotFound' ? notFoundError() : error
  }
}
