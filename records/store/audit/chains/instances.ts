import type { Collection, Db } from 'mongodb'
import { isDuplicateKeyError } from '../../documents/database.ts'
import { type ChainHead, computeMac, isSameMac } from './chain.ts'

/** One run of the service, numbered from 1 without gaps. */
export interface AuditInstance {
  _id: number
  startedAt: Date
  /** MAC over number, start time and the previous instance's opening: none can be removed unnoticed. */
  opening: string
  /** The head of each chain; at most a second old while the instance runs. */
  heads: Array<ChainHead & { chain: string }>
  headsAt: Date
  /** MAC over the heads, so that no chain can be truncated before them. */
  seal: string
  endedAt?: Date
  /** Set on the first run with a new AUDIT_KEY: the former key was known or lost at that time. */
  formerKey?: 'known' | 'lost'
}

export const auditInstanceCollection = (db: Db): Collection<AuditInstance> =>
  db.collection<AuditInstance>('audit.instances')

export function macOfOpening(
  key: string,
  previous: string,
  { _id, startedAt, formerKey }: Pick<AuditInstance, '_id' | 'startedAt' | 'formerKey'>,
) {
  const former = formerKey === undefined ? [] : [formerKey]
  return computeMac(key, ['opening', previous, _id, startedAt, ...former])
}

export function macOfHeads(
  key: string,
  { _id, heads, headsAt }: Pick<AuditInstance, '_id' | 'heads' | 'headsAt'>,
) {
  const headValues = heads.map(({ chain, sequence, mac }) => [chain, sequence, mac])
  return computeMac(key, ['seal', _id, headValues, headsAt])
}

/** Malformed heads count as unsigned: an attacker may have written anything. */
export function hasValidHeadsMac(key: string, instance: AuditInstance): boolean {
  try {
    return isSameMac(instance.seal, macOfHeads(key, instance))
  } catch {
    return false
  }
}

/** Whether this key signed a run since the last change of AUDIT_KEY. Any key may start an empty registry. */
export async function isAuditKey(db: Db, key: string): Promise<boolean> {
  let last: AuditInstance | undefined
  for await (const run of auditInstanceCollection(db).find().sort({ _id: -1 })) {
    if (hasValidHeadsMac(key, run)) return true
    last = run
    if (run.formerKey !== undefined) break
  }
  return last === undefined
}

/**
 * Registers a new run. Of two that start at the same time, each gets a number of its own.
 * @throws Error when AUDIT_KEY differs from that of the last runs, also right after a change
 */
export async function registerInstance(db: Db, key: string, startedAt: Date): Promise<number> {
  const instances = auditInstanceCollection(db)
  for (;;) {
    const last = await instances.findOne({}, { sort: { _id: -1 } })
    if (!(await isAuditKey(db, key))) throw new Error('The audit was written with another AUDIT_KEY')
    const instance = { _id: (last?._id ?? 0) + 1, startedAt, heads: [], headsAt: startedAt }
    const opening = macOfOpening(key, last?.opening ?? '', instance)
    try {
      await instances.insertOne({ ...instance, opening, seal: macOfHeads(key, instance) })
      return instance._id
    } catch (error) {
      if (!isDuplicateKeyError(error)) throw error
    }
  }
}

/** Signs the current heads of an instance. @throws Error when its record is missing from the registry */
export async function signHeads(
  db: Db,
  key: string,
  instance: Pick<AuditInstance, '_id' | 'heads' | 'headsAt'> & { endedAt?: Date },
): Promise<void> {
  const { _id, ...heads } = instance
  const { matchedCount } = await auditInstanceCollection(db).updateOne(
    { _id },
    { $set: { ...heads, seal: macOfHeads(key, instance) } },
  )
  if (matchedCount === 0) throw new Error(`The audit entry for instance ${_id} is missing.`)
}
