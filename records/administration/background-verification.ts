import type { Collection, Db } from 'mongodb'
import { TimeSlice } from '../limits/time-slice.ts'
import { auditEntryCollection } from '../store/audit/audit-log.ts'
import { type VerificationResult, verifyAudit } from '../store/audit/verifier.ts'
import { isLeaseHeld } from '../store/clocks/lease.ts'
import { isDuplicateKeyError } from '../store/documents/database.ts'

/** The last verification; instances share it. */
export interface StoredVerification {
  _id: 'last'
  startedAt: Date
  entries: number
  ofEntries: number
  /** Until then the instance that verifies is alive. */
  leaseUntil: Date
  finishedAt?: Date
  /** Absent after a failure of the database. */
  verdict?: VerificationResult
}

interface VerificationDependencies {
  /** Without deadlines. */
  db: Db
  key: string
  formerKeys: readonly string[]
  clock: () => Date
  onFault: (fault: unknown) => void
}

const VERIFICATION_LEASE_MS = 60_000

/** Whether an instance verifies now. */
export const isVerifying = ({ finishedAt, leaseUntil }: StoredVerification): boolean =>
  finishedAt === undefined && isLeaseHeld(leaseUntil, VERIFICATION_LEASE_MS)

/** Verifies the audit in the background, once at a time. */
export class BackgroundVerification {
  readonly #parts: VerificationDependencies
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(parts: VerificationDependencies) {
    this.#parts = parts
  }

  /** @returns the last verification; undefined if there was none */
  async last(): Promise<StoredVerification | undefined> {
    return (await this.#verifications.findOne({ _id: 'last' })) ?? undefined
  }

  /** Starts a verification unless one is running. */
  async start(): Promise<void> {
    const last = await this.last()
    if (this.#isStopping || (last && isVerifying(last))) return
    const { db, clock } = this.#parts
    const verification = {
      startedAt: clock(),
      leaseUntil: this.#leaseEnd(),
      entries: 0,
      ofEntries: await auditEntryCollection(db).estimatedDocumentCount(),
    }
    // Somebody else may have started one since.
    const same = last
      ? { _id: last._id, startedAt: last.startedAt }
      : { _id: 'last' as const, startedAt: verification.startedAt }
    const replacement = await this.#verifications
      .replaceOne(same, verification, { upsert: last === undefined })
      .catch((error: unknown) => {
        if (!isDuplicateKeyError(error)) throw error
        return { matchedCount: 0, upsertedCount: 0 }
      })
    if (replacement.matchedCount + replacement.upsertedCount > 0)
      this.#running = this.#run(verification.startedAt).catch(this.#parts.onFault)
  }

  /** Ends a running verification. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  get #verifications(): Collection<StoredVerification> {
    return this.#parts.db.collection('audit.verifications')
  }

  #leaseEnd = (): Date => new Date(Date.now() + VERIFICATION_LEASE_MS)

  async #run(startedAt: Date): Promise<void> {
    const { db, key, formerKeys, clock } = this.#parts
    const save = (change: Partial<StoredVerification>) =>
      this.#verifications.updateOne({ _id: 'last', startedAt }, { $set: change })
    const slice = new TimeSlice({ isAbandoned: () => this.#isStopping })
    try {
      const tell = async ({ entries }: { entries: number }) => {
        await save({ entries, leaseUntil: this.#leaseEnd() })
      }
      const verdict = await verifyAudit(db, key, tell, formerKeys, slice)
      await save({ verdict, entries: verdict.entries, finishedAt: clock() })
    } catch (error) {
      await save({ finishedAt: clock() })
      if (!this.#isStopping) throw error
    }
  }
}
