import type { Collection, Document } from 'mongodb'
import type { ServiceError } from '../../../schemas/errors.ts'
import { createBatcher } from '../batching/micro-batcher.ts'
import type { Permissions } from '../documents/caller.ts'
import { documentCollection, isCommitInDoubt } from '../documents/database.ts'
import { isOutage, isWriteConflict } from '../documents/outage.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import {
  findDocumentsById,
  groupByCollection,
  joinedRulesOf,
  type RecordDerivation,
  rulesLookupStages,
  writeDerivedRecords,
} from './derived-records.ts'
import { lockShared, type ReferencedRecord } from './ehr-locks.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from './transaction.ts'
import { DocumentWrites, type WriteDecision } from './write-decision.ts'

/** A record that must exist, and the error when another request has removed it. */
export interface RequiredRecord extends ReferencedRecord {
  createRemovedError(): ServiceError
}

/** The parent of a new record. It is neither closed nor removed while the record is written. */
export interface RecordParent {
  collection: 'Ehr' | 'CarePlan' | 'ChatTopic'
  /** The parent's id and further fields that must match. */
  key: { _id: string; [field: string]: string }
  /** undefined when the parent belongs to no EHR. */
  ehrId: string | undefined
  /** Read access to the parent suffices for adding records. */
  allowsReaders?: true
  /** MongoDB update of the parent for each new record; it creates no version of the parent. */
  updateOnInsert?(at: Date): Document
  /** Permissions of the new record. @throws ServiceError when the parent forbids the write */
  permissions(parentDocument: ParseDocument): Permissions
  /** A record of another collection that must still exist when the transaction commits. */
  referencedRecord?: RequiredRecord
  /** Documents that `permissions` reads in the field `as` of the parent document. */
  joined?: { from: string; localField: string; foreignField: string; as: string }
}

/** A write to one collection, decided once the records that it depends on are loaded. */
export interface WriteRequest<R> {
  /** The record to replace or remove; null when records are only added. */
  id: string | null
  parent?: RecordParent | undefined
  /** Runs again when another write came first. @throws ServiceError when the write is forbidden */
  decide(before: ParseDocument | null, parentDocument: ParseDocument | null): WriteDecision<R>
}

/** Writes per transaction: every response waits for the whole batch. */
const MAX_BATCH_SIZE = 100

/** One transaction is being committed, one waits for its commit, the next one is collected. */
const MAX_CONCURRENT_TRANSACTIONS = 3

/** The records that a write competes for: of two concurrent transactions on the same one, one would fail. */
const conflictKeysOf = ({ id, parent }: WriteRequest<unknown>): string[] =>
  [id, parent?.updateOnInsert && parent.key._id].filter((key) => typeof key === 'string')

/** Writes to one collection. Writes that arrive during a transaction share the next one. */
export class BatchWriter {
  readonly #context: StoreContext
  readonly #documents: Collection<ParseDocument>
  readonly #derivation: RecordDerivation | undefined
  readonly #batcher: WriteBatcher
  readonly #ofTransactions = new WeakMap<Transaction, WriteBatcher>()

  constructor(context: StoreContext, documents: Collection<ParseDocument>, derivation?: RecordDerivation) {
    this.#context = context
    this.#documents = documents
    this.#derivation = derivation
    this.#batcher = createBatcher(MAX_BATCH_SIZE, (writes) => this.#writeBatch(writes), {
      maxConcurrent: MAX_CONCURRENT_TRANSACTIONS,
      keysOf: conflictKeysOf,
    })
  }

  #batcherOf(tx: Transaction): WriteBatcher {
    const batcher =
      this.#ofTransactions.get(tx) ?? createBatcher(MAX_BATCH_SIZE, (writes) => this.#executeNow(tx, writes))
    this.#ofTransactions.set(tx, batcher)
    return batcher
  }

  /**
   * Writes within `tx`, with what is written there at the same time, or in a transaction shared with others. A forbidden
   * write does not affect them.
   */
  async write<R>(write: WriteRequest<R>, tx?: Transaction): Promise<R[]> {
    if (tx) return unwrapOutcome((await this.#batcherOf(tx).add(write)) as WriteOutcome<R>)
    if (write.parent?.ehrId !== undefined) await this.#context.ehrLocks.waitUntilFree(write.parent.ehrId)
    return unwrapOutcome((await this.#batcher.add(write)) as WriteOutcome<R>)
  }

  /** Writes all of them within `tx`, with one read and one write. One forbidden write fails all. */
  async writeAll<R>(writes: WriteRequest<R>[], tx: Transaction): Promise<R[][]> {
    return (await this.#executeNow(tx, writes)).map(unwrapOutcome)
  }

  /**
   * Tries all writes in one transaction. After a conflict or a failed write, the writes of each record continue in a
   * transaction of their own, which is retried; and if one of them fails again, each by itself.
   */
  async #writeBatch(
    writes: WriteRequest<unknown>[],
    retry = false,
  ): Promise<(WriteOutcome<unknown> | Promise<WriteOutcome<unknown>>)[]> {
    try {
      return await runStoreTransaction(this.#context, (tx) => this.#execute(tx, writes), { retry })
    } catch (error) {
      const isOver = isOutage(error) && (retry || !isWriteConflict(error))
      if (isCommitInDoubt(error) || isOver || (retry && writes.length === 1)) throw error
      const parts = retry ? writes.map((one) => [one]) : splitByRecord(writes)
      const outcomes = parts.flatMap((part) => {
        const partOutcomes = this.#writeBatch(part, true)
        return part.map((write, i) => [write, partOutcomes.then((results) => results[i])] as const)
      })
      const byWrite = new Map(outcomes)
      return writes.map((write) => byWrite.get(write) as Promise<WriteOutcome<unknown>>)
    }
  }

  /** Sends the writes at once, since the rest of the transaction may read them. */
  async #executeNow<R>(tx: Transaction, writes: WriteRequest<R>[]): Promise<WriteOutcome<R>[]> {
    const outcomes = await this.#execute(tx, writes)
    await tx.pending.flush()
    return outcomes
  }

  async #execute<R>(tx: Transaction, writes: WriteRequest<R>[]): Promise<WriteOutcome<R>[]> {
    const { session, changes, accesses } = tx
    const requestedParents = writes.flatMap(({ parent }) => parent ?? [])
    const { parentDocuments, references } = await this.#findParents(tx, requestedParents)
    const ids = writes.flatMap(({ id }) => id ?? [])
    for (const id of ids) tx.locks.contendFor(id)
    const documentWrites = new DocumentWrites(await findDocumentsById(this.#documents, ids, session))
    const outcomes = writes.map((write) => {
      const parentDocument = parentDocuments.get(write.parent?.key._id ?? '') ?? null
      const outcome = outcomeOf(() => write.decide(documentWrites.find(write.id ?? ''), parentDocument))
      documentWrites.add(outcome.decision?.writes)
      return outcome
    })
    const decisions = outcomes.flatMap(({ decision }) => (decision ? [decision] : []))
    if (decisions.length === 0) return outcomes
    const parents = writes.flatMap(({ parent }, i) => (parent && outcomes[i]?.decision ? [parent] : []))
    const referencedRecords = parents.flatMap(({ referencedRecord }) => referencedRecord ?? [])
    requireReferencedRecords(referencedRecords, references)
    const ehrIds = parents.flatMap(({ ehrId }) => ehrId ?? [])
    lockShared(this.#context, tx, ehrIds, referencedRecords)
    this.#updateParents(tx, parents)
    tx.pending.add(this.#documents, documentWrites.operations())
    for (const decision of decisions) {
      changes.push(...decision.changes)
      accesses.push(...decision.accesses)
    }
    if (this.#derivation) {
      const derivedWrites = decisions.flatMap((decision) => decision.derivedWrites ?? [])
      const knownRules = joinedRulesOf(this.#derivation, parentDocuments)
      await writeDerivedRecords(
        this.#context,
        tx,
        this.#derivation.rulesCollections,
        derivedWrites,
        knownRules,
      )
    }
    return outcomes
  }

  /** Updates each parent once: the update is the same for all records added at this moment. */
  #updateParents({ pending }: Transaction, parents: readonly RecordParent[]): void {
    const byId = new Map(parents.map((parent) => [parent.key._id, parent]))
    const operations = [...byId].flatMap(([_id, { updateOnInsert }]) =>
      updateOnInsert
        ? [{ updateOne: { filter: { _id }, update: updateOnInsert(this.#context.clock()) } }]
        : [],
    )
    const [first] = parents
    if (first) pending.add(documentCollection(this.#context, first.collection), operations)
  }

  /** The parents of the new records, by id, and the keys of the records that these reference, as far as they exist. */
  async #findParents(
    { session }: Transaction,
    parents: RecordParent[],
  ): Promise<{ parentDocuments: Map<string, ParseDocument>; references: Set<string> }> {
    const parentDocuments = new Map<string, ParseDocument>()
    const references = new Set<string>()
    for (const [name, ofOne] of groupByCollection(parents)) {
      const ids = ofOne.map(({ key }) => key._id)
      const documents = documentCollection(this.#context, name)
      const recordsByCollection = groupByCollection(
        ofOne.flatMap(({ referencedRecord }) => referencedRecord ?? []),
      )
      const lookups = [
        ...(this.#derivation ? rulesLookupStages(this.#derivation) : []),
        ...joinStages(ofOne),
        ...referenceStages(recordsByCollection),
      ]
      for (const [id, document] of await findDocumentsById(documents, ids, session, lookups)) {
        parentDocuments.set(id, document)
        for (const [i, [collection]] of recordsByCollection.entries())
          for (const { _id } of document[REFERENCES_FIELD + i] as { _id: string }[])
            references.add(referenceKey({ collection, id: _id }))
      }
    }
    return { parentDocuments, references }
  }
}

const joinStages = (parents: readonly RecordParent[]): Document[] => {
  const joins = new Map(parents.flatMap(({ joined }) => (joined ? [[joined.as, joined]] : [])))
  return [...joins.values()].map((join) => ({ $lookup: join }))
}

const REFERENCES_FIELD = 'references'

/** Looks up the referenced records in the query of the parents, since a second query costs more. */
const referenceStages = (recordsByCollection: [string, ReferencedRecord[]][]): Document[] =>
  recordsByCollection.flatMap(([from, records], i) => {
    const field = REFERENCES_FIELD + i
    const ids = [...new Set(records.map(({ id }) => id))]
    const pipeline = [{ $project: { _id: 1 } }]
    return [
      { $set: { [field]: ids } },
      { $lookup: { from, localField: field, foreignField: '_id', pipeline, as: field } },
    ]
  })

const referenceKey = ({ collection, id }: ReferencedRecord): string => `${collection}/${id}`

/** @throws the error of a referenced record that has been removed */
function requireReferencedRecords(records: readonly RequiredRecord[], existing: ReadonlySet<string>): void {
  const removedRecord = records.find((one) => !existing.has(referenceKey(one)))
  if (removedRecord) throw removedRecord.createRemovedError()
}

type WriteBatcher = ReturnType<typeof createBatcher<WriteRequest<unknown>, WriteOutcome<unknown>>>

/** The decision, or the error that forbids the write. */
type WriteOutcome<R> = { decision: WriteDecision<R>; error?: never } | { decision?: never; error: unknown }

function outcomeOf<R>(decide: () => WriteDecision<R>): WriteOutcome<R> {
  try {
    return { decision: decide() }
  } catch (error) {
    return { error }
  }
}

function unwrapOutcome<R>({ decision, error }: WriteOutcome<R>): R[] {
  if (decision) return decision.result
  throw error
}

/** The writes of each record, in their order; each new record by itself. */
function splitByRecord(writes: readonly WriteRequest<unknown>[]): WriteRequest<unknown>[][] {
  const parts = new Map<unknown, WriteRequest<unknown>[]>()
  for (const write of writes) {
    const record = write.id ?? write
    parts.set(record, [...(parts.get(record) ?? []), write])
  }
  return [...parts.values()]
}
