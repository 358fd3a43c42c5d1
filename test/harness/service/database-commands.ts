import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { Document } from 'mongodb'
import { service } from './service.ts'

type Send = (this: unknown, namespace: unknown, command: Document, ...more: unknown[]) => unknown

/** What the driver sends by; the service does not listen to single commands, since that costs every request. */
const { Connection }: { Connection: { prototype: { command: Send } } } = createRequire(import.meta.url)(
  'mongodb/lib/cmap/connection',
)

const ofClasses = /^(_User|_Role|_Join.*|[A-Z][A-Za-z]+)$/

type Work = (commands: readonly Document[]) => PromiseLike<unknown>

/** What a command is sent for; nothing: for what the service does by itself, or for a request that came before. */
const cause = new AsyncLocalStorage<object>()

/**
 * The commands that some work, which is shown them, has the service send to the database: in its requests, until they are
 * answered and after that. Those on classes, users and roles, and on these other collections.
 */
export async function commandsOf(work: Work, others?: RegExp): Promise<Document[]> {
  const own = {}
  const server: { emit(event: string, ...args: unknown[]): boolean } = Server.prototype
  const { emit } = server
  server.emit = function (event, ...args) {
    const tell = () => emit.call(this, event, ...args)
    return event === 'request' ? cause.run(own, tell) : tell()
  }
  try {
    return await sentDuring(
      (commands) => cause.run(own, work, commands),
      others,
      () => cause.getStore() === own,
    )
  } finally {
    server.emit = emit
  }
}

/** The same, with those of others and those that the service sends by itself. */
export const commandsDuring = (work: Work, others?: RegExp): Promise<Document[]> =>
  sentDuring(work, others, () => true)

async function sentDuring(work: Work, others = /^$/, isWanted: () => boolean): Promise<Document[]> {
  const commands: Document[] = []
  const { command: send } = Connection.prototype
  Connection.prototype.command = function (namespace, command, ...more) {
    const commandName = Object.keys(command)[0] ?? ''
    const isOnThem = ofClasses.test(command[commandName]) || others.test(command[commandName])
    // The driver looks now and then how the server is, and the service whether a transaction has been abandoned.
    const isOfNobody = /^(hello|ismaster)$/.test(commandName) || command.aggregate === 1
    if (isOnThem && !isOfNobody && isWanted()) commands.push({ ...command, commandName })
    return send.call(this, namespace, command, ...more)
  }
  try {
    await work(commands)
  } finally {
    Connection.prototype.command = send
  }
  return commands
}

/** What a transaction has written: how many documents of each collection, and by how many commands. */
export interface Written {
  documents: Record<string, number>
  commands: number
}

/** What each transaction of some work has written that was committed. */
export async function transactionsOf(work: () => PromiseLike<unknown>): Promise<Written[]> {
  const open = new Map<unknown, Written>()
  const committed: Written[] = []
  const { command: send } = Connection.prototype
  Connection.prototype.command = async function (namespace, command, options, ...more) {
    const reply = await send.call(this, namespace, command, options, ...more)
    const { session } = (options ?? {}) as { session?: { inTransaction(): boolean } }
    const commandName = Object.keys(command)[0] ?? ''
    const written = open.get(session)
    if (commandName === 'commitTransaction' && written) committed.push(written)
    if (commandName === 'commitTransaction' || commandName === 'abortTransaction') open.delete(session)
    else if (session?.inTransaction()) {
      const now = written ?? { documents: {}, commands: 0 }
      open.set(session, now)
      now.commands += 1
      const { n = 0 } = (reply as { toObject?(): Document }).toObject?.() ?? (reply as Document)
      const isWrite = ['insert', 'update', 'delete'].includes(commandName)
      if (isWrite) now.documents[command[commandName]] = (now.documents[command[commandName]] ?? 0) + n
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

/** Does work while `reply` answers commands in the database's place; what it leaves undefined, or passes on, goes there. */
export async function answering(
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

/** The conditions of a command, as finds. */
const conditionsOf = (command: Document): Document[] => {
  const condition = command.filter ?? command.query ?? command.pipeline?.[0]?.$match
  if (condition) return [condition]
  return [...(command.updates ?? []), ...(command.deletes ?? [])].map(({ q }: Document) => q)
}

async function planOf(command: Document, filter: Document): Promise<string> {
  const find = { find: command[command.commandName], filter, ...(command.sort && { sort: command.sort }) }
  const { queryPlanner } = await service.db.command({ explain: find, verbosity: 'queryPlanner' })
  return JSON.stringify(queryPlanner.winningPlan)
}

/** Asserts that an index leads every command to what it looks for, in the order that is asked for. */
export async function assertNoSort(commands: Document[]): Promise<void> {
  await assertNoScan(commands)
  for (const command of commands)
    for (const filter of conditionsOf(command))
      assert.doesNotMatch(await planOf(command, filter), /"SORT"/, JSON.stringify(command))
}

/** Asserts that an index leads every command to what it looks for. */
export async function assertNoScan(commands: Document[]): Promise<void> {
  for (const command of commands)
    for (const filter of conditionsOf(command)) {
      const plan = await planOf(command, filter)
      assert.doesNotMatch(plan, /COLLSCAN/, `${command[command.commandName]} ${JSON.stringify(filter)}`)
    }
}
