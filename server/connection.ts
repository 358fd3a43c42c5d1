import type { Db, MongoClient } from 'mongodb'
import { type Metrics, observeCommands } from './metrics.ts'

export interface Connection {
  client: MongoClient
  db: Db
  /** The same connection in the form that Parse Server takes. */
  adapter: unknown
  close(): Promise<void>
}

interface Adapter {
  client: MongoClient
  database: Db
  connect(): Promise<void>
  handleShutdown(): Promise<void>
}

/** Opens the one connection of the process, for Parse Server and for everything else. */
export async function openConnection(uri: string, metrics: Metrics): Promise<Connection> {
  // Read while Parse Server's modules load: without it a folder `logs` appears in the working directory.
  process.env.PARSE_SERVER_LOGS_FOLDER = 'null'
  const { default: MongoStorageAdapter } = await import(
    'parse-server/lib/Adapters/Storage/Mongo/MongoStorageAdapter.js'
  )
  const mongoOptions = { monitorCommands: true, maxTimeMS: 30_000 }
  const adapter: Adapter = new MongoStorageAdapter.default({ uri, mongoOptions })
  await adapter.connect()
  const { client, database: db } = adapter
  observeCommands(client, metrics)
  return { client, db, adapter, close: () => adapter.handleShutdown() }
}
