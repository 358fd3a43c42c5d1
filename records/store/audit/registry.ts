import type { Collection, Db } from 'mongodb'
import { isDuplicate } from '../documents/database.ts'
import { type Head, macOf } from './chain.ts'

/** One run of the service, in the registry of all runs: numbered from 1 without a gap. */
export interface Instance {
  _id: number
  startedAt: Date
  /** Mac over number, time and the opening of the instance before: none can be left out. */
  opening: string
  /** How far each of its chains had come when it last said so: at most a second ago while it runs. */
  heads: Array<Head & { chain: string }>
  headsAt: Date
  /** Mac over the heads: no chain can be cut off behind them. */
  seal: string
  endedAt?: Date
}

/** A name that no Parse class can have. */
export const instancesOf = (db: Db): Collection<Instance> => db.collection<Instance>('audit.instances')

export function openingOf(
  key: string,
  previous: string,
  { _id, startedAt }: Pick<Instance, '_id' | 'startedAt'>,
) {
  return macOf(key, ['opening', previous, _id, startedAt])
}

export function sealOf(key: string, { _id, heads, headsAt }: Pick<Instance, '_id' | 'heads' | 'headsAt'>) {
  return macOf(key, ['seal', _id, heads.map(({ chain, sequence, mac }) => [chain, sequence, mac]), headsAt])
}

/** Enters a new run in the registry and gives its number; of two that start at once each gets its own. */
export async function register(db: Db, key: string, startedAt: Date): Promise<number> {
  const instances = instancesOf(db)
  for (;;) {
    const last = await instances.findOne({}, { sort: { _id: -1 } })
    const begun = { _id: (last?._id ?? 0) + 1, startedAt, heads: [], headsAt: startedAt }
    const opening = openingOf(key, last?.opening ?? '', begun)
    try {
      await instances.insertOne({ ...begun, opening, seal: sealOf(key, begun) })
      return begun._id
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
  }
}

/** Signs how far an instance's chains have come. @throws when its record was removed from the registry. */
export async function signHeads(
  db: Db,
  key: string,
  signed: Pick<Instance, '_id' | 'heads' | 'headsAt'> & { endedAt?: Date },
): Promise<void> {
  const { _id, ...heads } = signed
  const { matchedCount } = await instancesOf(db).updateOne(
    { _id },
    { $set: { ...heads, seal: sealOf(key, signed) } },
  )
  if (matchedCount === 0) throw new Error(`The audit's record of instance ${_id} is gone.`)
}
