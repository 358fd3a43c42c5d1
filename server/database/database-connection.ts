import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { type Db, MongoClient } from 'mongodb'
import {
  type QueryingAdapter,
  translateDatabaseErrors,
} from '../../cloud/parse-server/adapter/database-errors.ts'
import { adaptToOpenEnvironment } from '../../cloud/parse-server/adapter/open-environment.ts'
import type { WatchedAdapter } from '../../cloud/parse-server/adapter/session-watch.ts'
import { loadParseServer } from '../../cloud/parse-server/internals.ts'
import { type FindObjectWriter, handOverWrites } from '../../cloud/parse-server/object-writes.ts'
import { compositionDerivation } from '../../openehr/compositions/search-fields.ts'
import { containedCollections, createDerivations } from '../../records/kinds.ts'
import { Backfill } from '../../records/store/backfill/backfill.ts'
import { guardPendingReads } from '../../records/store/backfill/pending-reads.ts'
import { LogicalClock } from '../../records/store/clocks/logical-clock.ts'
import { JobRunner } from '../../records/store/jobs/background-jobs.ts'
import { hideFromReads } from '../../records/store/jobs/hide-from-reads.ts'
import { enforceReadDeadline, QUERY_TIMEOUT_MS } from '../../records/store/reading/deadlines.ts'
import { checkReads } from '../../records/store/reading/read-checks.ts'
import { type Metrics, observeCommands } from '../telemetry/metrics.ts'
import { createServingOptions, failFastDuringOutages } from './client-options.ts'

export interface DatabaseConnection {
  client: MongoClient
  db: Db
  /** The same connection as Parse Server's storage adapter. */
  adapter: StorageAdapter
  jobs: JobRunner
  backfill: Backfill
  /** Whether the database was lost at some time since then, a time of `performance.now()`. */
  wasLostSince(time: number): boolean
  /** Makes Parse Server hand over the writes of objects. */
  handOverWrites(findWriter: FindObjectWriter): void
  close(): Promise<void>
}

interface StorageAdapter extends WatchedAdapter, QueryingAdapter {
  findOneAndUpdate: Parameters<typeof adaptToOpenEnvironment>[0]['adapter']['findOneAndUpdate']
  client: MongoClient
  database: Db
  connect(): Promise<void>
  handleShutdown(): Promise<void>
}

/**
 * Opens the only connection of the process, which Parse Server shares.
 * @param hasOtherInstances whether other instances work on the same database
 * @param open whether this is the open test environment, which keeps no derived records up to date
 */
export async function openDatabaseConnection(
  uri: string,
  metrics: Metrics,
  { hasOtherInstances, open }: { hasOtherInstances: boolean; open: boolean },
): Promise<DatabaseConnection> {
  const { MongoStorageAdapter, fieldTypes, ...modules } = await loadParseServer()
  const adapter: StorageAdapter = new MongoStorageAdapter({
    uri,
    mongoOptions: { maxTimeMS: QUERY_TIMEOUT_MS },
  })
  translateDatabaseErrors(adapter)
  await connect(adapter, uri)
  const wasLostSince = failFastDuringOutages(adapter.client)
  const mongo = { client: adapter.client, db: adapter.database }
  if (hasOtherInstances) LogicalClock.of(mongo.db).followOtherInstances()
  const jobs = new JobRunner(mongo, containedCollections.Ehr, hasOtherInstances)
  const backfill = new Backfill(mongo, open ? [] : createDerivations([compositionDerivation]))
  checkReads(adapter.database, [enforceReadDeadline, hideFromReads(jobs), guardPendingReads(backfill)])
  if (open) adaptToOpenEnvironment({ adapter, rest: modules.rest as never, fieldTypes })
  const { client, db } = mongo
  observeCommands(client, metrics)
  return {
    client,
    db,
    adapter,
    jobs,
    backfill,
    wasLostSince,
    handOverWrites: (findWriter) => handOverWrites(adapter, modules, findWriter),
    close: () => adapter.handleShutdown(),
  }
}

/**
 * Replaces the adapter's own `connect`, which does not understand the URI of a socket. The adapter calls it before each
 * command, and forgets its client when the database refuses a command.
 */
async function connect(adapter: StorageAdapter, uri: string): Promise<void> {
  const client = await MongoClient.connect(uri, createServingOptions(uri))
  const database = client.db()
  adapter.connect = async () => {
    Object.assign(adapter, { client, database })
  }
  await adapter.connect()
}

/** The database must respond within this time. The driver would also count time in which this process is busy. */
const RESPONSE_TIMEOUT_MS = 2_000
const PING_TIMEOUT_MS = 5 * RESPONSE_TIMEOUT_MS

/** An overloaded service reads the response late; after a turn of the event loop it has read what has arrived. */
const isLate = () =>
  sleep(RESPONSE_TIMEOUT_MS, false, { ref: false }).then((hasTimedOut) => nextTurn(hasTimedOut))

export async function isResponding(db: Db): Promise<boolean> {
  const ping = db.command({ ping: 1 }, { timeoutMS: PING_TIMEOUT_MS }).then(
    () => true,
    () => false,
  )
  return await Promise.race([ping, isLate()])
}
