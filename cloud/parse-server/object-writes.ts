import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import {
  type ClassForm,
  type ClassSchemas,
  type DocumentConversion,
  toClassObject,
} from './adapter/object-conversion.ts'
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

interface RequestAuth {
  isMaster: boolean
  user?: { id: string }
}

/** A request about objects of a class. */
type ClassRequest = [config: RequestConfig, auth: RequestAuth, className: string]

/** Parse Server's functions for objects. The last argument is the context of the request. */
type RestFunction = (...of: [...ClassRequest, ...args: unknown[]]) => Promise<unknown>

/** The modules of Parse Server that carry out writes. */
export interface WriteModules {
  rest: Record<'create' | 'update' | 'del', RestFunction>
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
  const handOver = (
    name: keyof WriteModules['rest'],
    carryOut: (write: ObjectWrite, ...args: never[]) => Promise<unknown>,
  ) => {
    const former = rest[name]
    rest[name] = (config, auth, className, ...args) => {
      // Other services in this process share the module, but not the adapter.
      const isOwn = Object.getPrototypeOf(config.database.adapter) === adapter
      const writer = isOwn ? findWriter(className) : undefined
      if (!writer) return former(config, auth, className, ...args)
      const write = new ObjectWrite(modules, writer, [config, auth, className], args.at(-1) as WriteContext)
      return carryOut(write, ...(args as never[]))
    }
  }
  handOver('create', (write, sent) => write.create(sent))
  handOver('update', (write, where, sent) => write.update(where, sent))
  handOver('del', (write, objectId) => write.remove(objectId))
}

/** A write of an object, in place of Parse Server's. */
class ObjectWrite {
  readonly #modules: WriteModules
  readonly #writer: ObjectWriter
  readonly #request: ClassRequest
  readonly #context: Pick<WriteContext, 'write'>

  constructor(
    modules: WriteModules,
    writer: ObjectWriter,
    request: ClassRequest,
    context: Pick<WriteContext, 'write'>,
  ) {
    this.#modules = modules
    this.#writer = writer
    this.#request = request
    this.#context = context
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
    const of = [auth, updatedObject, originalObject, config, context]
    return (await triggers.maybeRunTrigger('beforeSave', ...of)).object
  }

  async #requirePermission(operation: string): Promise<void> {
    const [{ database }, { isMaster, user }, className] = this.#request
    if (isMaster) return
    const schemas = await database.loadSchema()
    await schemas.validatePermission(className, ['*', ...(user ? [user.id] : [])], operation)
  }

  async #toObject(document: ParseDocument): Promise<ClassForm> {
    const [{ database }, , className] = this.#request
    return toClassObject(this.#modules.conversion, await database.loadSchema(), className, document)
  }
}
