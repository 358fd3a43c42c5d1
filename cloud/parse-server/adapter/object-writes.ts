import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { type DocumentConversion, type StoredObject, toClientJson } from './object-conversion.ts'
import type { ObjectWriteRequest, RequestAdapter } from './request/request-database.ts'

type Fields = Record<string, unknown>

/** Writes of Parse Server's storage adapter to one object. */
export interface WritingAdapter {
  createObject(
    className: string,
    schema: unknown,
    object: Fields,
    session?: unknown,
  ): Promise<{ ops: object[] }>
  findOneAndUpdate(
    className: string,
    schema: unknown,
    query: Fields,
    update: Fields,
    session?: unknown,
  ): Promise<object | null>
  deleteObjectsByQuery(className: string, schema: unknown, query: Fields, session?: unknown): Promise<unknown>
}

/** Writes the objects of one class, in place of Parse Server. */
export interface ObjectWriter {
  /** @param object the properties in class form, with `objectId` */
  create(request: ObjectWriteRequest, object: Fields): Promise<ParseDocument>
  /** @param update values in class form, and operations such as `{"__op":"Increment","amount":1}` */
  update(request: ObjectWriteRequest, objectId: string, update: Fields): Promise<ParseDocument>
  remove(request: ObjectWriteRequest, objectId: string): Promise<void>
}

/** Finds the writer of a class; undefined for the classes that Parse Server writes itself. */
export type FindObjectWriter = (className: string) => ObjectWriter | undefined

type ToObject = DocumentConversion['mongoObjectToParseObject']

type SanitizeResult = (this: unknown, sent: object, stored: StoredObject) => Promise<object>

/** Creates Parse Server's response to a write from the stored object. */
export interface WriteResponder {
  _sanitizeDatabaseResult: SanitizeResult
}

/** The object that a query of one object names; Parse Server writes objects of our classes one by one. */
const objectIdIn = ({ objectId }: Fields): string => {
  if (typeof objectId !== 'string') throw new TypeError('A write of a class must name one object.')
  return objectId
}

/**
 * Hands every write of an object to the writer of its class. Parse Server still authenticates, checks and runs the
 * triggers.
 */
export function handOverWrites(
  adapter: WritingAdapter,
  responder: WriteResponder,
  conversion: DocumentConversion,
  findWriter: FindObjectWriter,
): void {
  const { createObject, findOneAndUpdate, deleteObjectsByQuery } = adapter
  const { toFullObject } = respondWithFullObjects(responder, conversion)

  adapter.createObject = async function (this: ThisAdapter, className, schema, object, session) {
    const writer = findWriter(className)
    if (!writer) return createObject.call(this, className, schema, object, session)
    return { ops: [toFullObject(className, await writer.create(this.writeRequest, object), schema)] }
  }

  adapter.findOneAndUpdate = async function (this: ThisAdapter, className, schema, query, update, session) {
    const writer = findWriter(className)
    if (!writer) return findOneAndUpdate.call(this, className, schema, query, update, session)
    const document = await writer.update(this.writeRequest, objectIdIn(query), update)
    return toFullObject(className, document, schema)
  }

  adapter.deleteObjectsByQuery = async function (this: ThisAdapter, className, schema, query, session) {
    const writer = findWriter(className)
    if (!writer) return deleteObjectsByQuery.call(this, className, schema, query, session)
    return writer.remove(this.writeRequest, objectIdIn(query))
  }
}

type ThisAdapter = RequestAdapter & WritingAdapter

/**
 * Parse Server would respond with the fields that it changed; we respond with the full object, as stored. An afterSave
 * trigger could do so too, but Parse would build the object again for it, which takes some 0.1 ms.
 * @returns functions that convert a stored document to an object with which Parse responds in full, and that mark a
 * converted one as such
 */
export function respondWithFullObjects(
  responder: WriteResponder,
  conversion: DocumentConversion,
): { toFullObject: ToObject; markFull<T extends object>(object: T): T } {
  const { _sanitizeDatabaseResult: respond } = responder
  const fullObjects = new WeakSet<object>()
  responder._sanitizeDatabaseResult = async function (sent, stored) {
    if (!fullObjects.has(stored)) return respond.call(this, sent, stored)
    const json = toClientJson(stored)
    // Parse removes from the response what the client sent, but leaves its toJSON alone.
    return Object.defineProperty({}, 'toJSON', { value: () => json })
  }
  const markFull = <T extends object>(object: T): T => {
    fullObjects.add(object)
    return object
  }
  return {
    // Requests that share a transaction may share the document.
    toFullObject: (className, document, schema) =>
      markFull(conversion.mongoObjectToParseObject(className, { ...document }, schema)),
    markFull,
  }
}
