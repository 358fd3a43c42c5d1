import type { Caller } from '../../../../records/store/documents/caller.ts'
import type { ExpectedVersions } from '../../../../records/store/write-decider.ts'
import { type ListCollection, type RequestReadLimits, RequestReads, unwrapObject } from './request-reads.ts'

/** Object that Parse Server creates per request to call its storage adapter. */
export interface RequestDatabase<Schema> {
  adapter: object
  schemaPromise: Promise<Schema> | null
  loadSchema(): Promise<Schema>
}

/** Parse Server's applications by id, and what makes a configuration of one for a request. */
export interface Configurations {
  apps: { get(id: unknown): unknown }
  configurations: {
    get(id: unknown, mount?: string): { database: RequestDatabase<unknown>; loadKeys(): Promise<void> }
  }
}

/**
 * Lets all requests inherit one configuration and schema, which never change at runtime. Parse Server would copy all
 * its values twice in each request, and build the schema in every step: a seventh of the cost.
 */
export async function shareConfiguration({ configurations, apps }: Configurations, appId: string) {
  const { get } = configurations
  const values = apps.get(appId)
  const sharedConfig = get.call(configurations, appId)
  const schemaPromise = Promise.resolve(await sharedConfig.database.loadSchema())
  const Database = sharedConfig.database.constructor as new (adapter: object, options: object) => object
  sharedConfig.loadKeys = async () => {}
  configurations.get = (id, mount) => {
    // Of another service of this process.
    if (apps.get(id) !== values) return get.call(configurations, id, mount)
    const config = Object.assign(Object.create(sharedConfig), { mount })
    config.database = Object.assign(new Database(sharedConfig.database.adapter, config), { schemaPromise })
    return config
  }
}

/** The part of a request that its writes need. */
export interface ObjectWriteRequest {
  caller(): Promise<Caller>
  /** Versions from `If-Match`. */
  expected: ExpectedVersions
  /** Called with the current version when it is none of the expected ones. */
  tellVersion(version: number): void
  /** Called after a write that changed the roles of the caller. */
  forgetRoles(): Promise<void>
}

type AdapterMethod = (...args: unknown[]) => Promise<unknown>

type ReadingAdapter = Record<'find' | 'count' | 'distinct', AdapterMethod> & {
  _adaptiveCollection(name: string): Promise<ListCollection>
}

/**
 * Gives a request a storage adapter of its own, with the limits of its reads. Authentication has finished by then,
 * under the general read timeout.
 */
export function createRequestAdapter(database: { adapter: object }, limits: RequestReadLimits): void {
  const base = database.adapter as ReadingAdapter
  const reads = new RequestReads(limits)
  const adapter: ReadingAdapter = Object.create(base)
  Object.defineProperty(adapter, '_maxTimeMS', { get: limits.timeLeft })
  for (const read of ['find', 'count', 'distinct'] as const)
    adapter[read] = async (...args) => {
      if (limits.isReadable(args[0])) return reads.run(() => base[read].apply(adapter, args))
      return read === 'count' ? 0 : []
    }
  const { distinct } = adapter
  adapter.distinct = async (...args) => ((await distinct(...args)) as unknown[]).map(unwrapObject)
  adapter._adaptiveCollection = async (name) => reads.readInSlices(await base._adaptiveCollection(name))
  database.adapter = adapter
}
