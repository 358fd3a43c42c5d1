import type { Admission } from './admission/admission-control.ts'
import { TimeSlice } from './time-slice.ts'

const VALUE_BYTES = 8

/** Estimates the bytes of a value in BSON or JSON, well enough to keep large ones out of memory. */
function estimateBytes(value: unknown): number {
  if (typeof value === 'string') return VALUE_BYTES + value.length
  if (typeof value !== 'object' || value === null || value instanceof Date) return VALUE_BYTES
  let bytes = VALUE_BYTES
  // Lists of entries would take a thirtieth of a list's time.
  for (const name in value) bytes += name.length + estimateBytes((value as Record<string, unknown>)[name])
  return bytes
}

/** Bytes of the documents of one response. */
export const MAX_RESPONSE_MEGABYTES = 16

/** The bytes that a request may still read. */
export class ReadBudget {
  #bytesLeft: number

  constructor(megabytes = MAX_RESPONSE_MEGABYTES) {
    this.#bytesLeft = megabytes * 1024 * 1024
  }

  get isUsedUp(): boolean {
    return this.#bytesLeft <= 0
  }

  /** Counts documents. @returns whether they are the last ones within the budget */
  isUsedUpBy(...documents: readonly object[]): boolean {
    for (const document of documents) this.#bytesLeft -= estimateBytes(document)
    return this.isUsedUp
  }
}

/** Limits of what one request reads. */
export interface ReadLimits {
  slice: TimeSlice
  budget: ReadBudget
}

/** @param caller what has the admission of its request; none: the service itself */
export const createReadLimits = ({ admission }: { admission?: Pick<Admission, 'pause'> }): ReadLimits => ({
  slice: new TimeSlice({ admission }),
  budget: new ReadBudget(),
})

/** The documents of a list, as far as they were read. */
export interface ReadList<T> {
  documents: T[]
  /** They are too large for one response, and there may be more of them. */
  isCut: boolean
}

/** Fewer documents could not show that there are more. */
const MIN_DOCUMENTS = 2

/** A cursor of the driver, as far as lists are read from it. */
export interface DocumentCursor<T> extends AsyncIterable<T> {
  readBufferedDocuments(most: number): T[]
  /** Converts each document while it is awaited. */
  transform?: unknown
}

/** Documents that have arrived are read together, since waiting for one takes as long as reading it. */
const DOCUMENTS_AT_ONCE = 20

/** The documents of a cursor, few by few. */
export async function* readInBatches<T>(cursor: DocumentCursor<T>): AsyncIterable<T[]> {
  for await (const first of cursor)
    yield cursor.transform ? [first] : [first, ...cursor.readBufferedDocuments(DOCUMENTS_AT_ONCE - 1)]
}

/**
 * Reads documents few by few, so that others run in between, until the budget is used up.
 * @param limits undefined in a transaction: nobody must wait for its locks, and its decisions need all documents
 */
export async function readDocuments<T extends object>(
  documentCursor: DocumentCursor<T>,
  limits: ReadLimits | undefined,
): Promise<ReadList<T>> {
  const documents: T[] = []
  for await (const batch of readInBatches(documentCursor)) {
    for (const document of batch) {
      documents.push(document)
      if (limits?.budget.isUsedUpBy(document) && documents.length >= MIN_DOCUMENTS)
        return { documents, isCut: true }
    }
    if (limits?.slice.isOver()) await limits.slice.yieldToOthers()
  }
  return { documents, isCut: false }
}

/**
 * The number of items of a page that is merged from several sorted lists.
 * @param limit the requested number; each list may have one document more
 */
export const limitOfPage = (limit: number, lists: readonly ReadList<unknown>[]): number =>
  Math.min(limit, ...lists.map(({ documents, isCut }) => (isCut ? documents.length - 1 : limit)))
