import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { addressOf, startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import type { Db } from 'mongodb'
import type { Config } from '../config/config.ts'
import { checkServer, clientAtStart } from './replica-set.ts'

export interface Database {
  uri: string
  /** Where the data are kept, for the person who started the service. */
  place: string
  /** Resolves when an embedded engine has ended by itself; never for a MongoDB elsewhere. */
  lost: Promise<void>
  /** Bytes on the disk. */
  size(db: Db): Promise<number>
  close(): Promise<void>
}

/**
 * The MongoDB of MONGODB_URI, or the embedded engine on DATA_DIR when there is none.
 * @param beside whether an embedded engine may be shared with the service that runs it: commands do
 * @throws Error when the server knows no transactions, the database is of the other kind (main or open test), or
 *   another process has it open
 */
export async function openDatabase(config: Config, beside = false): Promise<Database> {
  const database = config.mongodbUri ? remote(config.mongodbUri) : await embedded(config.dataDir, beside)
  try {
    await claimKind(database.uri, config.open ? 'open-test' : 'main')
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

function remote(uri: string): Database {
  return {
    uri,
    place: `MongoDB at ${uri.replace(/\/\/[^@/]*@/, '//').replace(/\?.*$/, '')}`,
    lost: new Promise(() => {}),
    size: async (db) => (await db.stats()).totalSize,
    close: async () => {},
  }
}

const named = (address: string): string => `${address.replace(/\/+$/, '')}/health-record`

/** Holes are no bytes. */
const sizeOf = async (directory: string): Promise<number> =>
  (await stat(join(directory, 'data.mdb'))).blocks * 512

async function embedded(dataDir: string, beside: boolean): Promise<Database> {
  const directory = join(dataDir, 'database')
  const running = beside ? await addressOf(directory) : undefined
  if (running !== undefined)
    return { ...remote(named(running)), place: directory, size: () => sizeOf(directory) }
  const engine = await startEmbeddedMongo({ dataDir: directory })
  let closing = false
  return {
    uri: named(engine.uri),
    place: directory,
    lost: new Promise((resolve) => {
      engine.exited.finally(() => {
        if (!closing) resolve()
      })
    }),
    size: () => sizeOf(directory),
    close: async () => {
      closing = true
      await engine.stop()
    },
  }
}

type Kind = 'main' | 'open-test'

/** Counts the changes of how data are kept that a former version of the service would not understand. */
const DATA_VERSION = 1

interface Environment {
  _id: 'kind'
  kind: Kind
  since: Date
  dataVersion?: number
}

/**
 * Patient data and the open test environment must never meet in one database: its first service leaves a mark
 * in the collection `environment`, and a service of the other kind refuses it.
 */
async function claimKind(uri: string, kind: Kind): Promise<void> {
  const client = clientAtStart(uri)
  try {
    await checkServer(client)
    const db = client.db()
    const collections = await db.listCollections({}, { nameOnly: true }).toArray()
    const empty = collections.every(({ name }) => name === 'environment')
    const found = await db
      .collection<Environment>('environment')
      .findOneAndUpdate(
        { _id: 'kind' },
        { $setOnInsert: { kind, since: new Date() } },
        { upsert: empty, returnDocument: 'after' },
      )
    if (!found)
      throw new Error('The database already holds data that this service did not create; use an empty one')
    if (found.kind !== kind)
      throw new Error(`This is the ${found.kind} database; the ${kind} service must not use it`)
    if ((found.dataVersion ?? DATA_VERSION) > DATA_VERSION)
      throw new Error(
        'The database holds data of a newer version of this service: start that one, or restore a backup from before',
      )
    await db
      .collection<Environment>('environment')
      .updateOne({ _id: 'kind' }, { $max: { dataVersion: DATA_VERSION } })
  } finally {
    await client.close()
  }
}
