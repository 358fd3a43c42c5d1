import { type Collection, type Db, MongoServerError } from 'mongodb'
import { entriesOf } from './audit.ts'
import { endOfChain, type Head, macOf, placeOf, START, sameMac, startOfChain } from './audit-chain.ts'

/** Where a chain begins since its older entries were removed: behind this head. */
interface Checkpoint extends Head {
  /** The chain. */
  _id: string
  removedBefore: Date
  /** Mac over all of the above. */
  seal: string
}

/** A name that no Parse class can have. */
const checkpointsOf = (db: Db): Collection<Checkpoint> =>
  db.collection<Checkpoint>('audit.checkpoints', { writeConcern: { w: 'majority', journal: true } })

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

/**
 * Removes the entries from before a moment, of each chain up to the first one that is younger. A signed checkpoint
 * takes their place first, so that the chain still verifies, whenever this is interrupted.
 * @returns how many were removed
 */
export async function removeEntriesBefore(db: Db, key: string, moment: Date): Promise<number> {
  const entries = entriesOf(db)
  let removed = 0
  let first = await entries.findOne({}, { sort: { _id: 1 } })
  while (first) {
    const { chain } = placeOf(first._id)
    removed += await shorten(db, key, chain, moment)
    first = await entries.findOne({ _id: { $gt: endOfChain(chain) } }, { sort: { _id: 1 } })
  }
  return removed
}

async function shorten(db: Db, key: string, chain: string, moment: Date): Promise<number> {
  const entries = entriesOf(db)
  const $gt = startOfChain(chain)
  const $lt = endOfChain(chain)
  const younger = await entries.findOne({ _id: { $gt, $lt }, at: { $gte: moment } }, { sort: { _id: 1 } })
  const last = await entries.findOne({ _id: { $gt, $lt: younger?._id ?? $lt } }, { sort: { _id: -1 } })
  if (!last) return 0
  await advance(db, key, {
    _id: chain,
    sequence: placeOf(last._id).sequence,
    mac: last.mac,
    removedBefore: moment,
  })
  const { deletedCount } = await entries.deleteMany({ _id: { $gt, $lte: last._id } })
  return deletedCount
}

/** Moves a chain's checkpoint, and never back: several instances may remove entries at once. */
async function advance(db: Db, key: string, { _id, ...to }: Omit<Checkpoint, 'seal'>): Promise<void> {
  const $set = { ...to, seal: sealOf(key, { _id, ...to }) }
  try {
    await checkpointsOf(db).updateOne({ _id, sequence: { $lt: to.sequence } }, { $set }, { upsert: true })
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === 11000)) throw error
  }
}
