import type { UpdateFilter } from 'mongodb'
import { lockEhrExclusively } from '../ehr-records/parents.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { recordUpdate } from '../store/write-ahead.ts'
import { runStoreTransaction, type StoreContext } from '../store/writing/transaction.ts'

type MetaField = '_id' | 'version' | '_created_at' | '_updated_at' | '_rperm' | '_wperm' | '_acl'
type ClosableDocument = Pick<ParseDocument, MetaField> & { status: string }

interface ObjectClosing {
  className: 'CarePlan' | 'Goal' | 'Task'
  id: string
  ehrId: string
  /** The fields to write, by their stored names; undefined removes one. */
  fields: Record<string, unknown>
}

/**
 * Closes an object of the class family in one transaction, with its client's changes, its history and its
 * audit entry. If several requests of either family close it at the same time, one of them succeeds.
 * @returns the new version; undefined when it is closed already
 */
export function closeObject(
  records: StoreContext,
  caller: Caller,
  { className, id, ehrId, fields }: ObjectClosing,
): Promise<number | undefined> {
  const at = records.clock()
  const update = buildClosingUpdate(fields, at)
  return runStoreTransaction(records, async (tx) => {
    const { session } = tx
    tx.locks.contendFor(id)
    const documents = records.db.collection<ClosableDocument>(className)
    const before = await documents.findOneAndUpdate({ _id: id, status: 'ACTIVE' }, update, { session })
    if (!before) return undefined
    await lockEhrExclusively(records, tx, ehrId)
    const change = { before: before as ParseDocument, changed: Object.keys(fields).sort() }
    return recordUpdate(tx, { caller, at }, { collection: className, id, ehrId }, change)
  })
}

function buildClosingUpdate(fields: Record<string, unknown>, at: Date): UpdateFilter<ClosableDocument> {
  const removed = Object.keys(fields).filter((name) => fields[name] === undefined)
  const set = Object.entries(fields).filter(([, value]) => value !== undefined)
  return {
    $set: Object.fromEntries([...set, ['_updated_at', at]]),
    $unset: Object.fromEntries(removed.map((name) => [name, '' as const])),
    $inc: { version: 1 },
  }
}
