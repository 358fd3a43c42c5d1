import type { Db, MongoClient } from 'mongodb'
import { type AskedAdapter, tellRefusals } from '../../cloud/parse-server/adapter/query-refusals.ts'
import { readOnce } from '../../cloud/parse-server/adapter/read-once.ts'
import type { WatchedAdapter } from '../../cloud/parse-server/adapter/session-watch.ts'
import {
  type AnswerWhole,
  answerWhole,
  type SavingAdapter,
} from '../../cloud/parse-server/adapter/whole-answers.ts'
import {
  type WriteAlong,
  type WritingAdapter,
  writeAlong,
} from '../../cloud/parse-server/adapter/written-along.ts'
import { loadParseServer } from '../../cloud/parse-server/internals.ts'
import type { LastRead } from '../../records/store/announce.ts'
import { keepDeadlines, QUERY_MS } from '../../records/store/reading/deadline.ts'
import { type Metrics, observeCommands } from '../telemetry/metrics.ts'
import { whileServing } from './replica-set.ts'

export interface Connection {
  client: MongoClient
  db: Db
  /** The same connection in the form that Parse Server takes. */
  adapter: Adapter
  lastRead: LastRead
  writeAlong: WriteAlong
  answerWhole: AnswerWhole
  close(): Promise<void>
}

interface Adapter extends WatchedAdapter, AskedAdapter {
  createObject: WritingAdapter['createObject'] & SavingAdapter['createObject']
  findOneAndUpdate: WritingAdapter['findOneAndUpdate'] & SavingAdapter['findOneAndUpdate']
  deleteObjectsByQuery: WatchedAdapter['deleteObjectsByQuery'] & WritingAdapter['deleteObjectsByQuery']
  client: MongoClient
  database: Db
  find: Parameters<typeof readOnce>[0]['find']
  connect(): Promise<void>
  handleShutdown(): Promise<void>
}

/** Opens the one connection of the process, for Parse Server and for everything else. */
export async function openConnection(uri: string, metrics: Metrics): Promise<Connection> {
  const { MongoStorageAdapter, ParseError, toObject, writeAnswers } = await loadParseServer()
  const mongoOptions = { ...whileServing(uri), maxTimeMS: QUERY_MS }
  const adapter: Adapter = new MongoStorageAdapter({ uri, mongoOptions })
  tellRefusals(adapter, ParseError)
  await adapter.connect()
  keepDeadlines(adapter.database)
  const lastRead = readOnce(adapter, toObject)
  const along = writeAlong(adapter)
  const { client, database: db } = adapter
  observeCommands(client, metrics)
  return {
    ...{ client, db, adapter, lastRead, writeAlong: along },
    answerWhole: (afterCreate) => answerWhole(adapter, writeAnswers, toObject, afterCreate),
    close: () => adapter.handleShutdown(),
  }
}
