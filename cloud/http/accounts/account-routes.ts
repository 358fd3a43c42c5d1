import type { RequestHandler } from 'express'
import type { ParseRequest } from '../request/parse-request.ts'
import type { RequestPart } from '../request/request-parts.ts'
import { respondToAccountError } from './account-errors.ts'
import type { AccountRequest, AccountResponse, AccountRouteDependencies } from './account-request.ts'
import { createAttemptLimiter } from './account-request.ts'
import { actForPersonByFunction, changeAccount, deleteAccount, getOwnSession } from './own-account.ts'
import { logIn, logInByFunction, requestPasswordReset, sendVerification, signUp } from './public-requests.ts'

type AccountHandler = (handling: AccountRequest) => Promise<AccountResponse>

/** Account routes of the class family, with the same rules as the path family. */
const ACCOUNT_ROUTES: [method: string, path: RegExp, handle: AccountHandler][] = [
  ['POST', /^\/(users|classes\/_User)\/?$/, signUp],
  ['POST', /^\/login\/?$/i, logIn],
  // SDKs send a POST whose body names the method GET.
  ['GET', /^\/login\/?$/i, logIn],
  ['POST', /^\/functions\/Login\/?$/, logInByFunction],
  ['POST', /^\/functions\/actForPerson\/?$/, actForPersonByFunction],
  ['GET', /^\/sessions\/me\/?$/i, getOwnSession],
  ['POST', /^\/requestPasswordReset\/?$/i, requestPasswordReset],
  ['POST', /^\/verificationEmailRequest\/?$/i, sendVerification],
  ['PUT', /^\/(?:users|classes\/_User)\/([^/]+)\/?$/, changeAccount],
  ['DELETE', /^\/(?:users|classes\/_User)\/([^/]+)\/?$/, deleteAccount],
]

/** Whether an account route serves the request; a batch must not contain it. */
export const isAccountRequest = ({ method, path }: RequestPart): boolean =>
  ACCOUNT_ROUTES.some(([name, pattern]) => name === method && pattern.test(path))

/** Serves account requests. Parse serves the others, and those with the master key except deletion. */
export function createAccountHandler(parts: AccountRouteDependencies): RequestHandler {
  return (request, res, next) => {
    const req = request as unknown as ParseRequest
    const route = ACCOUNT_ROUTES.find(([method, path]) => method === req.method && path.test(req.path))
    if (!route || (req.auth.isMaster && req.method !== 'DELETE')) return next()
    const [, path, handle] = route
    const id = path.exec(req.path)?.[1] ?? ''
    handle({ ...parts, req, id, limitAttempts: createAttemptLimiter(parts.consume, req, res) })
      .then(({ status = 200, body }) => res.status(status).json(body))
      .catch((error: unknown) => respondToAccountError(error, res, next))
  }
}
