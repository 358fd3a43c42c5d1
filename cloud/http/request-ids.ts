import type { Response } from 'express'
import type { Collection, Db } from 'mongodb'
import { hashSecret } from '../../records/accounts/user/secret.ts'
import { ClaimReleases } from '../../records/store/clocks/claim-releases.ts'
import { isDuplicateKeyError } from '../../records/store/documents/database.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { isAccountRequest } from './accounts/account-routes.ts'
import { type ParseRequest, parseErrorCode, Refusal } from './request/parse-request.ts'
import { isWrite, type RequestPart } from './request/request-parts.ts'
import { settleBeforeSending } from './response/response-pipeline.ts'

/** Parse SDKs send a request again under the same id, until they get an answer other than a 5xx. */
const REQUEST_ID_HEADER = 'x-parse-request-id'
const CLAIM_TTL_MS = 300_000

interface RequestClaim {
  _id: string
  reqId: string
  expire: Date
  /** The request has been answered for good. */
  isSettled?: true
}

/**
 * Claims the id of a request.
 * @throws Refusal for the id of an earlier request of the account; Unavailable as long as the outcome of that is unknown
 */
export type ClaimRequestId = (
  req: ParseRequest,
  res: Response,
  parts: readonly RequestPart[],
) => Promise<void>

/**
 * Carries out a write or a function once for each id and account. Parse Server would share the ids between all accounts,
 * and refuse the retry of a request that failed.
 */
export function createRequestIds(db: Db): ClaimRequestId {
  // Parse Server creates this collection with an index that deletes the expired claims.
  const claims = db.collection<RequestClaim>('_Idempotency')
  const releases = new ClaimReleases<Pick<RequestClaim, '_id' | 'expire'>>(CLAIM_TTL_MS, (released) =>
    claims.bulkWrite(released.map((filter) => ({ deleteOne: { filter } }))),
  )
  return async (req, res, parts) => {
    const requestId = req.get(REQUEST_ID_HEADER)
    if (!requestId || !parts.some(isOnceOnly)) return
    const _id = hashSecret(`${res.locals.account} ${requestId}`)
    const ownClaim = { _id, expire: new Date(Date.now() + CLAIM_TTL_MS) }
    await releases.finish(_id)
    try {
      await claims.insertOne({ ...ownClaim, reqId: _id })
    } catch (error) {
      if (isDuplicateKeyError(error)) throw await findRefusal(claims, _id)
      // The database may have stored the claim before the outage.
      void releases.release(ownClaim)
      throw error
    }
    settleBeforeSending(res, async (outcome) => {
      if (outcome === 'refused') await releases.release(ownClaim)
      else if (outcome === 'final')
        await claims.updateOne({ _id }, { $set: { isSettled: true } }).catch(() => {})
    })
  }
}

/** A request is not settled while it runs, or when nobody knows whether it was carried out. */
async function findRefusal(claims: Collection<RequestClaim>, _id: string): Promise<Refusal | ServiceError> {
  const claim = await claims.findOne({ _id })
  return claim?.isSettled
    ? new Refusal(400, parseErrorCode.duplicateRequest, 'Duplicate request')
    : new ServiceError('Unavailable', { retryAfter: 1 })
}

/** Account requests have limits of their own. */
const isOnceOnly = (part: RequestPart): boolean =>
  (isWrite(part) || (part.method === 'POST' && part.path.startsWith('/functions/'))) &&
  !isAccountRequest(part)
