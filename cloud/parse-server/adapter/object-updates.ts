import type { Db } from 'mongodb'
import Parse from 'parse/node'
import { type BatchedLookup, createBatchedLookup } from '../../../records/store/batching/batched-lookup.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import { isOutage } from '../../../records/store/documents/outage.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { UNAVAILABLE_MESSAGE } from './database-errors.ts'
import { type ClassForm, type DocumentConversion, toClientJson } from './object-conversion.ts'
import type { ObjectWriteRequest } from './request/request-database.ts'

interface RequestConfig {
  database: {
    adapter: object
    loadSchema(): Promise<{ getOneSchema(className: string): Promise<unknown> }>
  }
}

/** The modules of Parse Server that carry out updates. */
export interface UpdateModules {
  rest: {
    update(
      config: RequestConfig,
      auth: unknown,
      className: string,
      where: { objectId: string },
      sent: object,
      context?: object,
    ): Promise<unknown>
  }
  RestWrite: new (...of: unknown[]) => { execute(): Promise<unknown> }
  conversion: DocumentConversion
}

/** What the triggers of an update know about it. */
export interface UpdateContext {
  /** The body: Parse shows the triggers the resulting object, not the operations that lead to it. */
  sent: ClassForm
  /** The stored object. */
  stored: ClassForm
  write?: ObjectWriteRequest
}

type AdapterFind = (
  this: unknown,
  className: string,
  schema: unknown,
  query: object,
  options: object,
) => Promise<object[]>

/** True for the read with which Parse Server checks the write permission before a trigger; it only counts the result. */
const isPermissionCheck = (options: object): boolean => Object.keys(options).join() === 'readPreference'

/**
 * Starts the updates of some classes in place of Parse Server: simultaneous reads of the objects share a query, and the
 * triggers get the body. They check the write permission of the object that was read, so Parse's check is left out.
 */
export function startUpdates(
  adapter: { find: AdapterFind; database: Db },
  { rest, RestWrite, conversion }: UpdateModules,
  isOurs: (className: string) => boolean,
): void {
  const { find } = adapter
  const { update } = rest
  const lookups = new Map<string, BatchedLookup<ParseDocument>>()

  const readDocument = (className: string, objectId: string): Promise<ParseDocument | undefined> => {
    const among = (ids: string[]) =>
      documentCollection({ db: adapter.database }, className).find({ _id: { $in: ids } })
    const lookup =
      lookups.get(className) ??
      createBatchedLookup(
        ({ _id }) => _id,
        (ids) => among(ids).toArray() as Promise<ParseDocument[]>,
      )
    lookups.set(className, lookup)
    return lookup(objectId).catch((error: unknown) => {
      throw isOutage(error) ? new Parse.Error(Parse.Error.INTERNAL_SERVER_ERROR, UNAVAILABLE_MESSAGE) : error
    })
  }

  rest.update = async (config, auth, className, where, sent, context) => {
    const { database } = config
    // Other services in this process share the module, but not the adapter.
    const isOwn = Object.getPrototypeOf(database.adapter) === adapter
    if (!isOwn || !isOurs(className)) return update(config, auth, className, where, sent, context)
    const document = await readDocument(className, where.objectId)
    if (!document) throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'Object not found.')
    const schema = await (await database.loadSchema()).getOneSchema(className)
    const stored = toClientJson(conversion.mongoObjectToParseObject(className, { ...document }, schema))
    const told: UpdateContext = { ...context, sent: sent as ClassForm, stored }
    return new RestWrite(config, auth, className, where, sent, stored, told, 'update').execute()
  }

  adapter.find = async function (className, schema, query, options) {
    if (isOurs(className) && isPermissionCheck(options)) return [query]
    return find.call(this, className, schema, query, options)
  }
}
