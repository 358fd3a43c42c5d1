import type { UpdateFilter } from 'mongodb'
import { takeTurn } from '../registered/into.ts'
import { noteUpdate } from '../store/announce.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { inTransaction, type Records } from '../store/writing/transaction.ts'

type Kept = '_id' | 'version' | '_created_at' | '_updated_at' | '_rperm' | '_wperm' | '_acl'
type Closable = Pick<ParseDocument, Kept> & { status: string }

interface Closing {
  className: 'CarePlan' | 'Goal' | 'Task'
  id: string
  ehrId: string
  /** What is written with it, by the names of the stored fields; undefined removes one. */
  fields: Record<string, unknown>
}

/**
 * Closes an object of the class family with all that its client wrote, its history and its audit entry, together or
 * not at all. Of those who close it at the same instant, in either family, one succeeds.
 * @returns the version that it made; undefined when it is closed already
 */
export function closeObject(
  records: Records,
  caller: Caller,
  { className, id, ehrId, fields }: Closing,
): Promise<number | undefined> {
  const at = records.clock()
  const update = closingUpdate(fields, at)
  return inTransaction(records, async (tx) => {
    const { session } = tx
    tx.turn.meet(id)
    const documents = records.db.collection<Closable>(className)
    const before = await documents.findOneAndUpdate({ _id: id, status: 'ACTIVE' }, update, { session })
    if (!before) return undefined
    await takeTurn(records, tx, ehrId)
    const change = { before: before as ParseDocument, changed: Object.keys(fields).sort() }
    return noteUpdate(tx, { caller, at }, { collection: className, id, ehrId }, change)
  })
}

function closingUpdate(fields: Record<string, unknown>, at: Date): UpdateFilter<Closable> {
  const removed = Object.keys(fields).filter((name) => fields[name] === undefined)
  const set = Object.entries(fields).filter(([, value]) => value !== undefined)
  return {
    $set: Object.fromEntries([...set, ['_updated_at', at]]),
    $unset: Object.fromEntries(removed.map((name) => [name, '' as const])),
    $inc: { version: 1 },
  }
}
