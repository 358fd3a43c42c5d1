import type { Db } from 'mongodb'
import Parse from 'parse/node'
import { type BatchedLookup, createBatchedLookup } from '../../../records/store/batching/batched-lookup.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import { isOutage } from '../../../records/store/documents/outage.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { UNAVAILABLE_MESSAGE } from './database-errors.ts'

type FoundObject = Record<string, unknown> & { objectId: string; _wperm?: string[] }
type AdapterFind = (
  this: unknown,
  className: string,
  schema: unknown,
  query: object,
  options: object,
) => Promise<FoundObject[]>

/** Parse Server's conversion of a document to an object; it removes the permissions from the document. */
export type ToObject = (className: string, document: object, schema: unknown) => FoundObject

/** Error for an object that the caller may read but not write. */
export const forbiddenWriteError = () =>
  new Parse.Error(Parse.Error.OPERATION_FORBIDDEN, 'You can read this, but not write it.')

/** Limit of cached reads, one per running update. Beyond it the oldest object is read again. */
const MAX_CACHED_READS = 1000

/** Options of Parse Server's read of a single object for a trigger. */
const SINGLE_READ_OPTIONS = { sort: {}, caseInsensitive: false }
const isSingleRead = (options: object): boolean =>
  JSON.stringify(options) === JSON.stringify(SINGLE_READ_OPTIONS)

const objectKey = (className: string, objectId: unknown): string => `${className}$${objectId}`

/** True for the read whose result Parse Server only counts. */
const isPermissionCheck = (options: object): boolean => Object.keys(options).join() === 'readPreference'

/**
 * Parse Server reads an object before a trigger, and again to check the write permission. This cache batches
 * simultaneous first reads and answers the second one from the first. It grants nothing, because the update
 * checks the permission again. To Parse an object does not exist for a caller who may only read it; here the caller
 * learns the reason (docs/decisions/rights.md).
 */
export function cacheTriggerReads(adapter: { find: AdapterFind; database: Db }, toObject: ToObject): void {
  const { find } = adapter
  const lookups = new Map<string, BatchedLookup<ParseDocument>>()
  const remembered = new Map<string, ParseDocument>()

  const lookupIn = (className: string): BatchedLookup<ParseDocument> => {
    const among = (ids: string[]) =>
      documentCollection({ db: adapter.database }, className).find({ _id: { $in: ids } })
    const lookup =
      lookups.get(className) ??
      createBatchedLookup(
        ({ _id }) => _id,
        (ids) => among(ids).toArray() as Promise<ParseDocument[]>,
      )
    lookups.set(className, lookup)
    return lookup
  }

  const readDocument = (className: string, objectId: string): Promise<ParseDocument | undefined> =>
    lookupIn(className)(objectId).catch((error: unknown) => {
      // Parse Server would wrap any other error, and hide what it was.
      throw isOutage(error) ? new Parse.Error(Parse.Error.INTERNAL_SERVER_ERROR, UNAVAILABLE_MESSAGE) : error
    })

  const readOne = async (className: string, schema: unknown, objectId: string): Promise<FoundObject[]> => {
    const document = await readDocument(className, objectId)
    if (!document) return []
    if (remembered.size >= MAX_CACHED_READS) remembered.delete(remembered.keys().next().value ?? '')
    remembered.set(objectKey(className, objectId), document)
    return [toObject(className, structuredClone(document), schema)]
  }

  adapter.find = async function (className, schema, query, options) {
    const { objectId, _wperm: wanted, ...more } = query as { objectId?: unknown; _wperm?: { $in: unknown[] } }
    const isOne = typeof objectId === 'string' && Object.keys(more).length === 0 && !className.startsWith('_')
    if (isOne && !wanted && isSingleRead(options)) return readOne(className, schema, objectId)
    if (!isOne || !wanted) return find.call(this, className, schema, query, options)
    const key = objectKey(className, objectId)
    const document = remembered.get(key) ?? (await readDocument(className, objectId))
    remembered.delete(key)
    const isAmong = (permitted: readonly string[] = []) => permitted.some((who) => wanted.$in.includes(who))
    if (!isAmong(document?._wperm)) {
      if (isAmong(document?._rperm)) throw forbiddenWriteError()
      return []
    }
    return isPermissionCheck(options) ? [{ objectId }] : find.call(this, className, schema, query, options)
  }
}
