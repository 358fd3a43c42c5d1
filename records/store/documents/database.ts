import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ClientSession,
  type Collection,
  type Db,
  type Filter,
  type MongoClient,
  MongoError,
  MongoServerError,
} from 'mongodb'
import { type Caller, permitted } from './caller.ts'
import { isBrief, isConflict, isOutage, PATIENCE_MS } from './outage.ts'
import type { ParseDocument } from './parse-format.ts'

/** The database that both families share, on the one client that Parse opened. */
export interface Database {
  client: MongoClient
  db: Db
}

/** The documents of a class, and of what is kept in the same way, as Parse stores them. */
export const documentsOf = ({ db }: Pick<Database, 'db'>, name: string): Collection<ParseDocument> =>
  db.collection<ParseDocument>(name)

/** Whether there is one that the caller may read, without a trace in anybody's audit. */
export async function canRead(
  database: Pick<Database, 'db'>,
  caller: Caller,
  name: string,
  where: Filter<ParseDocument>,
): Promise<boolean> {
  const readable = { ...where, ...permitted('_rperm', caller) } as Filter<ParseDocument>
  return (await documentsOf(database, name).findOne(readable, { projection: { _id: 1 } })) !== null
}

/** Whether a write failed because a unique index holds its value already. */
export const isDuplicate = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && error.code === 11_000

/** Whether it is the id that was there already. Behind the index the message has values that anybody may have sent. */
export const isDuplicateId = (error: unknown): boolean =>
  isDuplicate(error) && /^[^{]* index:? '?_id_\b/i.test(error.message)

/**
 * Writes together or not at all, on what all reads of the work have seen. The work may run more than once, when others
 * write the same or the primary changes, but a request fails after some seconds: the driver's own loop goes on for two
 * minutes.
 * @param repeated whether it is tried again
 * @throws MongoError, marked as UnknownTransactionCommitResult when it may have been written all the same
 */
export async function together<T>(
  { client }: Pick<Database, 'client'>,
  work: (session: ClientSession) => Promise<T>,
  repeated = true,
): Promise<T> {
  const end = Date.now() + PATIENCE_MS
  for (let attempt = 1; ; attempt++) {
    const session = client.startSession()
    try {
      session.startTransaction({ readConcern: 'snapshot' })
      const result = await work(session)
      await commit(session, end)
      await session.endSession()
      return result
    } catch (error) {
      // Nobody waits for a server that is away to hear that the transaction is over.
      const ended = session.endSession().catch(() => {})
      if (!isOutage(error) || isConflict(error)) await ended
      if (!repeated || isInDoubt(error) || !isBrief(error)) throw error
      // Work that alone takes longer than anybody waits would otherwise never survive a conflict.
      if (Date.now() > end && (attempt >= FEWEST_ATTEMPTS || !isConflict(error))) throw error
      await sleep(Math.random() * Math.min(2 ** attempt, MOST_PAUSE_MS))
    }
  }
}

const MOST_PAUSE_MS = 200
/** Of work that others keep meeting. */
const FEWEST_ATTEMPTS = 3

/** A commit whose answer is lost is sent again: it is done once. */
async function commit(session: ClientSession, end: number): Promise<void> {
  for (;;) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (isConflict(error) || !(error instanceof MongoError)) throw error
      error.addErrorLabel(IN_DOUBT)
      if (Date.now() > end || !isBrief(error)) throw error
      await sleep(Math.random() * MOST_PAUSE_MS)
    }
  }
}

const IN_DOUBT = 'UnknownTransactionCommitResult'

/** The commit was sent and never answered: to write again might be to write twice. */
export const isInDoubt = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel(IN_DOUBT)
