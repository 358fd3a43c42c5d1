import type { AnyBulkWriteOperation, ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { AuditedAccess } from '../audit/audit-log.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { HistoryEntry } from './history.ts'

/** The effects of a write, computed once the records that it depends on are loaded. */
export interface WriteDecision<R> {
  /** Each operation must affect one document; otherwise the transaction fails. */
  operations: DocumentOperation[]
  changes: HistoryEntry[]
  accesses: AuditedAccess[]
  /** Derived records that the write may affect. */
  derivedWrites?: DerivedWrite[]
  /** The written records; of a removal those before it. */
  result: R[]
}

/** A write of a derived record, decided once the rules and the record itself are loaded. */
export interface DerivedWrite {
  collection: string
  id: string
  /** Id of the parent, which is also the id of the rules. */
  parentId: string
  /** The record has no derived record yet, because it is new. */
  isNew: boolean
  /** Returns undefined when nothing has to be written. */
  decide(state: DerivedState): Omit<WriteDecision<unknown>, 'result'> | undefined
}

/** What the write of a derived record depends on. */
export interface DerivedState {
  found: ParseDocument | null
  rules: ParseDocument | null
  at: Date
  /** The version of a record that is created now; one that was deleted continues its versions. */
  firstVersion: number
}

/** Operations of decisions; each concerns one document. */
export type DocumentOperation = Extract<
  AnyBulkWriteOperation<ParseDocument>,
  { insertOne: unknown } | { replaceOne: unknown } | { deleteOne: unknown }
>

interface WrittenDocument {
  /** Matches the document that was loaded; undefined if there was none. */
  filter: object | undefined
  current: ParseDocument | null
}

/**
 * The writes of a transaction to some documents of a collection. A decision sees the document that the decisions before
 * it have left, and the database gets only the last one.
 */
export class DocumentWrites {
  readonly #loaded: ReadonlyMap<string, ParseDocument>
  readonly #written = new Map<string, WrittenDocument>()
  readonly #repeated: DocumentOperation[] = []

  constructor(loaded: ReadonlyMap<string, ParseDocument>) {
    this.#loaded = loaded
  }

  find(id: string): ParseDocument | null {
    const written = this.#written.get(id)
    return written ? written.current : (this.#loaded.get(id) ?? null)
  }

  apply(operations: readonly DocumentOperation[]): void {
    for (const operation of operations) {
      const [id, filter, current] = effectOf(operation)
      const earlier = this.#written.get(id)
      // A repeated id: the database reports it for the transaction, as for an id that was there before.
      if (!filter && earlier?.current) this.#repeated.push(operation)
      else this.#written.set(id, { filter: earlier ? earlier.filter : filter, current })
    }
  }

  /** @throws Conflict when a document has changed since it was loaded; MongoServerError for a repeated id */
  async save(documents: Collection<ParseDocument>, session: ClientSession): Promise<void> {
    const operations = [...[...this.#written.values()].flatMap(toOperation), ...this.#repeated]
    if (operations.length === 0) return
    const done = await documents.bulkWrite(operations, { session, ordered: false })
    if (done.insertedCount + done.matchedCount + done.deletedCount < operations.length)
      throw new ServiceError('Conflict', {
        detail: 'Another request changed the record at the same time. Read it again and retry.',
      })
  }
}

function effectOf(
  operation: DocumentOperation,
): [id: string, filter: object | undefined, current: ParseDocument | null] {
  if ('insertOne' in operation) {
    const document = operation.insertOne.document as ParseDocument
    return [document._id, undefined, document]
  }
  const { filter, replacement = null } =
    'replaceOne' in operation
      ? (operation.replaceOne as { filter: { _id: string }; replacement: ParseDocument })
      : { filter: operation.deleteOne.filter as { _id: string } }
  return [filter._id, filter, replacement]
}

function toOperation({ filter, current }: WrittenDocument): AnyBulkWriteOperation<ParseDocument>[] {
  if (!filter) return current ? [{ insertOne: { document: current } }] : []
  return [current ? { replaceOne: { filter, replacement: current } } : { deleteOne: { filter } }]
}
