import type { NextFunction, Response } from 'express'
import { type ErrorName, ServiceError } from '../../../schemas/errors.ts'
import { inOneLine, type Violation } from '../../../schemas/violation.ts'
import { code, Refusal } from '../request/parse-request.ts'
import { answerTrouble } from '../response/answer.ts'

/** What the rules of accounts refuse, as Parse Server would say it. */
const faults: Partial<Record<ErrorName, [status: number, code: number, text?: string]>> = {
  InvalidCredentials: [404, code.notFound, 'Invalid username/password.'],
  AccountLocked: [
    404,
    code.notFound,
    'Your account is locked due to multiple failed login attempts. Please try again after 5 minute(s)',
  ],
  WrongPassword: [400, code.forbidden, 'currentPassword is wrong.'],
  PasswordRequired: [400, code.forbidden],
  RuleViolated: [400, code.validation],
  Conflict: [400, code.usernameTaken],
  NotFound: [404, code.notFound, 'Object not found.'],
}

export function answerFault(error: unknown, res: Response, next: NextFunction): void {
  const refusal = refusalOf(error)
  if (refusal) res.status(refusal.status).json({ code: refusal.code, error: refusal.message })
  else if (!answerTrouble(error, res)) next(error)
}

function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error
  const fault = error instanceof ServiceError ? faults[error.error] : undefined
  if (!fault) return undefined
  const { violations, message } = error as ServiceError
  const [status, number, text] = fault
  return new Refusal(
    status,
    number,
    violations.length > 0 ? inOneLine(violations.map(asSent)) : (text ?? message),
  )
}

/** In the class family the new password is called `password`. */
const asSent = ({ path, message, ...rest }: Violation): Violation => ({
  ...rest,
  path: path === 'newPassword' ? 'password' : path,
  message: message.replace(/^newPassword /, ''),
})
