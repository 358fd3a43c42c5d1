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

/** The part of a write that its trigger knows. */
export interface WriteContext {
  /** The body: Parse shows a trigger the resulting object, not the operations that lead to it. */
  sent: ClassForm
  write: ObjectWriteRequest
}

export interface UpdateContext extends WriteContext {
  stored: ClassForm
}

interface RequestConfig {
  /** The public URL of the class family. */
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
type RestFunction = (...request: [...ClassRequest, ...args: unknown[]]) => Promise<unknown>

/** The modules of Parse Server that carry out writes. */
export interface WriteModules {
  rest: Record<'create' | 'update' | 'del', RestFunction>
  /** Its constructor refuses bodies that no object can have. */
  RestWrite: new (
    ...args: unknown[]
  ) => unknown
  triggers: {
    /** Makes the object of the SDK from the class form. */
    inflate(className: string, object: object): unknown
    maybeRunTrigger(...args: unknown[]): Promise<{ object: Fields }>
  }
  conversion: DocumentConversion
}

/** A write of an object, in place of Parse Server's. */
interface ObjectWrite extends WriteModules {
  writer: ObjectWriter
  classRequest: ClassRequest
  context: Pick<WriteContext, 'write'>
}

/**
 * Hands every write of an object to the writer of its class. Parse Server still authenticates, checks and runs the
 * triggers, which return the fields to write. The response shows the full object, as stored.
 */
export function handOverWrites(adapter: object, modules: WriteModules, findWriter: FindObjectWriter): void {
  const { rest } = modules
  const handOver = <A extends unknown[]>(
    name: keyof WriteModules['rest'],
    carryOut: (write: ObjectWrite, ...args: A) => Promise<unknown>,
  ) => {
    const former = rest[name]
    rest[name] = async (...request) => {
      const [config, auth, className, ...args] = request
      // Other services in this process share the module, but not the adapter.
      const isOwn = Object.getPrototypeOf(config.database.adapter) === adapter
      const writer = isOwn ? findWriter(className) : undefined
      if (!writer) return former(...request)
      const classRequest: ClassRequest = [config, auth, className]
      await requirePermission(classRequest, name === 'del' ? 'delete' : name)
      return carryOut(
        { ...modules, writer, classRequest, context: args.at(-1) as WriteContext },
        ...(args as A),
      )
    }
  }
  handOver('create', create)
  handOver('update', update)
  handOver('del', ({ writer, context }, objectId: string) => writer.remove(context.write, objectId))
}

async function create(write: ObjectWrite, body: object): Promise<object> {
  const [{ mount }, , className] = write.classRequest
  const fields = await runTrigger(write, null, body)
  const document = await write.writer.create(write.context.write, fields)
  const location = `${mount}/classes/${className}/${document._id}`
  return { status: 201, response: await toObject(write, document), location }
}

async function update(write: ObjectWrite, where: { objectId: string }, body: object): Promise<object> {
  const { writer, context } = write
  const current = await writer.find(context.write, where.objectId)
  const changes = await runTrigger(write, where, body, await toObject(write, current))
  const document = await writer.update(context.write, where.objectId, changes)
  return { response: await toObject(write, document) }
}

/**
 * The trigger reads the body and the stored object from the context. The SDK's object is empty, because the SDK fails
 * on values that it cannot interpret.
 * @returns the fields to write, or their changes
 */
async function runTrigger(
  { RestWrite, triggers, classRequest, context }: ObjectWrite,
  where: object | null,
  body: object,
  stored?: ClassForm,
): Promise<Fields> {
  const [config, auth, className] = classRequest
  new RestWrite(...classRequest, where, body)
  const triggerContext = { ...context, sent: body, stored }
  const object = triggers.inflate(className, { objectId: stored?.objectId })
  const args = [auth, object, stored && object, config, triggerContext]
  return (await triggers.maybeRunTrigger('beforeSave', ...args)).object
}

async function requirePermission(classRequest: ClassRequest, operation: string): Promise<void> {
  const [{ database }, { isMaster, user }, className] = classRequest
  if (isMaster) return
  const schemas = await database.loadSchema()
  await schemas.validatePermission(className, ['*', ...(user ? [user.id] : [])], operation)
}

async function toObject(
  { conversion, classRequest }: ObjectWrite,
  document: ParseDocument,
): Promise<ClassForm> {
  const [{ database }, , className] = classRequest
  return toClassObject(conversion, await database.loadSchema(), className, document)
}
