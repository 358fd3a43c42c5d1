import type { ClientSession, Collection, Db } from 'mongodb'
import { together } from '../documents/database.ts'
import { endOfChain, type Head, macOf, placeOf, START, sameMac, startOfChain } from './chain.ts'
import { scopesOf } from './scopes.ts'
import { entriesOf } from './trail.ts'

/** Where a chain begins since its older entries were removed: behind this head. */
interface Checkpoint extends Head {
  /** The chain. */
  _id: string
  removedBefore: Date
  /** Mac over all of the above. */
  seal: string
}

/** A name that no Parse class can have. */
export const checkpointsOf = (db: Db): Collection<Checkpoint> =>
  db.collection<Checkpoint>('audit.checkpoints')

const sealOf = (key: string, { _id, sequence, mac, removedBefore }: Omit<Checkpoint, 'seal'>): string =>
  macOf(key, ['checkpoint', _id, sequence, mac, removedBefore])

/** Where a chain begins; null when the checkpoint that says so was not signed with this key. */
export async function beginningOf(db: Db, key: string, chain: string): Promise<Head | null> {
  const checkpoint = await checkpointsOf(db).findOne({ _id: chain })
  if (!checkpoint) return START
  return sameMac(checkpoint.seal, sealOf(key, checkpoint)) ? checkpoint : null
}

/** The chains that were shortened. */
export async function shortenedChains(db: Db): Promise<string[]> {
  const checkpoints = await checkpointsOf(db).find().sort({ _id: 1 }).toArray()
  return checkpoints.map(({ _id }) => _id)
}

/** Entries that are removed in one transaction. */
const BATCH = 1000

/**
 * Removes the entries from before a moment, of each chain up to the first one that is younger. A signed checkpoint
 * takes their place in the same transaction, so that the chain verifies all the while.
 * @returns how many were removed
 */
export async function removeEntriesBefore(db: Db, key: string, moment: Date): Promise<number> {
  const entries = entriesOf(db)
  let removed = 0
  let first = await entries.findOne({}, { sort: { _id: 1 } })
  while (first) {
    const { chain } = placeOf(first._id)
    const batch = await together(db, (session) => shorten(db, key, chain, moment, session))
    removed += batch
    const from = batch < BATCH ? endOfChain(chain) : startOfChain(chain)
    first = await entries.findOne({ _id: { $gt: from } }, { sort: { _id: 1 } })
  }
  await removeScopesBefore(db, moment)
  return removed
}

/** Scopes that no entry is about any more. */
async function removeScopesBefore(db: Db, moment: Date): Promise<void> {
  for await (const { _id } of scopesOf(db).find({ usedAt: { $lt: moment } }, { projection: { _id: 1 } }))
    if (!(await entriesOf(db).findOne({ ehrId: _id }))) await scopesOf(db).deleteOne({ _id })
}

async function shorten(
  db: Db,
  key: string,
  chain: string,
  moment: Date,
  session: ClientSession,
): Promise<number> {
  const entries = entriesOf(db)
  const $gt = startOfChain(chain)
  const inChain = { _id: { $gt, $lt: endOfChain(chain) } }
  const oldest = await entries.find(inChain, { session }).sort({ _id: 1 }).limit(BATCH).toArray()
  const younger = oldest.findIndex(({ at }) => at >= moment)
  const old = younger < 0 ? oldest : oldest.slice(0, younger)
  const last = old.at(-1)
  if (!last) return 0
  const { sequence } = placeOf(last._id)
  const checkpoint = { _id: chain, sequence, mac: last.mac, removedBefore: moment }
  const signed = { ...checkpoint, seal: sealOf(key, checkpoint) }
  await checkpointsOf(db).replaceOne({ _id: chain }, signed, { upsert: true, session })
  await entries.deleteMany({ _id: { $gt, $lte: last._id } }, { session })
  return old.length
}
