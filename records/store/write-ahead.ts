import type { Filter } from 'mongodb'
import type { AuditedAccess } from './audit/audit-log.ts'
import { type BatchedLookup, createBatchedLookup } from './batching/batched-lookup.ts'
import { createBatcher } from './batching/micro-batcher.ts'
import type { Caller } from './documents/caller.ts'
import type { ParseDocument } from './documents/parse-format.ts'
import { accessesByEhr } from './resource.ts'
import { createHistoryEntry, type HistoryEntry, historyCollection, saveHistory } from './writing/history.ts'
import type { StoreContext, Transaction } from './writing/transaction.ts'

/** A write that Parse Server is about to perform. */
interface IntendedWrite {
  action: 'create' | 'update' | 'delete'
  collection: string
  id: string
  ehrId: string | null
  /** The version that the write replaces, if known. */
  version?: unknown
  /** The names of the fields that an update changes. */
  changed?: readonly string[]
}

/** @returns a function that deletes the history entry if the write did not happen */
export type WriteAheadRecorder = (
  caller: Caller,
  write: IntendedWrite,
) => Promise<(tx: Pick<Transaction, 'session'>) => Promise<unknown>>

/**
 * Adds history and audit of an update by Parse Server to the transaction of that update.
 * @returns the new version
 */
export function recordUpdate(
  tx: Pick<Transaction, 'changes' | 'accesses'>,
  by: { caller: Caller; at: Date },
  { collection, id, ehrId }: { collection: string; id: string; ehrId: string },
  { before, changed }: Pick<HistoryEntry, 'changed'> & { before: ParseDocument },
): number {
  const version = before.version + 1
  tx.changes.push(
    createHistoryEntry({ collection, id, ehrId }, by, { action: 'update', version, before, changed }),
  )
  const audited = { collection, ehr: 'ehrId' } as const
  tx.accesses.push(...accessesByEhr(audited, by.caller, { action: 'update' }, [{ id, ehrId }]))
  return version
}

/** Returns the document that Parse Server has just read for its write, if any. */
export type CachedDocumentLookup = (collection: string, id: string) => ParseDocument | undefined

/** Requests whose history entries share one command. */
const MAX_BATCH_SIZE = 500

/**
 * Records history and audit of Parse Server's writes before they happen, like a write-ahead log. So no write
 * lacks its entries. If the write fails or a crash interrupts it, its entries keep the outcome `announced`.
 * Concurrent writes share the commands for their entries.
 */
export function createWriteAheadRecorder(
  { db, clock, audit }: StoreContext,
  lastRead: CachedDocumentLookup,
): WriteAheadRecorder {
  const formers = new Map<string, BatchedLookup<ParseDocument>>()
  const kept = createBatcher<HistoryEntry>(MAX_BATCH_SIZE, (changes) => saveHistory(db, changes))

  const formerOf = (collection: string, id: string): Promise<ParseDocument | undefined> => {
    let lookup = formers.get(collection)
    if (!lookup) {
      const documents = db.collection<ParseDocument>(collection)
      const find = (ids: string[]) =>
        documents.find({ _id: { $in: ids } } as Filter<ParseDocument>).toArray() as Promise<ParseDocument[]>
      lookup = createBatchedLookup(({ _id }) => _id, find)
      formers.set(collection, lookup)
    }
    return lookup(id)
  }

  return async (caller, { action, collection, id, ehrId, version: replacedVersion, changed = [] }) => {
    const keepFormer = async (): Promise<string | undefined> => {
      const read = lastRead(collection, id)
      // The cache may still hold an older version, read for a refused write.
      const known = read !== undefined && read.version === replacedVersion ? read : undefined
      const before = action === 'create' ? null : (known ?? (await formerOf(collection, id)))
      if (before === undefined) return undefined
      const version = (before?.version ?? 0) + 1
      const write = { action, version, before, changed: [...changed], announced: true as const }
      const change = createHistoryEntry({ collection, id, ehrId }, { caller, at: clock() }, write)
      await kept.add([change])
      return change._id
    }
    const { requestId, userId, application } = caller
    const access: AuditedAccess = {
      ...{ requestId, userId, application, action, ehrId },
      type: collection,
      ids: [id],
      outcome: 'announced',
    }
    const [_id] = await Promise.all([keepFormer(), audit.record(access)])
    return async ({ session }) => _id && historyCollection(db).deleteOne({ _id }, { session })
  }
}
