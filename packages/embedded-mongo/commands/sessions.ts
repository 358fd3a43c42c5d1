/** Sessions: starts, ends and kills them, with their transactions and cursors. */
import { randomUUID } from 'node:crypto'
import { type Binary, type Document, UUID } from 'bson'
import type { WriteId } from '../storage/last-writes.ts'
import { bsonType, isNullish, isNumeric, isObject } from '../values/bson-values.ts'
import { fail } from '../values/errors.ts'
import { toBigInt } from '../values/numbers.ts'
import { checkKnown, text, wrongType } from '../values/options/option-types.ts'
import type { Command, CommandContext } from './context.ts'

/** The allowed fields of a session id; drivers send the last four with some commands only. */
const SESSION_ID_FIELDS = ['id', 'uid', 'txnNumber', 'txnUUID', 'stmtId']

/** A session's id as text. @throws 14, 40414, 40415, 207 for an invalid id */
export const sessionId = (value: unknown, name: string): string => {
  if (!isObject(value)) return wrongType(name, 'object')
  checkKnown(value, name, SESSION_ID_FIELDS)
  const { id } = value
  if (isNullish(id)) return fail(40414, `BSON field '${name}.id' is missing but a required field`)
  if (bsonType(id) !== 'Binary' || (id as Binary).sub_type !== 4) return wrongType(`${name}.id`, 'binData')
  if ((id as Binary).length() !== 16) fail(207, 'uuid must be a 16-byte binary field with UUID (4) subtype')
  return Buffer.from((id as Binary).value()).toString('hex')
}

/** The owner of the cursors of a session's transaction. */
export const transactionOwner = (id: string, number: bigint): string => `${id}/${number}`

/** @throws 13 outside `admin`, 125 outside a transaction, 225 for one older than the session's last write */
const transactionOf = ({ engine, command, db }: CommandContext, name: string): WriteId => {
  if (db !== 'admin') fail(13, `${name} may only be run against the admin database.`)
  if (!isNumeric(command.txnNumber)) fail(125, `${name} must be run within a transaction`)
  const write = { session: sessionId(command.lsid, 'lsid'), number: toBigInt(command.txnNumber) }
  engine.lastWrites.check(write)
  return write
}

const commitTransaction: Command = {
  transactional: true,
  options: 'recoveryToken',
  async run(context) {
    const { engine } = context
    const { session, number } = transactionOf(context, 'commitTransaction')
    // A retried commit, whose first answer was lost, must not be carried out again. While the transaction is in
    // memory, its commit may still fail.
    if (!engine.transactions.has(session, number) && engine.lastWrites.has({ session, number }))
      return { ok: 1 }
    const transaction = engine.transactions.find(session, number)
    if (transaction.state === 'aborted') engine.transactions.active(session, number)
    await engine.transactions.commit(transaction)
    engine.cursors.killOwned(transactionOwner(session, number))
    return { ok: 1 }
  },
}

const abortTransaction: Command = {
  transactional: true,
  options: 'recoveryToken',
  run(context) {
    const { engine } = context
    const { session, number } = transactionOf(context, 'abortTransaction')
    engine.transactions.abort(engine.transactions.active(session, number))
    engine.cursors.killOwned(transactionOwner(session, number))
    return { ok: 1 }
  },
}

const startSession: Command = {
  run: () => ({ id: { id: new UUID(randomUUID()) }, timeoutMinutes: 30, ok: 1 }),
}

/** The entries of a command's list without nulls. @throws 40414, 14 */
const listOf = ({ command }: CommandContext, name: string): unknown[] => {
  const list = command[name]
  if (isNullish(list)) return fail(40414, `BSON field '${name}' is missing but a required field`)
  return Array.isArray(list) ? list.filter((entry) => !isNullish(entry)) : wrongType(name, 'array')
}

/** Ends sessions, with their transactions and cursors. */
const defineEndCommand = (name: string): Command => ({
  run(context) {
    const { transactions, cursors } = context.engine
    for (const id of listOf(context, name).map((entry) => sessionId(entry, name))) {
      transactions.endSession(id)
      cursors.killOwned(id)
    }
    return { ok: 1 }
  },
})

const killAllSessions: Command = {
  run(context) {
    const users = listOf(context, 'killAllSessions')
    for (const user of users) checkUser(user)
    // The engine has no users, so naming users ends no sessions.
    if (users.length === 0) {
      context.engine.transactions.abortAll()
      context.engine.cursors.killOwned()
    }
    return { ok: 1 }
  },
}

const checkUser = (value: unknown): void => {
  const user: Document = isObject(value)
    ? value
    : fail(14, "BSON field 'killAllSessions' must be an array of users")
  checkKnown(user, 'user', ['user', 'db'])
  for (const key of ['user', 'db']) {
    if (isNullish(user[key])) fail(40414, `BSON field 'user.${key}' is missing but a required field`)
    text(user[key], `user.${key}`)
  }
}

export const sessions: Record<string, Command> = {
  commitTransaction,
  abortTransaction,
  startSession,
  endSessions: defineEndCommand('endSessions'),
  killSessions: defineEndCommand('killSessions'),
  killAllSessions,
  refreshSessions: {
    run(context) {
      for (const entry of listOf(context, 'refreshSessions')) sessionId(entry, 'refreshSessions')
      return { ok: 1 }
    },
  },
}
