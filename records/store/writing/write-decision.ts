import type { AnyBulkWriteOperation } from 'mongodb'
import type { AuditedAccess } from '../audit/audit-log.ts'
import type { Caller } from '../documents/caller.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { HistoryEntry } from './history.ts'
import type { StoreContext, Transaction } from './transaction.ts'

/** The effects of a write, computed once the records that it depends on are loaded. */
export interface WriteDecision<R> {
  writes: DocumentWrite[]
  changes: HistoryEntry[]
  accesses: AuditedAccess[]
  /** Derived records that the write may affect. */
  derivedWrites?: DerivedWrite[]
  /** The written records; of a removal those before it. */
  result: R[]
}

/** The documents of rules of a parent, by collection. */
export type ParentRules = Readonly<Record<string, ParseDocument | null | undefined>>

/** A write of a derived record, decided once the rules and the record itself are loaded. */
export interface DerivedWrite {
  collection: string
  /** The id, or those that follow from the rules. */
  id: string | ((rules: ParentRules, at: Date) => string[])
  /** Id of the parent, which is also the id of the rules. */
  parentId: string
  /** The record has no derived record yet, because it is new. */
  isNew: boolean
  /** Returns undefined when nothing has to be written. */
  decide(state: DerivedState): Omit<WriteDecision<unknown>, 'result'> | undefined
  /** Hides the contents of the record when it is removed, and shows them when it returns. */
  moveContents?(context: StoreContext, tx: Transaction, isRemoved: boolean): Promise<void>
}

/** The version of a record that is created now; one that was deleted continues its versions. */
export interface FirstVersion {
  version: number
  /** By default now. */
  createdAt?: Date
  /** Time and author of a version that was shown before it is stored; by default now, and the caller. */
  commit?: { at: Date; caller: Caller }
  /** The last version before the deletion. */
  deleted?: ParseDocument
  /** The version that returns. */
  former?: ParseDocument
}

/** The inputs on which the write of a derived record depends. */
export interface DerivedState {
  document: ParseDocument | null
  rules: ParentRules
  at: Date
  first: FirstVersion
}

/** The write of a document; if it does not affect this one, the transaction fails. */
export interface DocumentWrite {
  id: string
  /** Matches the document that was loaded; undefined if there was none. */
  filter: object | undefined
  /** null: the document is removed. */
  document: ParseDocument | null
}

/**
 * The writes of a transaction to some documents of a collection. A decision sees the document that the decisions before
 * it have left, and the database gets only the last one.
 */
export class DocumentWrites {
  readonly #loaded: ReadonlyMap<string, ParseDocument>
  readonly #writes = new Map<string, DocumentWrite>()
  readonly #repeated: DocumentWrite[] = []

  constructor(loadedDocuments: ReadonlyMap<string, ParseDocument>) {
    this.#loaded = loadedDocuments
  }

  find(id: string): ParseDocument | null {
    const write = this.#writes.get(id)
    return write ? write.document : (this.#loaded.get(id) ?? null)
  }

  add(writes: readonly DocumentWrite[] = []): void {
    for (const write of writes) {
      const earlier = this.#writes.get(write.id)
      // A repeated id: the database reports it for the transaction, as for an id that was there before.
      if (!write.filter && earlier?.document) this.#repeated.push(write)
      else this.#writes.set(write.id, earlier ? { ...write, filter: earlier.filter } : write)
    }
  }

  /** The writes for the database, which reports a repeated id, and that a document has changed since it was loaded. */
  operations(): AnyBulkWriteOperation<ParseDocument>[] {
    return [...this.#writes.values(), ...this.#repeated].flatMap(toOperation)
  }
}

function toOperation({ filter, document }: DocumentWrite): AnyBulkWriteOperation<ParseDocument>[] {
  if (!filter) return document ? [{ insertOne: { document } }] : []
  return [document ? { replaceOne: { filter, replacement: document } } : { deleteOne: { filter } }]
}
