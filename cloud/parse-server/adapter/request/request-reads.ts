import Parse from 'parse/node'
import type { Admission } from '../../../../records/limits/admission/admission-control.ts'
import {
  type DocumentCursor,
  MAX_RESPONSE_MEGABYTES,
  ReadBudget,
  readInBatches,
} from '../../../../records/limits/read-limits.ts'
import { mapInSlices, TimeSlice } from '../../../../records/limits/time-slice.ts'
import { QUERY_TIMEOUT_MESSAGE } from '../database-errors.ts'

/** Reads of one request that run at the same time: the parts of a batch must not keep others from the database. */
const MAX_CONCURRENT_READS = 2
/** Objects of all lists of a request: those of a batch whose parts have the usual limit. */
const MAX_OBJECTS = 5_000

/** Parse Server's wrapper of a collection, as far as it reads lists. */
export interface ListCollection {
  _mongoCollection: {
    collectionName: string
    find(...args: never[]): DocumentCursor<object>
    distinct(...args: never[]): Promise<unknown[]>
  }
  find(query: object, options: object): Promise<object[]>
}

export interface RequestReadLimits {
  /** Remaining time for the database in milliseconds. @throws DeadlineExceeded */
  timeLeft(): number
  admission: Admission
  /** False for a class whose objects the request must not find, such as those that a pointer leads to. */
  isReadable(className: unknown): boolean
  /** Undefined for an object that Parse Server must convert. */
  toClassForm(className: string, document: object): object | undefined
}

/** Puts an object among distinct values into a list, since Parse Server would convert it like a document. */
const wrapObject = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? [value] : value
export const unwrapObject = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value)

/** The reads of one request: a few at a time, in slices, until its time or budget is used up. */
export class RequestReads {
  readonly #limits: RequestReadLimits
  readonly #slice: TimeSlice
  readonly #waiting: (() => void)[] = []
  #running = 0
  #objectsLeft = MAX_OBJECTS
  readonly #budget = new ReadBudget()

  constructor(limits: RequestReadLimits) {
    this.#limits = limits
    this.#slice = new TimeSlice({ admission: limits.admission })
  }

  /** Runs a read when its turn has come. @throws DeadlineExceeded when the time of the request is over */
  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#running === MAX_CONCURRENT_READS) await new Promise<void>((begin) => this.#waiting.push(begin))
    else this.#running += 1
    try {
      this.#requireTime()
      return await read()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }

  /** Lets this collection, which no other request has, read and convert its lists in slices. */
  readInSlices(collection: ListCollection): ListCollection {
    const driver = collection._mongoCollection
    collection._mongoCollection = Object.assign(Object.create(driver), {
      find: (...args: never[]) => {
        const cursor = driver.find(...args)
        return Object.assign(cursor, { toArray: () => this.#readAll(cursor, driver.collectionName) })
      },
      distinct: async (...args: never[]) => (await driver.distinct(...args)).map(wrapObject),
    })
    return collection
  }

  async #readAll(cursor: DocumentCursor<object>, className: string): Promise<object[]> {
    const documents: object[] = []
    for await (const batch of readInBatches(cursor)) {
      for (const document of batch) this.#requireBudget(document)
      documents.push(...batch)
      if (!this.#slice.isOver()) continue
      await this.#slice.yieldToOthers()
      this.#requireTime()
    }
    // Parse Server awaits the result of the conversion of all documents.
    const map = (convert: (document: object) => object) =>
      mapInSlices(documents, (one) => this.#limits.toClassForm(className, one) ?? convert(one), this.#slice)
    return Object.assign(documents, { map })
  }

  /** @throws Parse.Error, which a batch shows for this part */
  #requireTime(): void {
    try {
      this.#limits.timeLeft()
    } catch {
      throw new Parse.Error(Parse.Error.TIMEOUT, QUERY_TIMEOUT_MESSAGE)
    }
  }

  /** @throws Parse.Error */
  #requireBudget(document: object): void {
    if (this.#budget.isUsedUpBy(document) || --this.#objectsLeft < 0)
      throw new Parse.Error(
        Parse.Error.INVALID_QUERY,
        `A request returns at most ${MAX_OBJECTS} objects and ${MAX_RESPONSE_MEGABYTES} MB. Lower limit, or select keys.`,
      )
  }
}
