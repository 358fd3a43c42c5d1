import type { Caller } from '../../../../records/store/documents/caller.ts'
import type { ExpectedVersions } from '../../../../records/store/write-decider.ts'
import { type ListCollection, type RequestReadLimits, RequestReads } from './request-reads.ts'

/** Object that Parse Server creates per request to call its storage adapter. */
export interface RequestDatabase<Schema> {
  adapter: object
  schemaPromise: Promise<Schema> | null
  loadSchema(): Promise<Schema>
}

/** Parse Server rebuilds its schema in every step of a request, a tenth of its cost. Ours never changes at runtime. */
export function createSchemaCache<Schema>(): (database: RequestDatabase<Schema>) => void {
  let built: Promise<Schema> | undefined
  return (database) => {
    built ??= database.loadSchema().catch((error: unknown) => {
      built = undefined
      throw error
    })
    database.schemaPromise = built
  }
}

/** What a write needs to know about its request. */
export interface ObjectWriteRequest {
  caller(): Promise<Caller>
  /** Versions from `If-Match`. */
  expected: ExpectedVersions
  /** Called with the current version when it is none of the expected ones. */
  tellVersion(version: number): void
  /** Called after a write that changed the roles of the caller. */
  forgetRoles(): Promise<void>
}

type AdapterMethod = (this: object, ...args: unknown[]) => Promise<unknown>

interface ReadingAdapter {
  find: AdapterMethod
  count: AdapterMethod
  distinct: AdapterMethod
  _adaptiveCollection(name: string): Promise<ListCollection>
}

/**
 * Gives a request a storage adapter of its own, with the limits of its reads. Authentication has finished by then,
 * under the general read timeout.
 */
export function createRequestAdapter(database: { adapter: object }, limits: RequestReadLimits): void {
  const base = database.adapter as ReadingAdapter
  const reads = new RequestReads(limits)
  const runRead = (read: AdapterMethod) => ({
    value(this: object, ...args: unknown[]) {
      return reads.run(() => read.apply(this, args))
    },
  })
  database.adapter = Object.create(base, {
    _maxTimeMS: { get: limits.timeLeft },
    find: runRead(base.find),
    count: runRead(base.count),
    distinct: runRead(base.distinct),
    _adaptiveCollection: {
      value: async (name: string) => reads.sliced(await base._adaptiveCollection(name)),
    },
  })
}
