import type { Access } from './audit.ts'
import type { Caller } from './caller.ts'
import { changeOf, keepChanges } from './history.ts'
import type { ParseDocument } from './parse-format.ts'
import type { Records } from './transaction.ts'

/** A write that Parse Server is about to do. */
export interface AnnouncedWrite {
  action: 'create' | 'update' | 'delete'
  collection: string
  /** Of a creation, where Parse has given no id yet: null. */
  id: string | null
  ehrId: string | null
  /** The names of the fields that the write sets. */
  changed: string[]
}

/**
 * Keeps history and audit of a write that another part does, before it does it: what is announced and then fails, or
 * is cut short by a crash, stays announced; no write goes without its entries.
 */
export async function announceWrite(records: Records, caller: Caller, write: AnnouncedWrite): Promise<void> {
  const { action, collection, id, ehrId, changed } = write
  const { requestId, userId, application } = caller
  const ids = id === null ? [] : [id]
  const access: Access = {
    requestId,
    userId,
    application,
    action,
    ehrId,
    type: collection,
    ids,
    outcome: 'announced',
  }
  await Promise.all([records.audit.record(access), keepFormer()])

  async function keepFormer(): Promise<void> {
    const documents = records.db.collection<ParseDocument>(collection)
    const before = id === null ? null : ((await documents.findOne({ _id: id })) as ParseDocument | null)
    if (!before) return
    const by = { caller, at: records.clock() }
    const version = before.version + 1
    await keepChanges(records.db, [
      changeOf(collection, before._id, by, { action, version, before, changed, announced: true }),
    ])
  }
}
