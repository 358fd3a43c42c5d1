import type { NextFunction, Response } from 'express'
import { type ErrorName, ServiceError } from '../../../schemas/errors.ts'
import { formatViolations, type Violation } from '../../../schemas/validation/violations.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { respondToDatabaseError } from '../response/response-pipeline.ts'

/** Errors of the account rules in the form of Parse Server. */
const PARSE_ERRORS: Partial<Record<ErrorName, [status: number, code: number, text?: string]>> = {
  InvalidCredentials: [404, parseErrorCode.notFound, 'Invalid username/password.'],
  AccountLocked: [
    404,
    parseErrorCode.notFound,
    'This account is locked after too many wrong passwords. Try again in 5 minutes.',
  ],
  WrongPassword: [400, parseErrorCode.forbidden, 'currentPassword is not the current password.'],
  PasswordRequired: [400, parseErrorCode.forbidden],
  RuleViolated: [400, parseErrorCode.validation],
  Conflict: [400, parseErrorCode.usernameTaken],
  NotFound: [404, parseErrorCode.notFound, 'Object not found.'],
}

export function respondToAccountError(error: unknown, res: Response, next: NextFunction): void {
  const refusal = toRefusal(error)
  if (refusal) res.status(refusal.status).json({ code: refusal.code, error: refusal.message })
  else if (!respondToDatabaseError(error, res)) next(error)
}

function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  const fault = error instanceof ServiceError ? PARSE_ERRORS[error.error] : undefined
  if (!fault) return undefined
  const { violations, message } = error as ServiceError
  const [status, number, text] = fault
  return new Refusal(
    status,
    number,
    violations.length > 0 ? formatViolations(violations.map(withSentName)) : (text ?? message),
  )
}

/** The class family calls the new password `password`. */
const withSentName = ({ path, message, ...rest }: Violation): Violation => ({
  ...rest,
  path: path === 'newPassword' ? 'password' : path,
  message: message.replace(/^newPassword /, ''),
})
