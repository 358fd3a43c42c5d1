import { createHmac } from 'node:crypto'
import type { Collection, Db } from 'mongodb'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { hashSecret, newSecret } from '../user/secret.ts'

/**
 * A refresh token. It is kept until its session must have ended, so that reuse of a used token is recognised.
 */
interface RefreshToken {
  /** Hash of the token. */
  _id: string
  sid: string
  expiresAt: Date
  usedAt?: Date
  /** Random value from which, together with the token itself (not its hash), the next token is computed. */
  seed?: string
}

/**
 * Within this time a used token gives the same next token: responses get lost, and clients refresh twice at
 * once.
 */
const REUSE_GRACE_MS = 10_000

/** By the clock of the database, since those of the instances may differ. */
const RECENTLY_USED = { $expr: { $gte: ['$usedAt', { $subtract: ['$$NOW', REUSE_GRACE_MS] }] } }

/** The result of a redemption: the next token, or that a used token was reused. */
type RedemptionResult = { sid: string; next: string } | { sid: string; reused: true }

/** Single-use tokens in families, one family for each session. See docs/decisions/tokens.md. */
export class RefreshTokens {
  readonly #tokens: Collection<RefreshToken>

  /** @param tokens where the tokens are kept; those of apps lie apart, since they give fewer rights */
  constructor(db: Db, tokens = refreshTokensOf(db)) {
    this.#tokens = tokens
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#tokens, [
      { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
      { key: { sid: 1 }, name: 'session' },
    ])
  }

  async issue(sid: string, expiresAt: Date): Promise<string> {
    const token = newSecret()
    await this.#tokens.insertOne({ _id: hashSecret(token), sid, expiresAt })
    return token
  }

  /** Redeems a token. Concurrent requests with the same token all get the same next token. */
  async redeem(token: string): Promise<RedemptionResult | undefined> {
    const _id = hashSecret(token)
    const usedToken =
      (await this.#tokens.findOneAndUpdate(
        { _id, usedAt: { $exists: false } },
        { $currentDate: { usedAt: true }, $set: { seed: newSecret() } },
        { returnDocument: 'after' },
      )) ?? (await this.#tokens.findOne({ _id, ...RECENTLY_USED }))
    if (usedToken?.seed === undefined) {
      const reusedToken = await this.#tokens.findOne({ _id, usedAt: { $exists: true } })
      return reusedToken ? { sid: reusedToken.sid, reused: true } : undefined
    }
    const { sid, expiresAt } = usedToken
    const next = createHmac('sha256', token).update(usedToken.seed).digest('base64url')
    await this.#tokens.updateOne(
      { _id: hashSecret(next) },
      { $setOnInsert: { sid, expiresAt } },
      { upsert: true },
    )
    return { sid, next }
  }

  /** The session of a token, used or not. */
  async findSid(token: string): Promise<string | undefined> {
    return (await this.#tokens.findOne({ _id: hashSecret(token) }))?.sid
  }
}

export const appRefreshTokensOf = (db: Db): Collection<RefreshToken> =>
  db.collection<RefreshToken>('auth.app_refresh_tokens')

export const refreshTokensOf = (db: Db): Collection<RefreshToken> =>
  db.collection<RefreshToken>('auth.refresh_tokens')
