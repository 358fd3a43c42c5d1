import type { Caller } from '../../../records/store/documents/caller.ts'
import type { ExpectedVersions } from '../../../records/store/write-decider.ts'

/** Object that Parse Server creates per request to call its storage adapter. */
export interface RequestDatabase<Schema> {
  adapter: object
  schemaPromise: Promise<Schema> | null
  loadSchema(): Promise<Schema>
}

/**
 * Parse Server rebuilds its schema in every step of a request, a tenth of its cost. Our schema never changes
 * at runtime, so one instance serves all requests.
 */
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

/** The storage adapter of one request. */
export interface RequestAdapter {
  readonly writeRequest: ObjectWriteRequest
}

/**
 * Gives a request a storage adapter of its own, with the deadline of its reads. Authentication has finished by then,
 * under the general read timeout.
 * @param timeLeft called before each read
 */
export function createRequestAdapter(
  database: { adapter: object },
  timeLeft: () => number,
  writeRequest: ObjectWriteRequest,
): void {
  database.adapter = Object.create(database.adapter, {
    _maxTimeMS: { get: timeLeft },
    writeRequest: { value: writeRequest },
  })
}
