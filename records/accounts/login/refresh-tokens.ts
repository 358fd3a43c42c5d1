import { createHmac } from 'node:crypto'
import type { Collection, Db } from 'mongodb'
import { makeIndexes } from '../../store/documents/indexes.ts'
import { hashOf, newSecret } from '../user/secret.ts'

/** A refresh token, kept until the session that it belongs to can no longer live: a used one must be recognised. */
interface RefreshToken {
  /** Hash of the token. */
  _id: string
  sid: string
  expiresAt: Date
  usedAt?: Date
  /** With the token itself, not its hash, it gives the next one. */
  seed?: string
}

/** A used token still gives the same next one: answers get lost, and clients refresh twice at once. */
const graceMs = 10_000

/** What becomes of a token: the next one, or the knowledge that a used one has turned up again. */
type Redeemed = { sid: string; next: string } | { sid: string; reused: true }

/** Single-use tokens in families, one family for each session. See docs/decisions/tokens.md. */
export class RefreshTokens {
  readonly #tokens: Collection<RefreshToken>
  readonly #clock: () => Date

  constructor(db: Db, clock: () => Date) {
    this.#tokens = refreshTokensOf(db)
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await makeIndexes(this.#tokens, [
      { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
      { key: { sid: 1 }, name: 'session' },
    ])
  }

  async issue(sid: string, expiresAt: Date): Promise<string> {
    const token = newSecret()
    await this.#tokens.insertOne({ _id: hashOf(token), sid, expiresAt })
    return token
  }

  /** Uses a token up. Of several requests with the same one, all get the same next one. */
  async redeem(token: string): Promise<Redeemed | undefined> {
    const now = this.#clock()
    const _id = hashOf(token)
    const used =
      (await this.#tokens.findOneAndUpdate(
        { _id, usedAt: { $exists: false } },
        { $set: { usedAt: now, seed: newSecret() } },
        { returnDocument: 'after' },
      )) ?? (await this.#tokens.findOne({ _id }))
    if (!used?.usedAt || used.seed === undefined) return undefined
    const { sid, expiresAt } = used
    if (now.getTime() - used.usedAt.getTime() > graceMs) return { sid, reused: true }
    const next = createHmac('sha256', token).update(used.seed).digest('base64url')
    await this.#tokens.updateOne(
      { _id: hashOf(next) },
      { $setOnInsert: { sid, expiresAt } },
      { upsert: true },
    )
    return { sid, next }
  }
}

export const refreshTokensOf = (db: Db): Collection<RefreshToken> =>
  db.collection<RefreshToken>('auth.refresh_tokens')
