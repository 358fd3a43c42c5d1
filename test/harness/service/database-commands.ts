import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { Document } from 'mongodb'
import { service } from './service.ts'

type SendCommand = (this: unknown, namespace: unknown, command: Document, ...more: unknown[]) => unknown

/**
 * The driver's internals: the service does not enable command monitoring, which would slow down every
 * request.
 */
const { Connection }: { Connection: { prototype: { command: SendCommand } } } = createRequire(
  import.meta.url,
)('mongodb/lib/cmap/connection')

const CLASS_COLLECTIONS = /^(_User|_Role|_Join.*|[A-Z][A-Za-z]+)$/

type RecordedWork = (commands: readonly Document[]) => PromiseLike<unknown>

/** The work that causes a command; undefined for the service's own commands and for earlier requests. */
const CAUSE = new AsyncLocalStorage<object>()

/**
 * Records the database commands that some work causes, in its requests and after their answers. It records
 * commands on classes, users and roles, and on these other collections.
 */
export const recordCommands = (work: RecordedWork, otherNames?: RegExp): Promise<Document[]> =>
  asCause(work, (causingWork, isCaused) => recordSentCommands(causingWork, otherNames, isCaused))

/** Runs a recording of some work, and tells it which commands the work causes. */
async function asCause<Work extends (...input: never[]) => PromiseLike<unknown>, Recorded>(
  work: Work,
  record: (causingWork: Work, isCaused: () => boolean) => Promise<Recorded>,
): Promise<Recorded> {
  const own = {}
  const server: { emit(event: string, ...args: unknown[]): boolean } = Server.prototype
  const { emit } = server
  server.emit = function (event, ...args) {
    const tell = () => emit.call(this, event, ...args)
    return event === 'request' ? CAUSE.run(own, tell) : tell()
  }
  try {
    const causingWork = ((...input) => CAUSE.run(own, work, ...input)) as Work
    return await record(causingWork, () => CAUSE.getStore() === own)
  } finally {
    server.emit = emit
  }
}

/** Also records commands of other callers and of the service itself. */
export const recordAllCommands = (work: RecordedWork, otherNames?: RegExp): Promise<Document[]> =>
  recordSentCommands(work, otherNames, () => true)

async function recordSentCommands(
  work: RecordedWork,
  otherNames = /^$/,
  isWanted: () => boolean,
): Promise<Document[]> {
  const commands: Document[] = []
  const { command: send } = Connection.prototype
  Connection.prototype.command = function (namespace, command, ...more) {
    for (const one of splitBulkWrite(command)) {
      const commandName = Object.keys(one)[0] ?? ''
      const isOnThem = CLASS_COLLECTIONS.test(one[commandName]) || otherNames.test(one[commandName])
      // Ignores the driver's monitoring, and the service's search for abandoned transactions.
      const isOfNobody = /^(hello|ismaster)$/.test(commandName) || one.aggregate === 1
      if (isOnThem && !isOfNobody && isWanted()) commands.push({ ...one, commandName })
    }
    return send.call(this, namespace, command, ...more)
  }
  try {
    await work(commands)
  } finally {
    Connection.prototype.command = send
  }
  return commands
}

/** The parts of a bulkWrite as the commands that it stands for: one for each collection and kind of write. */
function splitBulkWrite(command: Document): Document[] {
  if (command.bulkWrite !== 1) return [command]
  const listOf = (list: { documents?: Document[] } & Document[]) => list.documents ?? list
  const parts = new Map<string, Document>()
  for (const { document, filter: q, updateMods: u, ...op } of listOf(command.ops)) {
    const kind = ['insert', 'update', 'delete'].find((name) => name in op) ?? ''
    const collection = String(listOf(command.nsInfo)[op[kind]]?.ns).replace(/^[^.]*\./, '')
    const lists = kind === 'insert' ? 'documents' : `${kind}s`
    const part = parts.get(`${kind} ${collection}`) ?? { [kind]: collection, [lists]: [] }
    part[lists].push(document ?? { q, u })
    parts.set(`${kind} ${collection}`, part)
  }
  return [...parts.values()]
}

/** The writes of a transaction: the number of documents by collection, and the number of commands. */
export interface TransactionWrites {
  documents: Record<string, number>
  commands: number
}

const toObject = (reply: unknown): Document =>
  (reply as { toObject?(): Document }).toObject?.() ?? (reply as Document)

/** The writes of each committed transaction that some work causes. */
export const recordTransactions = (work: () => PromiseLike<unknown>): Promise<TransactionWrites[]> =>
  asCause(work, recordCommittedWrites)

async function recordCommittedWrites(
  work: () => PromiseLike<unknown>,
  isWanted: () => boolean,
): Promise<TransactionWrites[]> {
  const open = new Map<unknown, TransactionWrites>()
  const committed: TransactionWrites[] = []
  const { command: send } = Connection.prototype
  Connection.prototype.command = async function (namespace, command, options, ...more) {
    const reply = await send.call(this, namespace, command, options, ...more)
    if (!isWanted()) return reply
    const { session } = (options ?? {}) as { session?: { inTransaction(): boolean } }
    const commandName = Object.keys(command)[0] ?? ''
    const writes = open.get(session)
    if (commandName === 'commitTransaction' && writes) committed.push(writes)
    if (commandName === 'commitTransaction' || commandName === 'abortTransaction') open.delete(session)
    else if (session?.inTransaction()) {
      const now = writes ?? { documents: {}, commands: 0 }
      open.set(session, now)
      now.commands += 1
      for (const one of splitBulkWrite(command)) {
        const [kind = ''] = Object.keys(one)
        const items: unknown = one.documents ?? one.updates ?? one.deletes
        const isAlone = one === command
        const { n = 0 } = isAlone ? toObject(reply) : { n: (items as unknown[]).length }
        const isWrite = ['insert', 'update', 'delete'].includes(kind)
        if (isWrite) now.documents[one[kind]] = (now.documents[one[kind]] ?? 0) + n
      }
    }
    return reply
  }
  try {
    await work()
  } finally {
    Connection.prototype.command = send
  }
  return committed
}

/**
 * Runs work while `reply` answers commands in place of the database. Commands for which it returns undefined
 * go to the database.
 */
export async function withAnsweredCommands(
  reply: (command: Document, pass: () => unknown) => Promise<unknown> | undefined,
  work: () => PromiseLike<unknown>,
): Promise<void> {
  const { command: send } = Connection.prototype
  Connection.prototype.command = function (namespace, command, ...more) {
    const pass = () => send.call(this, namespace, command, ...more)
    return reply(command, pass) ?? pass()
  }
  try {
    await work()
  } finally {
    Connection.prototype.command = send
  }
}

/** Does something else before the first command of some work that fits. */
export async function beforeFirstCommand(
  fits: (command: Document) => boolean,
  interrupt: () => PromiseLike<unknown>,
  work: () => PromiseLike<unknown>,
): Promise<void> {
  let isInterrupted = false
  await withAnsweredCommands((command, pass) => {
    if (isInterrupted || !fits(command)) return undefined
    isInterrupted = true
    return Promise.resolve(interrupt()).then(pass)
  }, work)
  assert.ok(isInterrupted)
}

/** The conditions of a command, as find commands. */
const conditionsOf = (command: Document): Document[] => {
  const condition = command.filter ?? command.query ?? command.pipeline?.[0]?.$match
  if (condition) return [condition]
  return [...(command.updates ?? []), ...(command.deletes ?? [])].map(({ q }: Document) => q)
}

async function explainPlan(command: Document, filter: Document): Promise<string> {
  const find = { find: command[command.commandName], filter, ...(command.sort && { sort: command.sort }) }
  const { queryPlanner } = await service.db.command({ explain: find, verbosity: 'queryPlanner' })
  return JSON.stringify(queryPlanner.winningPlan)
}

/** Asserts that each command uses an index for its filter and its order. */
export async function assertNoSort(commands: Document[]): Promise<void> {
  await assertNoScan(commands)
  for (const command of commands)
    for (const filter of conditionsOf(command))
      assert.doesNotMatch(await explainPlan(command, filter), /"SORT"/, JSON.stringify(command))
}

/** Asserts that each command uses an index for its filter. */
export async function assertNoScan(commands: Document[]): Promise<void> {
  for (const command of commands)
    for (const filter of conditionsOf(command)) {
      const plan = await explainPlan(command, filter)
      assert.doesNotMatch(plan, /COLLSCAN/, `${command[command.commandName]} ${JSON.stringify(filter)}`)
    }
}
