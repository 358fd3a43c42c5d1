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
import { type Caller, permissionFilter } from './caller.ts'
import {
  isOutage,
  isTransientOutage,
  isWriteConflict,
  PRIMARY_SEARCH_TIMEOUT_MS,
  REQUEST_WAIT_TIMEOUT_MS,
} from './outage.ts'
import type { ParseDocument } from './parse-format.ts'

/** The database of both API families, on the client that Parse Server opened. */
export interface Database {
  client: MongoClient
  db: Db
}

/**
 * The documents of a class, or of another collection with the same format, as Parse stores them. Collections of the
 * service itself have a dot in their name. No Parse class can have one, so the class family never reaches them.
 */
export const documentCollection = ({ db }: Pick<Database, 'db'>, name: string): Collection<ParseDocument> =>
  db.collection<ParseDocument>(name)

/** Whether a matching document is readable for the caller. It is not audited. */
export async function canRead(
  database: Pick<Database, 'db'>,
  caller: Caller,
  name: string,
  where: Filter<ParseDocument>,
): Promise<boolean> {
  const readable = { ...where, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  return (await documentCollection(database, name).findOne(readable, { projection: { _id: 1 } })) !== null
}

/** The names of the collections, without those that a server adds itself, such as `system.profile`. */
export async function listCollectionNames(db: Db): Promise<string[]> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  return collections.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
}

/** A write violated a unique index. */
export const isDuplicateKeyError = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && error.code === 11_000

/** The duplicate value is the `_id`. The pattern stops at the key: what follows are values of clients. */
export const isDuplicateIdError = (error: unknown): boolean =>
  isDuplicateKeyError(error) && /^[^{]* index:? '?_id_\b/i.test(error.message)

/**
 * Runs work in a snapshot transaction, and retries it after write conflicts and a change of the primary. It
 * gives up after some seconds, because a request waits; the driver's own loop takes two minutes.
 * @param canRetry false: a single attempt
 * @throws MongoError with the label UnknownTransactionCommitResult when the commit may have succeeded
 */
export async function runTransaction<T>(
  { client }: Pick<Database, 'client'>,
  work: (session: ClientSession) => Promise<T>,
  canRetry = true,
): Promise<T> {
  const end = performance.now() + REQUEST_WAIT_TIMEOUT_MS
  for (let attempt = 1; ; attempt++) {
    const session = client.startSession()
    try {
      session.startTransaction({ readConcern: 'snapshot' })
      const result = await work(session)
      await commitWithRetry(session, end)
      await session.endSession()
      return result
    } catch (error) {
      // If the database is unreachable, do not wait for the end of the session.
      const sessionEnd = session.endSession().catch(() => {})
      if (!isOutage(error) || isWriteConflict(error)) await sessionEnd
      if (!canRetry || isCommitInDoubt(error) || !isTransientOutage(error)) throw error
      // Long work gets some attempts after the deadline: otherwise a single conflict would always end it.
      const isOver = isWriteConflict(error)
        ? performance.now() > end && attempt >= MIN_ATTEMPTS
        : !isTimeForRetry(end)
      if (isOver) throw error
      await sleep(Math.random() * Math.min(2 ** attempt, MAX_RETRY_DELAY_MS))
    }
  }
}

/** After an outage, the next attempt may have to search for a primary. */
const isTimeForRetry = (end: number): boolean => performance.now() < end - PRIMARY_SEARCH_TIMEOUT_MS

const MAX_RETRY_DELAY_MS = 200
/** For work that keeps running into write conflicts. */
const MIN_ATTEMPTS = 3

/** Resends a commit whose reply was lost; the server commits at most once. */
async function commitWithRetry(session: ClientSession, end: number): Promise<void> {
  for (;;) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (isWriteConflict(error) || !(error instanceof MongoError)) throw error
      error.addErrorLabel(UNKNOWN_COMMIT_RESULT)
      if (!isTimeForRetry(end) || !isTransientOutage(error)) throw error
      await sleep(Math.random() * MAX_RETRY_DELAY_MS)
    }
  }
}

const UNKNOWN_COMMIT_RESULT = 'UnknownTransactionCommitResult'

/** The commit was sent and its reply lost: writing again could write twice. */
export const isCommitInDoubt = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel(UNKNOWN_COMMIT_RESULT)
