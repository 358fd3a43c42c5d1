/** commitTransaction, abortTransaction and the end of sessions. */
import type { Document } from 'bson'
import { fail } from '../values/errors.ts'
import { toBigInt } from '../values/values.ts'
import type { Command } from './context.ts'

/** A session's id as text. */
export const sessionId = (lsid: unknown): string => {
  const id = (lsid as Document | undefined)?.id
  return typeof id?.toString === 'function'
    ? id.toString('hex')
    : fail(14, "BSON field 'lsid.id' is the wrong type, expected type 'binData'")
}

/** Whom the cursors of a session's transaction belong to. */
export const transactionOwner = (id: string, number: bigint): string => `${id}/${number}`

const commitTransaction: Command = {
  transactional: true,
  options: 'recoveryToken',
  async run({ engine, command }) {
    const [id, number] = [sessionId(command.lsid), toBigInt(command.txnNumber)]
    // One that is sent again, because its answer was lost, is not done again.
    if (engine.lastWrites.has({ session: id, number })) return { ok: 1 }
    const transaction = engine.transactions.find(id, number)
    if (transaction.state === 'aborted') engine.transactions.active(id, number)
    await engine.transactions.commit(transaction)
    engine.cursors.killOwned(transactionOwner(id, number))
    return { ok: 1 }
  },
}

const abortTransaction: Command = {
  transactional: true,
  options: 'recoveryToken',
  run({ engine, command }) {
    const [id, number] = [sessionId(command.lsid), toBigInt(command.txnNumber)]
    engine.transactions.abort(engine.transactions.active(id, number))
    engine.cursors.killOwned(transactionOwner(id, number))
    return { ok: 1 }
  },
}

const endSessions: Command = {
  run({ engine, command }) {
    const ids = command.endSessions ?? command.killSessions
    for (const lsid of Array.isArray(ids) ? ids : []) engine.transactions.endSession(sessionId(lsid))
    return { ok: 1 }
  },
}

const refreshSessions: Command = { run: () => ({ ok: 1 }) }

export const sessions: Record<string, Command> = {
  commitTransaction,
  abortTransaction,
  endSessions,
  killSessions: endSessions,
  refreshSessions,
}
