import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { Readable } from 'node:stream'
import type { Binary, Collection, Db } from 'mongodb'
import { ClaimReleases } from '../../records/store/clocks/claim-releases.ts'
import { isLeaseHeld } from '../../records/store/clocks/lease.ts'
import { isDuplicateKeyError } from '../../records/store/documents/database.ts'
import {
  createSeededIdGenerators,
  type IdGenerators,
  newId,
  newUuid,
} from '../../records/store/documents/ids.ts'
import { syncIndexes } from '../../records/store/documents/indexes.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { HOUR_MS } from '../../schemas/time/durations.ts'
import type { Context } from '../operation/context.ts'
import { InputError, locateViolation, malformedInput } from '../reply/invalid-input.ts'
import type { RenderedResponse } from '../response/rendered-response.ts'

/** Time for which a response is kept. */
const RESPONSE_RETENTION_MS = 24 * HOUR_MS
/**
 * After this time the process of an unfinished request counts as dead. It exceeds the life of any
 * transaction.
 */
const CLAIM_LEASE_MS = 75_000

const IDEMPOTENCY_HEADER = 'Idempotency-Key'

interface IdempotencyClaim {
  /** Hash of user, operation and key; the key itself is not stored. */
  _id: string
  fingerprint: Binary
  /** First response, encrypted; absent while the request runs. */
  answer?: Binary
  leaseUntil: Date
  expiresAt: Date
}

/** Identifies a request: equal values mean the same request. */
export interface IdempotentRequest {
  /** The client's Idempotency-Key. */
  key: string
  /** User and operation. */
  scope: string
  /** Path, query and body. */
  content: Buffer
}

type IdempotentWork = (attempt: IdGenerators & Pick<Context, 'isRetry'>) => Promise<RenderedResponse>

/**
 * Runs a POST once per Idempotency-Key and replays its first response for 24 hours. Without a key it just
 * runs the POST. See docs/decisions/idempotency.md.
 *
 * @throws IdempotencyKeyReused for another request with the same key
 * @throws IdempotencyKeyInUse while the first request is running
 */
export type RunOnce = (
  request: IdempotentRequest | undefined,
  work: IdempotentWork,
) => Promise<RenderedResponse>

export async function createRunOnce(db: Db): Promise<RunOnce> {
  const claims = db.collection<IdempotencyClaim>('idempotency_keys')
  await syncIndexes(claims, [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }])
  const releases = new ClaimReleases<Pick<IdempotencyClaim, '_id' | 'leaseUntil'>>(CLAIM_LEASE_MS, (ended) =>
    claims.bulkWrite(ended.map((filter) => ({ updateOne: { filter, update: EXPIRED_LEASE } }))),
  )
  return async (request, work) => {
    if (request === undefined) return work({ newId, newUuid, isRetry: false })
    const secrets = deriveSecrets(request)
    const now = Date.now()
    const lease = {
      leaseUntil: new Date(now + CLAIM_LEASE_MS),
      expiresAt: new Date(now + RESPONSE_RETENTION_MS),
    }
    const ownClaim = { _id: secrets.id, leaseUntil: lease.leaseUntil }
    try {
      const claim = await claimKey(claims, secrets, lease)
      if ('answer' in claim) return decryptResponse(claim.answer.buffer, secrets.encryption)
      const response = await work({ ...createSeededIdGenerators(secrets.seed), isRetry: claim.isRetry })
      const isFinal = isFinalResponse(response)
      if (isFinal && isStorable(response))
        await claims.updateOne(ownClaim, {
          $set: { answer: encryptResponse(response, secrets.encryption) as unknown as Binary },
        })
      // The work may continue after its client got a 5xx. The retry then finds it done, as after a large response.
      else if (isFinal || response.status >= 500) await claims.updateOne(ownClaim, EXPIRED_LEASE)
      else await claims.deleteOne(ownClaim)
      return response
    } catch (fault) {
      if (!(fault instanceof ServiceError)) void releases.release(ownClaim)
      throw fault
    }
  }
}

const EXPIRED_LEASE = { $set: { leaseUntil: new Date(0) } }

/** @throws MalformedRequest */
export function parseIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header
  throw malformedInput('header', IDEMPOTENCY_HEADER, 'pattern', 'must have 1 to 255 visible ASCII characters')
}

/**
 * Whether a retry must get this response, too. Other responses may differ next time, so the request runs
 * again.
 */
const isFinalResponse = ({ status, body }: RenderedResponse): boolean =>
  status < 500 && status !== 408 && status !== 429 && !(body instanceof Readable)

/** Bytes of a stored response, as many as a body may have. Otherwise searches with many results would fill the disk. */
const MAX_STORED_BYTES = 1024 * 1024

const isStorable = ({ body }: RenderedResponse): boolean =>
  Buffer.byteLength((body as string | Buffer | undefined) ?? '') <= MAX_STORED_BYTES

type DerivedSecrets = ReturnType<typeof deriveSecrets>

/** Derives all stored values from the request, so the database alone reveals neither key nor response. */
function deriveSecrets({ key, scope, content }: IdempotentRequest) {
  const bytes = Buffer.from(hkdfSync('sha256', content, key, scope, 96))
  return {
    id: createHash('sha256').update(`${scope}\0${key}`).digest('base64url'),
    fingerprint: bytes.subarray(0, 32),
    encryption: bytes.subarray(32, 64),
    seed: bytes.subarray(64),
  }
}

/** Returns the stored response, or claims the key. `isRetry` means that an earlier attempt left no response. */
async function claimKey(
  claims: Collection<IdempotencyClaim>,
  { id, fingerprint }: DerivedSecrets,
  lease: Pick<IdempotencyClaim, 'leaseUntil' | 'expiresAt'>,
): Promise<{ answer: Binary } | { isRetry: boolean }> {
  const now = Date.now()
  try {
    await claims.insertOne({ _id: id, fingerprint: fingerprint as unknown as Binary, ...lease })
    return { isRetry: false }
  } catch (error) {
    if (!isDuplicateKeyError(error)) throw error
  }
  const claim = await claims.findOne({ _id: id })
  if (claim === null) throw keyInUseError(1)
  const isExpired = claim.expiresAt.getTime() <= now
  if (!isExpired && !timingSafeEqual(claim.fingerprint.buffer, fingerprint)) {
    const violation = {
      path: IDEMPOTENCY_HEADER,
      code: 'reused',
      message: 'was already used for a different request. Choose a new one',
    }
    throw new InputError('IdempotencyKeyReused', [locateViolation('header')(violation)])
  }
  if (!isExpired && claim.answer !== undefined) return { answer: claim.answer }
  if (!isExpired && isLeaseHeld(claim.leaseUntil, CLAIM_LEASE_MS))
    throw keyInUseError(Math.ceil((claim.leaseUntil.getTime() - now) / 1000))
  return takeOverClaim(claims, claim, { fingerprint: fingerprint as unknown as Binary, ...lease })
}

/** Only one of several concurrent requests takes over a dead claim. */
async function takeOverClaim(
  claims: Collection<IdempotencyClaim>,
  { _id, leaseUntil }: IdempotencyClaim,
  claim: Omit<IdempotencyClaim, '_id' | 'answer'>,
): Promise<{ isRetry: true }> {
  const takeover = await claims.updateOne({ _id, leaseUntil }, { $set: claim, $unset: { answer: '' } })
  if (takeover.modifiedCount === 0) throw keyInUseError(1)
  return { isRetry: true }
}

const keyInUseError = (retryAfter: number) => new ServiceError('IdempotencyKeyInUse', { retryAfter })

function encryptResponse({ status, headers, body }: RenderedResponse, key: Buffer): Buffer {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const head = Buffer.from(`${JSON.stringify({ status, headers, text: typeof body === 'string' })}\n`)
  const plain = Buffer.concat([head, Buffer.from((body as string | Buffer | undefined) ?? '')])
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decryptResponse(ciphertext: Uint8Array, key: Buffer): RenderedResponse {
  const bytes = Buffer.from(ciphertext)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16))
  const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
  const end = plain.indexOf('\n')
  const { status, headers, text } = JSON.parse(plain.subarray(0, end).toString())
  const body = plain.subarray(end + 1)
  const replayedHeaders = { ...headers, 'idempotency-replayed': 'true' }
  if (body.length === 0) return { status, headers: replayedHeaders, body: undefined }
  return { status, headers: replayedHeaders, body: text ? body.toString() : body }
}
