import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Binary, Collection, Db } from 'mongodb'
import { isDuplicate } from '../../records/store/documents/database.ts'
import { type Ids, newId, newUuid, seededIds } from '../../records/store/documents/ids.ts'
import { makeIndexes } from '../../records/store/documents/indexes.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { malformed, Placed, placedIn } from '../answer/invalid-input.ts'
import type { Context } from '../operation/context.ts'
import type { Rendered } from '../response/rendered.ts'

const hour = 3_600_000
/** How long an answer is kept. */
const keptFor = 24 * hour
/** After this, work that has not finished has died with its process; no transaction lives as long. */
const leaseFor = 75_000

const HEADER = 'Idempotency-Key'

interface Claim {
  /** Hash of whose key it is, for which operation, and of the key: the key itself is not kept. */
  _id: string
  fingerprint: Binary
  /** The first answer, encrypted; absent while the work goes on. */
  answer?: Binary
  leaseUntil: Date
  expiresAt: Date
}

/** What makes two requests the same. */
export interface Sameness {
  /** The client's Idempotency-Key. */
  key: string
  /** Whose key it is, and for which operation. */
  scope: string
  /** Path, query and body. */
  content: Buffer
}

type Work = (attempt: Ids & Pick<Context, 'again'>) => Promise<Rendered>

/**
 * Does the work of a POST once per Idempotency-Key and gives its first answer to every repetition for 24 hours.
 * Without a key the work is simply done. See docs/decisions/idempotency.md.
 *
 * @throws IdempotencyKeyReused for another request with the same key
 * @throws IdempotencyKeyInUse while the first request is being worked on
 */
export type Once = (same: Sameness | undefined, work: Work) => Promise<Rendered>

export async function idempotency(db: Db): Promise<Once> {
  const claims = db.collection<Claim>('idempotency_keys')
  await makeIndexes(claims, [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }])
  return async (same, work) => {
    if (same === undefined) return work({ newId, newUuid, again: false })
    const secrets = derive(same)
    const now = Date.now()
    const fresh = { leaseUntil: new Date(now + leaseFor), expiresAt: new Date(now + keptFor) }
    const mine = { _id: secrets.id, leaseUntil: fresh.leaseUntil }
    try {
      const claimed = await claim(claims, secrets, fresh)
      if ('answer' in claimed) return open(claimed.answer.buffer, secrets.encryption)
      const rendered = await work({ ...seededIds(secrets.seed), again: claimed.again })
      if (isFinal(rendered))
        await claims.updateOne(mine, {
          $set: { answer: seal(rendered, secrets.encryption) as unknown as Binary },
        })
      // What was begun may go on after its client has been told to come again, who then finds it done.
      else if (rendered.status >= 500) await claims.updateOne(mine, over)
      else await claims.deleteOne(mine)
      return rendered
    } catch (fault) {
      if (!(fault instanceof ServiceError)) void giveBack(claims, mine)
      throw fault
    }
  }
}

const over = { $set: { leaseUntil: new Date(0) } }

/** Has a claim that nobody works under any more end when the database is there again, not with its lease. */
async function giveBack(claims: Collection<Claim>, mine: Pick<Claim, '_id' | 'leaseUntil'>): Promise<void> {
  for (; Date.now() < mine.leaseUntil.getTime(); await sleep(500, undefined, { ref: false })) {
    const given = await claims.updateOne(mine, over).catch(() => undefined)
    if (given) return
  }
}

/** @throws MalformedRequest */
export function idempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header
  throw malformed('header', HEADER, 'pattern', 'must have 1 to 255 visible characters')
}

/** Whether a repetition should get this answer too; what may turn out otherwise next time is tried again. */
const isFinal = ({ status, body }: Rendered): boolean =>
  status < 500 && status !== 408 && status !== 429 && !(body instanceof Readable)

type Secrets = ReturnType<typeof derive>

/** Everything that is kept is derived from what the client sent: the database alone reveals neither key nor answer. */
function derive({ key, scope, content }: Sameness) {
  const derived = Buffer.from(hkdfSync('sha256', content, key, scope, 96))
  return {
    id: createHash('sha256').update(`${scope}\0${key}`).digest('base64url'),
    fingerprint: derived.subarray(0, 32),
    encryption: derived.subarray(32, 64),
    seed: derived.subarray(64),
  }
}

/** The kept answer, or the right to work; `again` when somebody had it before and left no answer. */
async function claim(
  claims: Collection<Claim>,
  { id, fingerprint }: Secrets,
  fresh: Pick<Claim, 'leaseUntil' | 'expiresAt'>,
): Promise<{ answer: Binary } | { again: boolean }> {
  const now = Date.now()
  try {
    await claims.insertOne({ _id: id, fingerprint: fingerprint as unknown as Binary, ...fresh })
    return { again: false }
  } catch (error) {
    if (!isDuplicate(error)) throw error
  }
  const kept = await claims.findOne({ _id: id })
  if (kept === null) throw inUse(1)
  const expired = kept.expiresAt.getTime() <= now
  if (!expired && !timingSafeEqual(kept.fingerprint.buffer, fingerprint)) {
    const violation = {
      path: HEADER,
      code: 'reused',
      message: 'must be another one than for another request',
    }
    throw new Placed('IdempotencyKeyReused', [placedIn('header')(violation)])
  }
  if (!expired && kept.answer !== undefined) return { answer: kept.answer }
  if (!expired && kept.leaseUntil.getTime() > now)
    throw inUse(Math.ceil((kept.leaseUntil.getTime() - now) / 1000))
  return takeOver(claims, kept, { fingerprint: fingerprint as unknown as Binary, ...fresh })
}

/** Of several that find a dead claim, one gets it. */
async function takeOver(
  claims: Collection<Claim>,
  { _id, leaseUntil }: Claim,
  fresh: Omit<Claim, '_id' | 'answer'>,
): Promise<{ again: true }> {
  const taken = await claims.updateOne({ _id, leaseUntil }, { $set: fresh, $unset: { answer: '' } })
  if (taken.modifiedCount === 0) throw inUse(1)
  return { again: true }
}

const inUse = (retryAfter: number) => new ServiceError('IdempotencyKeyInUse', { retryAfter })

function seal({ status, headers, body }: Rendered, key: Buffer): Buffer {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const head = Buffer.from(`${JSON.stringify({ status, headers, text: typeof body === 'string' })}\n`)
  const plain = Buffer.concat([head, Buffer.from((body as string | Buffer | undefined) ?? '')])
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function open(sealed: Uint8Array, key: Buffer): Rendered {
  const bytes = Buffer.from(sealed)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16))
  const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
  const end = plain.indexOf('\n')
  const { status, headers, text } = JSON.parse(plain.subarray(0, end).toString())
  const body = plain.subarray(end + 1)
  return {
    status,
    headers: { ...headers, 'idempotency-replayed': 'true' },
    body: body.length === 0 ? undefined : text ? body.toString() : body,
  }
}
