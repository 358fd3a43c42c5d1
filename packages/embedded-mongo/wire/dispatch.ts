/** Runs commands: finds the command, checks its general options, runs it, and converts errors to answers. */
import { type Document, Double, Timestamp } from 'bson'
import type { Command, CommandContext } from '../commands/context.ts'
import { definitions } from '../commands/definitions/definitions.ts'
import { diagnostics } from '../commands/diagnostics.ts'
import { indexes } from '../commands/index-commands.ts'
import { aggregate } from '../commands/reads/aggregate.ts'
import { explain } from '../commands/reads/explain.ts'
import { reads } from '../commands/reads/reads.ts'
import { sessionId, sessions, transactionOwner } from '../commands/sessions.ts'
import { databaseOfBulkWrite } from '../commands/writes/bulk-write.ts'
import { writes } from '../commands/writes/writes.ts'
import { evaluateConstant } from '../language/expressions/compile.ts'
import { checkVariable } from '../language/expressions/expression.ts'
import type { Engine } from '../storage/engine.ts'
import { checkActive, type EngineTransaction } from '../storage/transactions.ts'
import { encode, isNullish, isObject, isTruthy } from '../values/bson-values.ts'
import { CommandError, createTransientError, fail, toCommandError } from '../values/errors.ts'
import { readInteger, toBigInt } from '../values/numbers.ts'
import { CommandTimer } from '../values/steps.ts'
import type { Request } from './messages.ts'
import { checkApi, checkTransaction, checkTypes, underConcern } from './option-checks.ts'

const commands: Record<string, Command> = {
  ...diagnostics,
  ...reads,
  ...writes,
  ...definitions,
  ...indexes,
  ...sessions,
  aggregate,
  explain,
}

/** Commands that drivers and tools may try, by the feature that is missing. */
const unsupportedCommands: Record<string, string> = {
  authentication: 'saslStart saslContinue authenticate createUser',
  'map-reduce': 'mapReduce',
  'geospatial search': 'geoSearch',
  'a capped collection': 'convertToCapped cloneCollectionAsCapped',
  replication: 'replSetInitiate applyOps',
  sharding: 'enableSharding shardCollection',
}

/** Options that any command takes; most have no effect here. */
const general =
  '$db $readPreference $clusterTime lsid txnNumber startTransaction autocommit comment writeConcern readConcern ' +
  'maxTimeMS let apiVersion apiStrict apiDeprecationErrors'

export class Dispatcher {
  readonly #engine: Engine
  /**
   * Retryable writes that are running, by session. If the same write is sent again meanwhile, it waits for
   * the first.
   */
  readonly runningWrites = new Map<string, Promise<unknown>>()
  #time = Timestamp.fromBits(0, 0)

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Never throws. */
  async run({ command: request, fault }: Request, connectionId: number): Promise<Buffer> {
    try {
      if (fault) throw fault
      const reply = await this.#run(request, connectionId)
      return Buffer.isBuffer(reply)
        ? reply
        : encode({ ...underConcern(reply, request), ok: new Double(reply.ok) })
    } catch (error) {
      const fault = toCommandError(error)
      if (fault.code === 1) process.stderr.write(`embedded-mongo: ${(error as Error).stack}\n`)
      return encode(fault.reply())
    }
  }

  #run(request: Document, connectionId: number): Document | Buffer | Promise<Document | Buffer> {
    const name = Object.keys(request)[0] ?? ''
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (!command) {
      const feature = Object.keys(unsupportedCommands).find((key) =>
        unsupportedCommands[key]?.split(' ').includes(name),
      )
      if (feature) fail(115, `${name}: ${feature} is not supported by this engine`)
      return fail(59, `no such command: '${name}'`)
    }
    checkOptions(name, request)
    checkTransaction(request)
    checkApi(name, request)
    const context = this.#context(request, connectionId)
    if (request.autocommit === false) return this.#inTransaction(name, command, context)
    if (isNullish(request.txnNumber)) return command.run(context)
    return name in writes
      ? this.#runRetryable(command, context)
      : fail(50768, `txnNumber without autocommit is for retryable writes; ${name} is not one`)
  }

  /** The cluster time of the replica set that the engine presents; it grows with each command. */
  #tick(): Timestamp {
    const now = new Timestamp({ t: Math.floor(Date.now() / 1000), i: 1 })
    this.#time = now.greaterThan(this.#time) ? now : Timestamp.fromBits(this.#time.low + 1, this.#time.high)
    return this.#time
  }

  #context(request: Document, connectionId: number): CommandContext {
    const variables = {
      NOW: new Date(),
      CLUSTER_TIME: this.#tick(),
      ...(isObject(request.let) && constants(request.let)),
    }
    const command: Document = Object.assign(request, { let: variables })
    // An empty collation means the collection's own, except in `create`.
    if (!('create' in request) && isObject(request.collation) && Object.keys(request.collation).length === 0)
      delete command.collation
    const engine = this.#engine
    const db = databaseOf(command)
    const maxTimeMs = readInteger(command.maxTimeMS, 'maxTimeMS', 0)
    const timer = new CommandTimer(maxTimeMs)
    return {
      engine,
      db,
      command,
      timer,
      connectionId,
      view: engine.storage,
      find: (name) => engine.catalog.find(`${db}.${name}`),
      ensure: (name) => engine.ensure(db, name),
      write: (run) => engine.write(run, timer),
      owner: isNullish(command.lsid) ? undefined : sessionId(command.lsid, 'lsid'),
      inTransaction: false,
    }
  }

  async #runRetryable(command: Command, context: CommandContext): Promise<Document | Buffer> {
    const session = context.owner ?? ''
    const write = { session, number: toBigInt(context.command.txnNumber) }
    while (this.runningWrites.has(session)) await this.runningWrites.get(session)
    const { lastWrites } = context.engine
    lastWrites.check(write)
    context.retryable = { write, isRetry: lastWrites.has(write) }
    const reply = Promise.resolve(command.run(context))
    const over = reply.then(
      () => {},
      () => {},
    )
    this.runningWrites.set(session, over)
    try {
      return await reply
    } finally {
      this.runningWrites.delete(session)
    }
  }

  async #inTransaction(name: string, command: Command, context: CommandContext): Promise<Document | Buffer> {
    const { engine, command: request, db } = context
    if (!command.transactional) fail(263, `Cannot run '${name}' in a multi-document transaction.`)
    if (name in sessions) return command.run(context)
    if (name in writes && /^(admin|config|local)$/.test(db))
      fail(263, `Cannot write to the database ${db} in a transaction.`)
    if (name === 'killCursors' && isTruthy(request.startTransaction))
      fail(263, `Cannot run '${name}' as the first operation in a transaction.`)
    if (!isNullish(request.writeConcern))
      fail(72, 'writeConcern is only allowed for the commands that end a transaction')
    const id = sessionId(request.lsid, 'lsid')
    const number = toBigInt(request.txnNumber)
    const transaction = isTruthy(request.startTransaction)
      ? engine.transactions.start(id, number, engine.catalog.version)
      : engine.transactions.active(id, number)
    transaction.connectionId = context.connectionId
    transaction.idleSince = undefined
    const owner = transactionOwner(id, number)
    const abortTransaction = () => {
      // A command cannot read the snapshot of a transaction that has ended meanwhile.
      checkActive(transaction)
      engine.transactions.abort(transaction)
      engine.cursors.killOwned(owner)
    }
    try {
      const inside = insideOf(engine, context, transaction)
      return await command.run({ ...context, ...inside, owner, abortTransaction })
    } catch (error) {
      abortTransaction()
      throw error
    } finally {
      transaction.idleSince = Date.now()
    }
  }
}

/** The database of a command's collections. */
const databaseOf = (command: Document): string => {
  if (typeof command.$db !== 'string') fail(40414, "BSON field '$db' is missing but a required field")
  return 'bulkWrite' in command ? databaseOfBulkWrite(command) : command.$db
}

/** `let` variables are expressions without access to a document. */
const constants = (variables: Document): Document => {
  const values: Document = {}
  for (const [name, value] of Object.entries(variables)) {
    if (name === 'NOW' || name === 'CLUSTER_TIME') fail(4738901, `${name} is a system variable`)
    values[checkVariable(name)] = evaluateConstant(value, values)
  }
  return values
}

/** The context of a command inside a transaction. */
const insideOf = (
  engine: Engine,
  { db, ensure, timer }: CommandContext,
  transaction: EngineTransaction,
): Pick<CommandContext, 'view' | 'find' | 'ensure' | 'write' | 'inTransaction'> => {
  const find: CommandContext['find'] = (name) => {
    const collection = engine.catalog.find(`${db}.${name}`)
    if (collection && collection.version > transaction.catalogVersion)
      throw createTransientError(246, `The definition of ${collection.ns} is newer than the snapshot`)
    return collection
  }
  return {
    view: transaction.view,
    find,
    ensure: async (name) => find(name) ?? ensure(name),
    inTransaction: true,
    write: async (run) => {
      timer.startSlice()
      return engine.transactions.write(transaction, run)
    },
  }
}

/** The options of each command. */
const optionsByCommand = new Map(
  Object.entries(commands).map(([name, { options }]) => [
    name,
    options === undefined ? undefined : new Set(`${general} ${options}`.split(' ')),
  ]),
)

/** @throws 40415 for an unknown option, 246 for a read concern that needs a replica set */
const checkOptions = (name: string, request: Document): void => {
  const options = optionsByCommand.get(name)
  for (const option of Object.keys(request).slice(1))
    if (options && !options.has(option)) fail(40415, `BSON field '${name}.${option}' is an unknown field.`)
  checkTypes(name, request)
  const { readConcern } = request
  if (isObject(readConcern) && readConcern.level === 'snapshot' && request.autocommit !== false)
    throw new CommandError(246, 'snapshot reads outside a transaction are not supported by this engine')
}
