import type { ClientSession, Collection, Filter, FindOptions } from 'mongodb'
import { createBatcher } from '../batching/micro-batcher.ts'
import type { ParseDocument } from '../documents/parse-format.ts'

/** Further lookups go into the next query, so that a document does not wait for too many others. */
const MAX_LOOKUPS_PER_QUERY = 50
/** A caller with more roles has a query of its own, so that a shared one stays far below the 16 MB of a command. */
const MAX_SHARED_READERS = 200

/** How to look up a document. */
export interface DocumentSelector {
  id: string
  /** The id and further conditions, the permitted readers among them. */
  filter: Filter<ParseDocument>
}

interface LookupOptions {
  /** Fields that the document lacks. */
  without: readonly string[]
  /** Of the transaction that the lookup joins, with a query of its own. */
  session: ClientSession | undefined
}

type FindDocument = (selector: DocumentSelector) => Promise<ParseDocument | undefined>

/**
 * Finds documents by id and further conditions, like a data loader: lookups of the same moment, or during a query, share
 * the next one. The callers of one query may share a document, so a caller checks that its own conditions hold.
 */
export class DocumentLookup {
  readonly #documents: Collection<ParseDocument>
  /** By the fields to leave out. */
  readonly #batches = new Map<string, FindDocument>()

  constructor(documents: Collection<ParseDocument>) {
    this.#documents = documents
  }

  /** @throws Unavailable when it waits too long */
  find(selector: DocumentSelector, { without, session }: LookupOptions): Promise<ParseDocument | undefined> {
    if (session) return this.#findOne(selector, { ...leaveOut(without), session })
    if (countReaders(selector) > MAX_SHARED_READERS) return this.#findOne(selector, leaveOut(without))
    const key = without.join()
    const find = this.#batches.get(key) ?? this.#startBatches(leaveOut(without))
    this.#batches.set(key, find)
    return find(selector)
  }

  #startBatches(options: FindOptions): FindDocument {
    const { add } = createBatcher<DocumentSelector, ParseDocument | undefined>(
      MAX_LOOKUPS_PER_QUERY,
      (selectors) => this.#findAll(selectors, options),
    )
    return add
  }

  async #findOne({ filter }: DocumentSelector, options: FindOptions): Promise<ParseDocument | undefined> {
    return (await this.#documents.findOne(filter, options)) ?? undefined
  }

  /** The driver and the database take less time for one document without alternatives. */
  async #findAll(
    selectors: DocumentSelector[],
    options: FindOptions,
  ): Promise<(ParseDocument | undefined)[]> {
    if (selectors.length === 1) return Promise.all(selectors.map((one) => this.#findOne(one, options)))
    const filter = { $or: selectors.map((one) => one.filter) }
    const documents = await this.#documents.find(filter, options).toArray()
    const byId = new Map(documents.map((document) => [document._id, document]))
    return selectors.map(({ id }) => byId.get(id))
  }
}

const leaveOut = (names: readonly string[]): FindOptions =>
  names.length > 0 ? { projection: Object.fromEntries(names.map((name) => [name, 0])) } : {}

const countReaders = ({ filter }: DocumentSelector): number => {
  const { $in: readers = [] } = (filter._rperm ?? {}) as { $in?: unknown[] }
  return readers.length
}
