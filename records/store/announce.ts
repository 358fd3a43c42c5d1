import type { Filter } from 'mongodb'
import type { Access } from './audit/trail.ts'
import { createGroups } from './batching/group.ts'
import { createLookup, type Lookup } from './batching/lookup.ts'
import type { Caller } from './documents/caller.ts'
import type { ParseDocument } from './documents/parse-format.ts'
import { type Change, changeOf, keepChanges } from './writing/history.ts'
import type { Records } from './writing/transaction.ts'

/** A write that Parse Server is about to do. */
interface AnnouncedWrite {
  action: 'create' | 'update' | 'delete'
  collection: string
  id: string
  ehrId: string | null
  /** The version that the write replaces, as far as it is known. */
  version?: unknown
  /** The names of the fields that the write sets. */
  changed: readonly string[]
}

export type Announce = (caller: Caller, write: AnnouncedWrite) => Promise<void>

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

  return async (caller, { action, collection, id, ehrId, version: replaced, changed }) => {
    const keepFormer = async (): Promise<void> => {
      const read = lastRead(collection, id)
      // An older one may be left of a write that was refused.
      const known = read !== undefined && read.version === replaced ? read : undefined
      const before = action === 'create' ? null : (known ?? (await formerOf(collection, id)))
      if (before === undefined) return
      const version = (before?.version ?? 0) + 1
      const write = { action, version, before, changed: [...changed], announced: true as const }
      await kept.add([changeOf({ collection, id, ehrId }, { caller, at: clock() }, write)])
    }
    const { requestId, userId, application } = caller
    const access: Access = {
      ...{ requestId, userId, application, action, ehrId },
      type: collection,
      ids: [id],
      outcome: 'announced',
    }
    await Promise.all([audit.record(access), keepFormer()])
  }
}
