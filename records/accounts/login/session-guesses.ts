import type { Collection, Db } from 'mongodb'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { ACCOUNT_LOCKOUT_S, accountLockedError } from './login-lockout.ts'

interface GuessCount {
  /** Id of the session. */
  _id: string
  count: number
  expiresAt: Date
}

/**
 * Limits how often a session may give the current password. It is apart from the lockout of logins, with which
 * anybody who knows an address could keep its owner from changing the password.
 */
export class SessionGuesses {
  readonly #guesses: Collection<GuessCount>
  readonly #threshold: number
  readonly #clock: () => Date

  /** @param threshold number of wrong passwords after which the session has to wait */
  constructor(db: Db, threshold: number, clock: () => Date) {
    this.#guesses = db.collection<GuessCount>('auth.session_guesses')
    this.#threshold = threshold
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#guesses, [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }])
  }

  /** Counts a guess before it is checked, so that simultaneous ones count, too. @throws AccountLocked */
  async count(sid: string): Promise<void> {
    const now = this.#clock()
    await this.#guesses.deleteOne({ _id: sid, expiresAt: { $lte: now } })
    const expiresAt = new Date(now.getTime() + ACCOUNT_LOCKOUT_S * 1000)
    const counter = await this.#guesses.findOneAndUpdate(
      { _id: sid },
      { $inc: { count: 1 }, $setOnInsert: { expiresAt } },
      { upsert: true, returnDocument: 'after' },
    )
    if ((counter?.count ?? 1) > this.#threshold) throw accountLockedError()
  }

  /** Forgets the guesses after the right password. */
  async clear(sid: string): Promise<void> {
    await this.#guesses.deleteOne({ _id: sid })
  }
}
