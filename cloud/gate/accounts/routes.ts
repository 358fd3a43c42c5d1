import type { RequestHandler } from 'express'
import type { ParseRequest } from '../request/parse-request.ts'
import type { RequestPart } from '../request/request-parts.ts'
import { changeAccount, deleteAccount, ownSession } from './changes.ts'
import { answerFault } from './faults.ts'
import type { AccountParts, Answer, Handling } from './handling.ts'
import { guardBy } from './handling.ts'
import { logIn, logInByFunction, resetPassword, sendVerification, signUp } from './open.ts'

type Handle = (handling: Handling) => Promise<Answer | undefined>

/** What the class family offers of accounts, answered by the same rules as in the path family. */
const routes: [method: string, path: RegExp, handle: Handle][] = [
  ['POST', /^\/(users|classes\/_User)\/?$/, signUp],
  ['POST', /^\/login\/?$/i, logIn],
  // As SDKs send it: a POST whose body says that it is a GET.
  ['GET', /^\/login\/?$/i, logIn],
  ['POST', /^\/functions\/Login\/?$/, logInByFunction],
  ['GET', /^\/sessions\/me\/?$/i, ownSession],
  ['POST', /^\/requestPasswordReset\/?$/i, resetPassword],
  ['POST', /^\/verificationEmailRequest\/?$/i, sendVerification],
  ['PUT', /^\/(?:users|classes\/_User)\/([^/]+)\/?$/, changeAccount],
  ['DELETE', /^\/(?:users|classes\/_User)\/([^/]+)\/?$/, deleteAccount],
]

/** Whether a call is answered here: such a one stands alone, not in a batch. */
export const isOfAccounts = ({ method, path }: RequestPart): boolean =>
  routes.some(([name, pattern]) => name === method && pattern.test(path))

/** Answers the requests about accounts; Parse answers the others, and the master key's but for the deletion. */
export function accountRoutes(parts: AccountParts): RequestHandler {
  return (request, res, next) => {
    const req = request as unknown as ParseRequest
    const route = routes.find(([method, path]) => method === req.method && path.test(req.path))
    if (!route || (req.auth.isMaster && req.method !== 'DELETE')) return next()
    const [, path, handle] = route
    const id = path.exec(req.path)?.[1] ?? ''
    handle({ ...parts, req, id, guard: guardBy(parts.spend, req, res) })
      .then((answer) => (answer ? res.status(answer.status ?? 200).json(answer.body) : next()))
      .catch((error: unknown) => answerFault(error, res, next))
  }
}
