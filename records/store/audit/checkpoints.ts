import type { ClientSession, Collection, Db } from 'mongodb'
import { runTransaction } from '../documents/database.ts'
import { auditEntryCollection } from './audit-log.ts'
import {
  type ChainHead,
  chainIdEnd,
  chainIdStart,
  computeMac,
  EMPTY_HEAD,
  isSameMac,
  parseEntryId,
} from './chains/chain.ts'
import { decodeAuditEntry } from './chains/entry-format.ts'
import { auditScopeCollection } from './scopes.ts'

/** The signed start of a chain whose older entries were removed: the chain continues after this head. */
interface Checkpoint extends ChainHead {
  /** The id of the chain. */
  _id: string
  removedBefore: Date
  /** MAC over all fields above. */
  seal: string
}

export const checkpointCollection = (db: Db): Collection<Checkpoint> =>
  db.collection<Checkpoint>('audit.checkpoints')

const macOfCheckpoint = (
  key: string,
  { _id, sequence, mac, removedBefore }: Omit<Checkpoint, 'seal'>,
): string => computeMac(key, ['checkpoint', _id, sequence, mac, removedBefore])

/** Finds the head after which a chain starts; null when none of these keys signed its checkpoint. */
export async function findChainStart(
  db: Db,
  keys: readonly string[],
  chain: string,
): Promise<ChainHead | null> {
  const checkpoint = await checkpointCollection(db).findOne({ _id: chain })
  if (!checkpoint) return EMPTY_HEAD
  return keys.some((key) => isSameMac(checkpoint.seal, macOfCheckpoint(key, checkpoint))) ? checkpoint : null
}

/** Removed entries per transaction. */
const MAX_BATCH_SIZE = 1000

/**
 * Removes old entries: of each chain, all before the first one that is not older than `moment`. The same
 * transaction writes a signed checkpoint, so the chain verifies at any time.
 * @returns the number of removed entries
 */
export async function removeEntriesBefore(db: Db, key: string, moment: Date): Promise<number> {
  const entries = auditEntryCollection(db)
  let removedCount = 0
  let first = await entries.findOne({}, { sort: { _id: 1 } })
  while (first) {
    const { chain } = parseEntryId(first._id)
    const batch = await runTransaction(db, (session) => shortenChain(db, key, chain, moment, session))
    removedCount += batch
    const from = batch < MAX_BATCH_SIZE ? chainIdEnd(chain) : chainIdStart(chain)
    first = await entries.findOne({ _id: { $gt: from } }, { sort: { _id: 1 } })
  }
  await removeScopesBefore(db, moment)
  return removedCount
}

/** Removes scopes that no entry refers to. */
async function removeScopesBefore(db: Db, moment: Date): Promise<void> {
  for await (const { _id } of auditScopeCollection(db).find(
    { usedAt: { $lt: moment } },
    { projection: { _id: 1 } },
  ))
    if (!(await auditEntryCollection(db).findOne({ ehrId: _id })))
      await auditScopeCollection(db).deleteOne({ _id })
}

async function shortenChain(
  db: Db,
  key: string,
  chain: string,
  moment: Date,
  session: ClientSession,
): Promise<number> {
  const entries = auditEntryCollection(db)
  const $gt = chainIdStart(chain)
  const inChain = { _id: { $gt, $lt: chainIdEnd(chain) } }
  const oldest = await entries.find(inChain, { session }).sort({ _id: 1 }).limit(MAX_BATCH_SIZE).toArray()
  const younger = oldest.findIndex(({ at }) => at >= moment)
  const old = younger < 0 ? oldest : oldest.slice(0, younger)
  const last = old.at(-1)
  if (!last) return 0
  const { sequence } = parseEntryId(last._id)
  const checkpoint = { _id: chain, sequence, mac: decodeAuditEntry(last).mac, removedBefore: moment }
  const signedCheckpoint = { ...checkpoint, seal: macOfCheckpoint(key, checkpoint) }
  await checkpointCollection(db).replaceOne({ _id: chain }, signedCheckpoint, { upsert: true, session })
  await entries.deleteMany({ _id: { $gt, $lte: last._id } }, { session })
  return old.length
}
