import Parse from 'parse/node'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { type ClassForm, type DocumentConversion, toClientJson } from './adapter/object-conversion.ts'
import type { ObjectWriteRequest } from './adapter/request/request-database.ts'

type Fields = Record<string, unknown>

/** Writes the objects of one class, in place of Parse Server. */
export interface ObjectWriter {
  find(objectId: string): Promise<ParseDocument | undefined>
  create(request: ObjectWriteRequest, fields: Fields): Promise<ParseDocument>
  /** @param changes values, and operations such as `{"__op":"Increment","amount":1}` */
  update(request: ObjectWriteRequest, objectId: string, changes: Fields): Promise<ParseDocument>
  remove(request: ObjectWriteRequest, objectId: string): Promise<void>
}

/** Finds the writer of a class; undefined for the classes that Parse Server writes itself. */
export type FindObjectWriter = (className: string) => ObjectWriter | undefined

/** What the trigger of a write knows about it. */
export interface WriteContext {
  /** The body: Parse shows a trigger the resulting object, not the operations that lead to it. */
  sent: ClassForm
  write: ObjectWriteRequest
}

export interface UpdateContext extends WriteContext {
  stored: ClassForm
}

/** Parse Server's schema of all classes. */
interface ClassSchemas {
  getOneSchema(className: string): Promise<unknown>
  /** @throws Parse.Error for a caller to whom the class does not permit the operation */
  validatePermission(className: string, aclGroup: readonly string[], operation: string): Promise<void> | true
}

interface RequestConfig {
  mount: string
  database: { adapter: object; loadSchema(): Promise<ClassSchemas> }
}

interface RequestAuth {
  isMaster: boolean
  user?: { id: string }
}

/** The objects that a trigger gets. */
interface TriggerObjects {
  updatedObject: unknown
  originalObject?: unknown
}

/** The first arguments of every request about objects. */
type ObjectRequest = [config: RequestConfig, auth: RequestAuth, className: string]
type CreateRequest = [...ObjectRequest, sent: object, context?: object]
type UpdateRequest = [...ObjectRequest, where: { objectId: string }, sent: object, context?: object]
type DeleteRequest = [...ObjectRequest, objectId: string, context?: object]

/** The modules of Parse Server that carry out writes. */
export interface WriteModules {
  rest: {
    create(...request: CreateRequest): Promise<unknown>
    update(...request: UpdateRequest): Promise<unknown>
    del(...request: DeleteRequest): Promise<unknown>
  }
  /** Its constructor refuses bodies that no object can have. */
  RestWrite: new (
    ...of: unknown[]
  ) => { buildParseObjects(): TriggerObjects }
  triggers: {
    maybeRunTrigger(
      type: 'beforeSave',
      auth: RequestAuth,
      updated: unknown,
      original: unknown,
      config: RequestConfig,
      context: object,
    ): Promise<{ object: Fields }>
  }
  conversion: DocumentConversion
}

/**
 * Hands every write of an object to the writer of its class. Parse Server still authenticates, checks and runs the
 * triggers, which return the fields to write. The response shows the full object, as stored.
 */
export function handOverWrites(adapter: object, modules: WriteModules, findWriter: FindObjectWriter): void {
  const { rest } = modules
  const { create, update, del } = rest
  // Other services in this process share the module, but not the adapter.
  const writerFor = ({ database }: RequestConfig, className: string): ObjectWriter | undefined =>
    Object.getPrototypeOf(database.adapter) === adapter ? findWriter(className) : undefined

  rest.create = (...request) => {
    const writer = writerFor(request[0], request[2])
    return writer ? createObject(modules, writer, ...request) : create(...request)
  }
  rest.update = (...request) => {
    const writer = writerFor(request[0], request[2])
    return writer ? updateObject(modules, writer, ...request) : update(...request)
  }
  rest.del = (...request) => {
    const writer = writerFor(request[0], request[2])
    return writer ? deleteObject(writer, ...request) : del(...request)
  }
}

async function createObject(
  modules: WriteModules,
  writer: ObjectWriter,
  ...[config, auth, className, sent, context]: CreateRequest
): Promise<object> {
  const known = { ...context, sent } as WriteContext
  const fields = await runTrigger(modules, [config, auth, className], null, known)
  const document = await writer.create(known.write, fields)
  const response = await toObject(modules, config, className, document)
  return { status: 201, response, location: `${config.mount}/classes/${className}/${document._id}` }
}

async function updateObject(
  modules: WriteModules,
  writer: ObjectWriter,
  ...[config, auth, className, where, sent, context]: UpdateRequest
): Promise<object> {
  const found = await writer.find(where.objectId)
  if (!found) throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'Object not found.')
  const stored = await toObject(modules, config, className, found)
  const known = { ...context, sent, stored } as UpdateContext
  const changes = await runTrigger(modules, [config, auth, className], where, known)
  const document = await writer.update(known.write, where.objectId, changes)
  return { response: await toObject(modules, config, className, document) }
}

async function deleteObject(
  writer: ObjectWriter,
  ...[config, auth, className, objectId, context]: DeleteRequest
): Promise<void> {
  await requirePermission([config, auth, className], 'delete')
  await writer.remove((context as WriteContext).write, objectId)
}

/** @returns the fields to write, or their changes */
async function runTrigger(
  { RestWrite, triggers }: WriteModules,
  [config, auth, className]: ObjectRequest,
  where: object | null,
  context: WriteContext & Partial<UpdateContext>,
): Promise<Fields> {
  await requirePermission([config, auth, className], where ? 'update' : 'create')
  const write = new RestWrite(config, auth, className, where, context.sent, context.stored, context)
  const { updatedObject, originalObject } = write.buildParseObjects()
  const judged = triggers.maybeRunTrigger('beforeSave', auth, updatedObject, originalObject, config, context)
  return (await judged).object
}

async function requirePermission(
  [{ database }, { isMaster, user }, className]: ObjectRequest,
  operation: string,
): Promise<void> {
  if (isMaster) return
  const schemas = await database.loadSchema()
  await schemas.validatePermission(className, ['*', ...(user ? [user.id] : [])], operation)
}

async function toObject(
  { conversion }: WriteModules,
  { database }: RequestConfig,
  className: string,
  document: ParseDocument,
): Promise<ClassForm> {
  const schema = await (await database.loadSchema()).getOneSchema(className)
  // Requests that share a transaction may share the document.
  return toClientJson(conversion.mongoObjectToParseObject(className, { ...document }, schema))
}
