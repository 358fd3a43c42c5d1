import { type ClientSession, type Collection, type Db, type MongoClient, MongoServerError } from 'mongodb'
import type { ParseDocument } from './parse-format.ts'

/** The database that both families share, on the one client that Parse opened. */
export interface Database {
  client: MongoClient
  db: Db
}

/** The documents of a class, and of what is kept in the same way, as Parse stores them. */
export const documentsOf = ({ db }: Pick<Database, 'db'>, name: string): Collection<ParseDocument> =>
  db.collection<ParseDocument>(name)

/** Whether a write failed because a unique index holds its value already. */
export const isDuplicate = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && error.code === 11_000

/** Writes together or not at all; the work may run more than once, when others write the same. */
export const together = <T>({ client }: Database, work: (session: ClientSession) => Promise<T>): Promise<T> =>
  client.withSession((session) => session.withTransaction(() => work(session)))
