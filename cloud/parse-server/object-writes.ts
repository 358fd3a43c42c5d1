import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { type ClassForm, type DocumentConversion, toClientJson } from './adapter/object-conversion.ts'
import type { ObjectWriteRequest } from './adapter/request/request-database.ts'

type Fields = Record<string, unknown>

/** Writes the objects of one class, in place of Parse Server. */
export interface ObjectWriter {
  /** Finds an object that the caller may change. @throws Parse.Error for another one, or another version */
  find(request: ObjectWriteRequest, objectId: string): Promise<ParseDocument>
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

interface RequestConfig {
  /** The public address of the class family. */
  mount: string
  database: { adapter: object; loadSchema(): Promise<ClassSchemas> }
}

/** Parse Server's schema of all classes. */
interface ClassSchemas {
  getOneSchema(className: string): Promise<unknown>
  /** @throws Parse.Error for a caller to whom the class does not permit the operation */
  validatePermission(className: string, aclGroup: readonly string[], operation: string): Promise<void> | true
}

interface RequestAuth {
  isMaster: boolean
  user?: { id: string }
}

/** A request about objects of a class. */
type ClassRequest = [config: RequestConfig, auth: RequestAuth, className: string]

/** The modules of Parse Server that carry out writes. */
export interface WriteModules {
  rest: {
    create(...of: [...ClassRequest, sent: object, context?: object]): Promise<unknown>
    update(
      ...of: [...ClassRequest, where: { objectId: string }, sent: object, context?: object]
    ): Promise<unknown>
    del(...of: [...ClassRequest, objectId: string, context?: object]): Promise<unknown>
  }
  /** Its constructor refuses bodies that no object can have. */
  RestWrite: new (
    ...of: unknown[]
  ) => { buildParseObjects(): { updatedObject: unknown; originalObject?: unknown } }
  triggers: { maybeRunTrigger(...of: unknown[]): Promise<{ object: Fields }> }
  conversion: DocumentConversion
}

/**
 * Hands every write of an object to the writer of its class. Parse Server still authenticates, checks and runs the
 * triggers, which return the fields to write. The response shows the full object, as stored.
 */
export function handOverWrites(adapter: object, modules: WriteModules, findWriter: FindObjectWriter): void {
  const { rest } = modules
  const { create, update, del } = rest
  const findWrite = (request: ClassRequest, context: object | undefined): ObjectWrite | undefined => {
    const [{ database }, , className] = request
    // Other services in this process share the module, but not the adapter.
    const isOwn = Object.getPrototypeOf(database.adapter) === adapter
    const writer = isOwn ? findWriter(className) : undefined
    return writer && new ObjectWrite(modules, writer, request, context)
  }
  rest.create = (config, auth, className, sent, context) =>
    findWrite([config, auth, className], context)?.create(sent) ??
    create(config, auth, className, sent, context)
  rest.update = (config, auth, className, where, sent, context) =>
    findWrite([config, auth, className], context)?.update(where, sent) ??
    update(config, auth, className, where, sent, context)
  rest.del = (config, auth, className, objectId, context) =>
    findWrite([config, auth, className], context)?.remove(objectId) ??
    del(config, auth, className, objectId, context)
}

/** A write of an object, in place of Parse Server's. */
class ObjectWrite {
  readonly #modules: WriteModules
  readonly #writer: ObjectWriter
  readonly #request: ClassRequest
  readonly #context: Pick<WriteContext, 'write'>

  constructor(modules: WriteModules, writer: ObjectWriter, request: ClassRequest, context?: object) {
    this.#modules = modules
    this.#writer = writer
    this.#request = request
    this.#context = context as WriteContext
  }

  async create(sent: object): Promise<object> {
    const [{ mount }, , className] = this.#request
    await this.#requirePermission('create')
    const fields = await this.#runTrigger(null, sent)
    const document = await this.#writer.create(this.#context.write, fields)
    const location = `${mount}/classes/${className}/${document._id}`
    return { status: 201, response: await this.#toObject(document), location }
  }

  async update(where: { objectId: string }, sent: object): Promise<object> {
    await this.#requirePermission('update')
    const found = await this.#writer.find(this.#context.write, where.objectId)
    const changes = await this.#runTrigger(where, sent, await this.#toObject(found))
    const document = await this.#writer.update(this.#context.write, where.objectId, changes)
    return { response: await this.#toObject(document) }
  }

  async remove(objectId: string): Promise<void> {
    await this.#requirePermission('delete')
    await this.#writer.remove(this.#context.write, objectId)
  }

  /** @returns the fields to write, or their changes */
  async #runTrigger(where: object | null, sent: object, stored?: ClassForm): Promise<Fields> {
    const { RestWrite, triggers } = this.#modules
    const [config, auth] = this.#request
    const context = { ...this.#context, sent, stored }
    const write = new RestWrite(...this.#request, where, sent, stored, context)
    const { updatedObject, originalObject } = write.buildParseObjects()
    const judged = triggers.maybeRunTrigger(
      'beforeSave',
      auth,
      updatedObject,
      originalObject,
      config,
      context,
    )
    return (await judged).object
  }

  async #requirePermission(operation: string): Promise<void> {
    const [{ database }, { isMaster, user }, className] = this.#request
    if (isMaster) return
    const schemas = await database.loadSchema()
    await schemas.validatePermission(className, ['*', ...(user ? [user.id] : [])], operation)
  }

  async #toObject(document: ParseDocument): Promise<ClassForm> {
    const [{ database }, , className] = this.#request
    const schema = await (await database.loadSchema()).getOneSchema(className)
    // Requests that share a transaction may share the document.
    const object = this.#modules.conversion.mongoObjectToParseObject(className, { ...document }, schema)
    return toClientJson(object)
  }
}
