import type { AggregationCursor, Db, FindCursor } from 'mongodb'
import { COMPOSITION_INDEX_KEYS, Composition } from '../../../../records/compositions/composition-record.ts'
import { documentCollection } from '../../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'
import { type Fact, type FactRange, shortKey } from '../../../compositions/facts.ts'
import { conditionsOf, type DatabaseFilter } from '../../plan/database-filters.ts'
import { UNREAD_FIELDS } from '../../scan/composition-scan.ts'
import type { SortKey } from '../../terms/terms.ts'
import { AQL_TIMEOUT_MS } from '../../timeout.ts'

/** The most milliseconds between 1970 and a time. */
export const MAX_TIME_MS = 8.64e15

/** Records in the order of a value of theirs. */
export interface OrderedStream {
  /** No row of a record still to come sorts before it. */
  readonly bound: SortKey
  /** The next records; undefined: there are no more. */
  next(): Promise<ParseDocument[] | undefined>
  close(): Promise<void>
}

/** Each composition may have 4 MB. */
const MAX_BATCH = 50
/** A page of 10, the row that shows whether there are more, and one composition that occurs twice. */
const MIN_BATCH = 12

const batchSizeFor = (neededCount: number): number => Math.min(MAX_BATCH, Math.max(MIN_BATCH, neededCount))

const firstBound = (descending: boolean): number =>
  descending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY

interface FactOrder {
  filter: DatabaseFilter
  /** The array with the facts, and its index. */
  field: 'facts' | 'times'
  place: string
  archetypeId: string | undefined
  range: FactRange
  descending: boolean
  /** The number of records that probably suffice. */
  neededCount: number
}

/**
 * Compositions in the order of their facts at a place: one window of facts after the other. A composition
 * occurs once for each of its facts. Each window repeats the facts that equal the last one before it.
 */
export class FactOrderStream implements OrderedStream {
  bound: SortKey
  readonly #db: Db
  readonly #order: FactOrder
  readonly #key: string
  readonly #conditions: readonly DatabaseFilter[]
  #size: number
  #cursor: AggregationCursor<ParseDocument> | undefined
  /** The number of facts read of the window. */
  #read = 0

  constructor(db: Db, order: FactOrder) {
    this.#db = db
    this.#order = order
    this.#key = shortKey(order.place)
    // A fact of the archetype implies the archetype, which is not part of the index.
    this.#conditions = conditionsOf(order.filter).filter(
      ({ archetypes }) => archetypes === undefined || archetypes !== order.archetypeId,
    )
    this.#size = Math.max(MIN_BATCH, order.neededCount)
    this.bound = firstBound(order.descending)
  }

  async next(): Promise<ParseDocument[] | undefined> {
    this.#cursor ??= this.#openWindow()
    const batch = await nextBatch(this.#cursor)
    if (batch) {
      this.#read += batch.length
      this.bound = (batch.at(-1)?.[this.#order.field] as Fact | undefined)?.v
      return batch
    }
    if (this.#read < this.#size) return undefined
    this.#cursor = undefined
    this.#read = 0
    this.#size *= 4
    return this.next()
  }

  #openWindow(): AggregationCursor<ParseDocument> {
    const { field, descending, range } = this.#order
    const isFirst = this.bound === firstBound(descending)
    const rest = { ...range, ...(!isFirst && { [descending ? '$lte' : '$gte']: this.bound }) }
    const v = Object.keys(rest).length > 0 ? rest : undefined
    const { [field]: _, ...unread } = UNREAD_FIELDS
    const pipeline = [
      {
        $match: {
          $and: [...this.#conditions, { [field]: { $elemMatch: { k: this.#key, ...(v && { v }) } } }],
        },
      },
      { $unwind: `$${field}` },
      { $match: { [`${field}.k`]: this.#key, ...(v && { [`${field}.v`]: v }) } },
      { $sort: { [`${field}.v`]: descending ? -1 : 1 } },
      { $limit: this.#size },
      { $project: unread },
    ]
    return documentCollection({ db: this.#db }, Composition.collection).aggregate<ParseDocument>(pipeline, {
      maxTimeMS: AQL_TIMEOUT_MS,
      // One more than the window holds ends its cursor.
      batchSize: batchSizeFor(this.#size) + 1,
      hint: COMPOSITION_INDEX_KEYS[field],
    })
  }

  async close(): Promise<void> {
    await this.#cursor?.close()
  }
}

const nestedValue = (record: unknown, field: string): unknown =>
  field
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], record)

/** The documents that the driver has in memory, or the next batch. */
async function nextBatch(
  cursor: AggregationCursor<ParseDocument> | FindCursor<ParseDocument>,
): Promise<ParseDocument[] | undefined> {
  const first = await cursor.next()
  return first ? [first, ...(cursor.readBufferedDocuments() as ParseDocument[])] : undefined
}

interface FieldOrder {
  collection: string
  filter: DatabaseFilter
  /** The field in whose order the records come; undefined: in any order. */
  field: string | undefined
  /** The records lack the value. */
  isEmpty: boolean
  descending: boolean
  hint: string | Readonly<Record<string, 1 | -1>>
  neededCount: number
}

/** Records in the order of a field, or in any order. */
export class FieldOrderStream implements OrderedStream {
  bound: SortKey
  readonly #field: string | undefined
  readonly #cursor: FindCursor<ParseDocument>

  constructor(db: Db, { collection, filter, field, isEmpty, descending, hint, neededCount }: FieldOrder) {
    const isComposition = collection === Composition.collection
    this.#field = field
    this.#cursor = documentCollection({ db }, collection)
      .find(filter, {
        maxTimeMS: AQL_TIMEOUT_MS,
        batchSize: batchSizeFor(neededCount),
        projection: isComposition ? UNREAD_FIELDS : {},
      })
      .hint(hint)
    if (field !== undefined) this.#cursor.sort({ [field]: descending ? -1 : 1 })
    this.bound = isEmpty ? undefined : firstBound(descending)
  }

  async next(): Promise<ParseDocument[] | undefined> {
    const batch = await nextBatch(this.#cursor)
    const last = this.#field === undefined ? undefined : nestedValue(batch?.at(-1), this.#field)
    if (last !== undefined) this.bound = last instanceof Date ? last.getTime() : (last as number)
    return batch
  }

  async close(): Promise<void> {
    await this.#cursor.close()
  }
}
