import type { RequestHandler, Response } from 'express'
import { waitsFor } from '../../records/ehrs/agreement.ts'
import { counted, type Spend } from '../../records/limits/rate-limits.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { hurry, sharedSchema } from '../parse-server/adapter/request-database.ts'

import { isOfAccounts } from './accounts/routes.ts'
import { auditAnswer } from './audit/audit-answer.ts'
import { checkNames, recordsRequestOf } from './audit/records-request.ts'

import { noSuchClass, notOffered } from './not-offered.ts'
import { isForOperators, isOperators, narrowAnswer, requireReading } from './operator.ts'
import { distinctValues } from './query/distinct.ts'
import { checkListFields, type ListQuery, readListQuery, readObjectQuery } from './query/list-query.ts'
import { newBudget, type QueryRules } from './query/where.ts'
import { type Serves, servedClasses } from './request/classes.ts'
import { checkJson } from './request/json.ts'
import { code, type ParseRequest, type ParseSchema, Refusal } from './request/parse-request.ts'
import {
  isBatch,
  isList,
  isRetrieval,
  isWrite,
  partsOf,
  plainPath,
  type RequestPart,
} from './request/request-parts.ts'
import { answerTrouble } from './response/answer.ts'
import { timeFor } from './response/deadline.ts'
import { isAllowed, isOpenToAll } from './routes.ts'
import { checkAccount, checkChangedAccount } from './write/account.ts'
import { checkProperties } from './write/properties.ts'

interface GateParts {
  /** The open test environment. */
  open: boolean
  records: Records
  spend: Spend
  /** Answers what is about accounts; the open test environment leaves that to Parse. */
  accounts: RequestHandler
}

/**
 * Stands inside Parse, behind the keys and the session and before every route: nobody passes without a session
 * (open test environment: everybody does, and nothing is audited), nothing is asked or written in a form that was not
 * checked, no answer leaves that the audit does not know.
 */
export function createGate({ open, records, spend, accounts }: GateParts): RequestHandler {
  const serves = servedClasses(open)
  const shareSchema = sharedSchema<ParseSchema>()
  return async (request, res, next) => {
    const req = request as unknown as ParseRequest
    req.auth ??= nobody
    try {
      if (!open) shareSchema(req.config.database)
      const parts = await partsOf(req)
      const timeLeft = timeFor(
        res,
        parts.some((part) => isList(part) || isRetrieval(part)),
      )
      if (!timeLeft) return
      hurry(req.config.database, timeLeft)
      await limit(req, res, parts.length, spend)
      admit(req, parts, { open, serves })
      for (const part of parts) await checkWrite(req, part)
      const queries = await readQueries(req, parts, serves)
      if (!open) {
        const requests = parts.map(recordsRequestOf)
        checkNames(requests)
        await letRemove(req, records)
        auditAnswer(req, res, requests, records)
        if (isForOperators(req)) narrowAnswer(res, serves)
      }
      if (queries[0]?.distinct !== undefined)
        res.json(await distinctValues(req, parts[0]?.className ?? '', queries[0]))
      else if (open) next()
      else accounts(request, res, next)
    } catch (error) {
      if (answerTrouble(error, res)) return
      if (!(error instanceof Refusal)) return next(error)
      if (error.status === 405) res.set('Allow', 'POST')
      res.status(error.status).json({ code: error.code, error: error.message })
    }
  }
}

/** Who asks where Parse has not looked. */
const nobody: ParseRequest['auth'] = { isMaster: false, getUserRoles: async () => [] }

/** Each part of a batch counts; of the address, the request itself is counted already. */
async function limit(
  { auth, ip = '' }: ParseRequest,
  res: Response,
  parts: number,
  spend: Spend,
): Promise<void> {
  if (parts > 1) await spend('address', counted(ip), res, parts - 1)
  if (auth.user) await spend('account', auth.user.id, res, Math.max(parts, 1))
}

/** @throws Refusal for who may not ask, and for what nobody may ask */
function admit(
  req: ParseRequest,
  parts: RequestPart[],
  { open, serves }: { open: boolean; serves: Serves },
): void {
  const { isMaster, user } = req.auth
  checkJson(req.body)
  if (isOperators(req)) requireReading(req, parts)
  // The context of triggers is ours: a client must not be able to write into it.
  if (!isMaster) req.info.context = {}
  const refused = parts.find(({ path, className }) => className === undefined && !isAllowed(path))
  if (!open && refused && !isForOperators(req))
    throw new Refusal(400, code.forbidden, notOffered(refused.path))
  if (!open && !isMaster && !user && !parts.every(isOpenToAll))
    throw new Refusal(401, code.invalidSession, 'Invalid session token')
  if (!open && !isMaster && isBatch(req) && parts.some(isOfAccounts))
    throw new Refusal(400, code.forbidden, 'A request about an account must not be part of a batch.')
  for (const { className } of parts)
    if (className !== undefined && !serves(className))
      throw new Refusal(400, code.forbidden, noSuchClass(className))
  if (plainPath(req.path) === '/login') keepOutOfUrl(req)
}

async function checkWrite(req: ParseRequest, part: RequestPart): Promise<void> {
  const { method, className, carrier } = part
  if (className === '_User' || isOpenToAll(part)) checkAccount(carrier.body)
  if (!isWrite(part) || className === undefined) return
  if (className === '_User' && method === 'PUT') checkChangedAccount(carrier.body)
  await checkProperties(req, { method, className, body: carrier.body })
}

/**
 * Leaves one form of the parameters of queries: checked, typed and in the body.
 * @returns the parameters of each list
 */
async function readQueries(req: ParseRequest, parts: RequestPart[], serves: Serves): Promise<ListQuery[]> {
  const rules: QueryRules = { serves, budget: newBudget() }
  const lists: ListQuery[] = []
  for (const part of parts) {
    const { className = '', carrier } = part
    if (!isList(part) && !isRetrieval(part)) continue
    const given =
      carrier === req ? { ...(req.body as object), ...req.query } : { ...(carrier.body as object) }
    if (isList(part)) {
      const query = readListQuery(given, className, rules)
      await checkListFields(req, className, query)
      lists.push(query)
    }
    carrier.body = isList(part) ? lists.at(-1) : readObjectQuery(given)
    if (carrier === req) req.url = req.path
  }
  if (isBatch(req) && lists.some(({ distinct }) => distinct !== undefined))
    throw new Refusal(400, code.invalidQuery, 'distinct cannot be used inside a batch')
  return lists
}

/**
 * Administrators delete EHRs that they may not see, and so do users who do not agree to one about them. Parse looks for
 * what is to be deleted with the rights of the one who asks, and a batch has the same rights in all of its parts: there
 * they find nothing.
 */
async function letRemove({ method, path, auth }: ParseRequest, records: Records): Promise<void> {
  const ehrId = /^\/classes\/Ehr\/([^/]+)\/?$/.exec(path)?.[1]
  if (method !== 'DELETE' || ehrId === undefined || !auth.user) return
  const isAdmin = (await auth.getUserRoles()).includes('role:admin')
  if (isAdmin || (await waitsFor(records, auth.user.id, ehrId))) auth.isMaster = true
}

/** Logs and histories keep URLs: no password may stand in one. */
function keepOutOfUrl(req: ParseRequest): void {
  if (req.method !== 'POST' && req.originalMethod !== 'POST')
    throw new Refusal(405, code.forbidden, 'Log in with POST')
  req.url = req.path
}
