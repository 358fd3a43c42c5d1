import { setImmediate } from 'node:timers/promises'
import type { ClientSession, Collection, Db, IndexDescription } from 'mongodb'
import { createGroups } from '../batching/group.ts'
import { periodically } from '../batching/periodically.ts'
import { after, decodeCursor } from '../reading/cursor.ts'
import { type Page, type PageOf, paged } from '../reading/listing.ts'
import { type Access, type AuditEntry, onePerKind } from './chain.ts'
import { type Lane, type Lanes, openLanes } from './lanes.ts'
import { register, signHeads } from './registry.ts'
import { scopeIndexes, scopeKeeper, scopesWith } from './scopes.ts'

export type { Access, AuditEntry } from './chain.ts'

export interface Audit {
  /**
   * Writes accesses together with those of other requests, what is said of the same EHR and kind as one entry; resolves
   * when they are on disk.
   */
  record(...accesses: Access[]): Promise<void>
  /** What stands for many EHRs in the place of one. */
  scopeOf(ehrIds: readonly string[]): Promise<string>
  /** Writes accesses in a transaction. */
  inTransaction(): AuditInTransaction
  /** Waits for what is being written, and signs the last heads. */
  close(): Promise<void>
}

interface AuditInTransaction {
  /** Once per attempt, as the transaction's last write. */
  write(accesses: Access[], session: ClientSession): Promise<void>
  /** Once, when the transaction has ended. */
  settle(outcome: 'written' | 'not written' | 'in doubt'): void
}

export interface AuditOptions {
  db: Db
  /** Keys the macs; whoever has it can verify the chains, and forge them. */
  key: string
  clock: () => Date
  /** Told when the heads cannot be signed: the database is away, or someone removed the registry's record. */
  onFault: (fault: unknown) => void
}

/** Does what keeps the processor busy while accesses are on their way to the disk, and waits for both. */
export async function whileRecorded<T>(recorded: Promise<void>, work: () => T): Promise<T> {
  // The next turn begins when they have been sent.
  const [done] = await Promise.all([setImmediate().then(work), recorded])
  return done
}

/** A name that no Parse class can have: the class family never reaches it, not even with the master key. */
export const entriesOf = (db: Db): Collection<AuditEntry> => db.collection<AuditEntry>('audit.entries')

export const auditIndexes: Record<string, IndexDescription[]> = {
  'audit.entries': [{ key: { ehrId: 1, at: -1, _id: -1 }, name: 'ehrId_at' }],
  'audit.scopes': scopeIndexes,
}

const SIGN_EVERY_MS = 1000
/** Requests whose entries are written in one command. */
const GROUP = 500

/**
 * Opens the audit for this run of the service.
 *
 *     const audit = await openAudit({ db, key, clock, onFault })
 *     await audit.record({ requestId, userId, application, action: 'read', ehrId, type: 'CarePlan', ids, outcome: 'done' })
 *     await audit.close()
 *
 * @see docs/decisions/audit-chain.md
 */
export async function openAudit(options: AuditOptions): Promise<Audit> {
  const { db, key, clock } = options
  const entries = entriesOf(db)
  const instance = await register(db, key, clock())
  const lanes = openLanes(instance, key)
  const groups = createGroups<Access>(GROUP, async (accesses) => {
    const lane = await lanes.take()
    try {
      await entries.insertMany(lane.link(accesses, clock()))
      lanes.give(lane, 'written')
    } catch (error) {
      lanes.give(lane, 'in doubt')
      throw error
    }
  })
  const signing = signRegularly(options, instance, lanes)
  return {
    record: async (...accesses) => {
      if (accesses.length > 0) await groups.add(onePerKind(accesses))
    },
    scopeOf: scopeKeeper(db, clock),
    inTransaction() {
      let lane: Lane | undefined
      return {
        async write(accesses, session) {
          if (accesses.length === 0) return
          lane ??= await lanes.take()
          await entries.insertMany(lane.link(onePerKind(accesses), clock()), { session })
        },
        settle(outcome) {
          if (lane) lanes.give(lane, outcome)
        },
      }
    },
    async close() {
      await groups.idle()
      await signing.end()
    },
  }
}

/** Signs the heads once a second while they move, and at the end. */
function signRegularly({ db, key, clock, onFault }: AuditOptions, instance: number, lanes: Lanes) {
  let signed = 0
  const sign = async (): Promise<void> => {
    const heads = lanes.heads()
    const count = heads.reduce((sum, { sequence }) => sum + sequence, 0)
    if (count === signed) return
    await signHeads(db, key, { _id: instance, heads, headsAt: clock() })
    signed = count
  }
  const loop = periodically(SIGN_EVERY_MS, sign, onFault)
  return {
    async end() {
      await loop.end()
      await signHeads(db, key, { _id: instance, heads: lanes.heads(), headsAt: clock(), endedAt: clock() })
    },
  }
}

/** What an entry in an EHR's audit is about: that EHR, or all that the user might read, of which it is one. */
export const scopeIn = (ehrId: string, entry: Pick<AuditEntry, 'ehrId'>): 'ehr' | 'readable' =>
  entry.ehrId === ehrId ? 'ehr' : 'readable'

/** How long a look at the audit may take. */
export const AUDIT_MS = 15_000
const atLeisure = { maxTimeMS: AUDIT_MS }

/**
 * Who saw and changed an EHR's data, newest first: the subject's view. What was asked of many EHRs at once is in it too.
 * @throws MalformedRequest for a cursor that it did not give out
 */
export async function listAccess(db: Db, ehrId: string, page: PageOf): Promise<Page<AuditEntry>> {
  const from = page.cursor === undefined ? {} : after('at', -1, decodeCursor('audit', page.cursor))
  const kept = [{ ehrId }, { ehrId: { $in: await scopesWith(db, [ehrId]) } }]
  const pages = kept.map((where) =>
    entriesOf(db)
      .find({ ...where, ...from }, atLeisure)
      .sort({ at: -1, _id: -1 })
      .limit(page.limit + 1)
      .toArray(),
  )
  const found = (await Promise.all(pages)).flat().sort(newestFirst)
  const counts = page.count ? kept.map((where) => entriesOf(db).countDocuments(where, atLeisure)) : undefined
  const total = counts && (await Promise.all(counts)).reduce((sum, one) => sum + one)
  return paged('audit', found, page.limit, ({ at, _id }) => ({ value: at, id: _id }), total)
}

const newestFirst = (a: AuditEntry, b: AuditEntry): number =>
  b.at.getTime() - a.at.getTime() || (a._id < b._id ? 1 : -1)
