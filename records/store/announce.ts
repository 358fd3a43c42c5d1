import type { Filter } from 'mongodb'
import type { Access } from './audit/trail.ts'
import { createGroups } from './batching/group.ts'
import { createLookup, type Lookup } from './batching/lookup.ts'
import type { Caller } from './documents/caller.ts'
import type { ParseDocument } from './documents/parse-format.ts'
import { accessesOf } from './resource.ts'
import { type Change, changeOf, changesOf, keepChanges } from './writing/history.ts'
import type { Records, Transaction } from './writing/transaction.ts'

/** A write that Parse Server is about to do. */
interface AnnouncedWrite {
  action: 'create' | 'update' | 'delete'
  collection: string
  id: string
  ehrId: string | null
  /** The version that the write replaces, as far as it is known. */
  version?: unknown
  /** The names of the fields that an update changes. */
  changed?: readonly string[]
}

/** @returns what takes back the history of a write that did not happen */
export type Announce = (
  caller: Caller,
  write: AnnouncedWrite,
) => Promise<(tx: Pick<Transaction, 'session'>) => Promise<unknown>>

/** Keeps history and audit of an update that another part does, in the transaction of that. @returns the version that it makes */
export function noteUpdate(
  tx: Pick<Transaction, 'changes' | 'accesses'>,
  by: { caller: Caller; at: Date },
  { collection, id, ehrId }: { collection: string; id: string; ehrId: string },
  { before, changed }: Pick<Change, 'changed'> & { before: ParseDocument },
): number {
  const version = before.version + 1
  tx.changes.push(changeOf({ collection, id, ehrId }, by, { action: 'update', version, before, changed }))
  const audited = { collection, ehr: 'ehrId' } as const
  tx.accesses.push(...accessesOf(audited, by.caller, { action: 'update' }, [{ id, ehrId }]))
  return version
}

/** What the part that writes has just read of an object, if it has. */
export type LastRead = (collection: string, id: string) => ParseDocument | undefined

/** Requests whose former versions are kept in one command. */
const GROUP = 500

/**
 * Keeps history and audit of writes that another part does, before it does them: what is announced and then fails, or
 * is cut short by a crash, stays announced; no write goes without its entries. Writes that are announced together
 * share their commands.
 */
export function announcer({ db, clock, audit }: Records, lastRead: LastRead): Announce {
  const formers = new Map<string, Lookup<ParseDocument>>()
  const kept = createGroups<Change>(GROUP, (changes) => keepChanges(db, changes))

  const formerOf = (collection: string, id: string): Promise<ParseDocument | undefined> => {
    let lookup = formers.get(collection)
    if (!lookup) {
      const documents = db.collection<ParseDocument>(collection)
      const find = (ids: string[]) =>
        documents.find({ _id: { $in: ids } } as Filter<ParseDocument>).toArray() as Promise<ParseDocument[]>
      lookup = createLookup(({ _id }) => _id, find)
      formers.set(collection, lookup)
    }
    return lookup(id)
  }

  return async (caller, { action, collection, id, ehrId, version: replaced, changed = [] }) => {
    const keepFormer = async (): Promise<string | undefined> => {
      const read = lastRead(collection, id)
      // An older one may be left of a write that was refused.
      const known = read !== undefined && read.version === replaced ? read : undefined
      const before = action === 'create' ? null : (known ?? (await formerOf(collection, id)))
      if (before === undefined) return undefined
      const version = (before?.version ?? 0) + 1
      const write = { action, version, before, changed: [...changed], announced: true as const }
      const change = changeOf({ collection, id, ehrId }, { caller, at: clock() }, write)
      await kept.add([change])
      return change._id
    }
    const { requestId, userId, application } = caller
    const access: Access = {
      ...{ requestId, userId, application, action, ehrId },
      type: collection,
      ids: [id],
      outcome: 'announced',
    }
    const [_id] = await Promise.all([keepFormer(), audit.record(access)])
    return async ({ session }) => _id && changesOf(db).deleteOne({ _id }, { session })
  }
}
