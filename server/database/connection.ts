import type { Db, MongoClient } from 'mongodb'
import {
  type RespondInFull,
  respondInFull,
  type SavingAdapter,
} from '../../cloud/parse-server/adapter/full-responses.ts'
import {
  createTogether,
  type JoinWrite,
  joinWrites,
  type WritingAdapter,
} from '../../cloud/parse-server/adapter/joint-writes.ts'
import { type QueryingAdapter, tellRefusals } from '../../cloud/parse-server/adapter/query-refusals.ts'
import { readOnce } from '../../cloud/parse-server/adapter/read-once.ts'
import type { WatchedAdapter } from '../../cloud/parse-server/adapter/session-watch.ts'
import { loadParseServer } from '../../cloud/parse-server/internals.ts'
import { contents } from '../../records/kinds.ts'
import type { LastRead } from '../../records/store/announce.ts'
import { keepDeadlines, QUERY_MS } from '../../records/store/reading/deadline.ts'
import { UnderWay } from '../../records/store/steps/under-way.ts'
import { veil } from '../../records/store/steps/veil.ts'
import { type Metrics, observeCommands } from '../telemetry/metrics.ts'
import { whileServing } from './replica-set.ts'

export interface Connection {
  client: MongoClient
  db: Db
  /** The same connection in the form that Parse Server takes. */
  adapter: Adapter
  underWay: UnderWay
  lastRead: LastRead
  joinWrite: JoinWrite
  respondInFull: RespondInFull
  close(): Promise<void>
}

interface Adapter extends WatchedAdapter, QueryingAdapter {
  createObject: WritingAdapter['createObject'] & SavingAdapter['createObject']
  findOneAndUpdate: WritingAdapter['findOneAndUpdate'] & SavingAdapter['findOneAndUpdate']
  deleteObjectsByQuery: WatchedAdapter['deleteObjectsByQuery'] & WritingAdapter['deleteObjectsByQuery']
  client: MongoClient
  database: Db
  find: Parameters<typeof readOnce>[0]['find']
  connect(): Promise<void>
  handleShutdown(): Promise<void>
}

/**
 * Opens the one connection of the process, for Parse Server and for everything else.
 * @param others whether other instances work on the same database
 */
export async function openConnection(uri: string, metrics: Metrics, others: boolean): Promise<Connection> {
  const { MongoStorageAdapter, ParseError, toObject, writeAnswers } = await loadParseServer()
  const mongoOptions = { ...whileServing(uri), maxTimeMS: QUERY_MS }
  const adapter: Adapter = new MongoStorageAdapter({ uri, mongoOptions })
  tellRefusals(adapter, ParseError)
  await adapter.connect()
  keepDeadlines(adapter.database)
  const underWay = new UnderWay({ client: adapter.client, db: adapter.database }, contents.Ehr, others)
  veil(adapter.database, underWay)
  const lastRead = readOnce(adapter, toObject)
  createTogether(adapter)
  const joinWrite = joinWrites(adapter)
  const { client, database: db } = adapter
  observeCommands(client, metrics)
  return {
    ...{ client, db, adapter, underWay, lastRead, joinWrite },
    respondInFull: (afterCreate) => respondInFull(adapter, writeAnswers, toObject, afterCreate),
    close: () => adapter.handleShutdown(),
  }
}
