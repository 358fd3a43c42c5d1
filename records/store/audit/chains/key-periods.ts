import type { Db } from 'mongodb'
import { auditInstanceCollection, hasValidHeadsMac } from './instances.ts'

/** The runs of the service between two changes of AUDIT_KEY. */
export interface KeyPeriod {
  from: number
  to: number
  /** The key of these runs; undefined when it is not available. */
  key: string | undefined
  /** The key was already lost when it was changed. */
  lost: boolean
}

/**
 * Splits the registry at each change of AUDIT_KEY. The last period gets the current key. An earlier one gets
 * the former key that signed any of its runs: so a manipulated run does not hide the others.
 */
export async function readKeyPeriods(
  db: Db,
  key: string,
  formerKeys: readonly string[],
): Promise<KeyPeriod[]> {
  let period: KeyPeriod = { from: 1, to: 1, key: undefined, lost: false }
  const periods = [period]
  for await (const run of auditInstanceCollection(db).find().sort({ _id: 1 })) {
    if (run.formerKey !== undefined && run._id > 1) {
      period.lost = run.formerKey === 'lost'
      period = { from: run._id, to: run._id, key: undefined, lost: false }
      periods.push(period)
    }
    period.to = run._id
    period.key ??= formerKeys.find((former) => hasValidHeadsMac(former, run))
  }
  // A new run may start at any moment.
  Object.assign(period, { key, to: Number.POSITIVE_INFINITY })
  return periods
}
