import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  runningUriOf,
  startEmbeddedMongo,
  UNWRITABLE_DISK_EXIT_CODE,
  withDatabase,
} from '@health-record-service/embedded-mongo'
import type { Db } from 'mongodb'
import { newerDataError } from '../../records/store/backfill/backfill.ts'
import { listCollectionNames } from '../../records/store/documents/database.ts'
import type { Config } from '../config/config.ts'
import { pathExists } from '../config/data-directory.ts'
import { checkKeys, requireDatabase } from '../keys/key-check.ts'
import { checkServer, createStartClient } from './client-options.ts'
import { hasUnfinishedCopy } from './copy-database.ts'
import { waitForDatabase } from './database-wait.ts'

export interface OpenDatabase {
  uri: string
  /** Location of the data, for the person who starts the service. */
  location: string
  /** Resolves with the reason when the embedded engine has ended by itself; never for an external MongoDB. */
  unexpectedExit: Promise<string>
  /** Size on disk in bytes. */
  size(db: Db): Promise<number>
  close(): Promise<void>
}

/** How a process uses the database; by default as the service does. */
export interface DatabaseUse {
  /** Whether a command opens the database. It may share the embedded engine with the running service. */
  sharesEngine?: boolean
  /** Whether a missing database is a mistake, and is not created. */
  requiresData?: boolean
  /** True to leave the database as it is. */
  readOnly?: boolean
  /** Checks the keys before the first write, and returns a function that stores generated keys. */
  checkKeys?: typeof checkKeys
}

/**
 * Opens the MongoDB of MONGODB_URI, or the embedded engine on DATA_DIR.
 * @throws Error when the keys belong to another database, the server has no transactions, the database is of
 * the other kind (main or open test), or another process has opened it
 */
export async function openDatabase(config: Config, use: DatabaseUse = {}): Promise<OpenDatabase> {
  const { sharesEngine = false, requiresData = false, readOnly = false, checkKeys: check = checkKeys } = use
  const file = join(config.dataDir, 'database', DATA_FILE)
  if (requiresData && !config.mongodbUri && !pathExists(file))
    throw noDataError(`There is no database in DATA_DIR (${config.dataDir}).`)
  if (config.mongodbUri) await waitForDatabase(config.mongodbUri, 'MONGODB_URI')
  const database = config.mongodbUri
    ? openRemoteDatabase(config.mongodbUri)
    : await openEmbeddedDatabase(config, sharesEngine)
  try {
    const storeKeys = await inDatabase(database.uri, async (db) => {
      if (await hasUnfinishedCopy(db))
        throw new Error('A move into this database is not finished. Run the command move again.')
      if (requiresData && (await listCollectionNames(db)).length === 0)
        throw noDataError('There is no data of the service in the database of MONGODB_URI.')
      return check(db, config)
    })
    await claimDatabase(database.uri, config.open ? 'open-test' : 'main', readOnly)
    storeKeys()
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

const noDataError = (fact: string): Error =>
  new Error(`${fact} DATA_DIR or MONGODB_URI is not that of the service.`)

async function inDatabase<T>(uri: string, work: (db: Db) => Promise<T>): Promise<T> {
  const client = createStartClient(uri)
  try {
    return await work(client.db())
  } finally {
    await client.close()
  }
}

function openRemoteDatabase(uri: string): OpenDatabase {
  return {
    uri,
    location: `MongoDB at ${withoutCredentials(uri)}`,
    unexpectedExit: new Promise(() => {}),
    size: async (db) => (await db.stats()).totalSize,
    close: async () => {},
  }
}

/** URI of a database without user, password and options. */
export const withoutCredentials = (uri: string): string =>
  uri.replace(/\/\/[^@/]*@/, '//').replace(/\?.*/s, '')

/** Name of the database in the embedded engine. */
export const EMBEDDED_DATABASE = 'health-record'

const createEmbeddedUri = (engineUri: string): string => withDatabase(engineUri, EMBEDDED_DATABASE)

/** Data file in the directory of an embedded engine. */
const DATA_FILE = 'data.mdb'

/** Counts allocated blocks, without holes of sparse files. */
const readDiskSize = async (directory: string): Promise<number> =>
  (await stat(join(directory, DATA_FILE))).blocks * 512

async function openEmbeddedDatabase(config: Config, sharesEngine: boolean): Promise<OpenDatabase> {
  const directory = join(config.dataDir, 'database')
  requireDatabase(config, pathExists(join(directory, DATA_FILE)))
  const running = sharesEngine ? await runningUriOf(directory) : undefined
  if (running !== undefined)
    return {
      ...openRemoteDatabase(createEmbeddedUri(running)),
      location: directory,
      size: () => readDiskSize(directory),
    }
  const engine = await startEmbeddedMongo({ dataDir: directory })
  let closing = false
  return {
    uri: createEmbeddedUri(engine.uri),
    location: directory,
    unexpectedExit: new Promise((resolve) => {
      engine.exited.then((code) => {
        if (!closing) resolve(describeExit(code))
      })
    }),
    size: () => readDiskSize(directory),
    close: async () => {
      closing = true
      await engine.stop()
    },
  }
}

const describeExit = (code: number): string =>
  code === UNWRITABLE_DISK_EXIT_CODE
    ? 'The disk of DATA_DIR is full, or accepts no writes; the service cannot continue. Free space, then start it again'
    : 'The embedded database has stopped; the service cannot continue'

type EnvironmentKind = 'main' | 'open-test'

/** Version of the data format, incremented by changes that an earlier release would not understand. */
const DATA_VERSION = 2

interface Environment {
  _id: 'kind'
  kind: EnvironmentKind
  since: Date
  dataVersion?: number
}

/**
 * Keeps patient data and the open test environment apart. The first service marks its database in the
 * collection `environment`; a service of the other kind then refuses to start.
 * @param readOnly true to check the mark only
 */
async function claimDatabase(uri: string, kind: EnvironmentKind, readOnly: boolean): Promise<void> {
  const client = createStartClient(uri)
  try {
    await checkServer(client)
    const db = client.db()
    const empty = (await listCollectionNames(db)).every((name) => name === 'environment')
    const environments = db.collection<Environment>('environment')
    const environment = readOnly
      ? await environments.findOne({ _id: 'kind' })
      : await environments.findOneAndUpdate(
          { _id: 'kind' },
          { $setOnInsert: { kind, since: new Date() } },
          { upsert: empty, returnDocument: 'after' },
        )
    if (!environment)
      throw new Error('The database contains data that this service did not create. Use an empty one.')
    if (environment.kind !== kind)
      throw new Error(
        `This is the database of the ${environment.kind} service. The ${kind} service needs another one.`,
      )
    if ((environment.dataVersion ?? 1) > DATA_VERSION) throw newerDataError()
    if (!readOnly) await environments.updateOne({ _id: 'kind' }, { $max: { dataVersion: DATA_VERSION } })
  } finally {
    await client.close()
  }
}
