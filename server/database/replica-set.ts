import { MongoClient, type MongoClientOptions } from 'mongodb'
// All clients of the service and its commands take their options here, so each has this.
import './closed-connections.ts'

/** What the database knows the service by. */
export const APPLICATION = 'health-record-service'

/** How long the start waits for a primary, and how long a request does. */
const START_MS = 60_000
const REQUEST_MS = 5_000
/** How often the driver looks whether a server is there that refused a connection; it would wait for 10 s. */
const LOOK_MS = 2_000

/**
 * How every client of the service connects, whatever the address says: what was acknowledged is on the disks of a
 * majority, and what is read comes from the primary.
 */
const durable = {
  w: 'majority',
  journal: true,
  readPreference: 'primary',
  appName: APPLICATION,
} as const

const withSelection = (uri: string, serverSelectionTimeoutMS: number): MongoClientOptions =>
  /[?&]serverSelectionTimeoutMS=/i.test(uri) ? durable : { ...durable, serverSelectionTimeoutMS }

/** Of the first connection, which waits for a primary. */
export const atStart = (uri: string): MongoClientOptions => withSelection(uri, START_MS)

/** A client that waits for a primary: of the start, and of every command. */
export const clientAtStart = (uri: string): MongoClient => new MongoClient(uri, atStart(uri))

/**
 * For the running service: a request should fail soon when the database is away, and be answered soon when it is back; a
 * connection that nobody answers must not keep it from another one.
 */
export const whileServing = (uri: string): MongoClientOptions => ({
  ...withSelection(uri, REQUEST_MS),
  ...(!/[?&]connectTimeoutMS=/i.test(uri) && { connectTimeoutMS: REQUEST_MS }),
  ...(!/[?&]heartbeatFrequencyMS=/i.test(uri) && { heartbeatFrequencyMS: LOOK_MS }),
})

const OLDEST = 7

/** @throws Error a sentence about a server that cannot do what the records need */
export async function checkServer(client: MongoClient): Promise<void> {
  const admin = client.db('admin')
  const { setName, msg } = await admin.command({ hello: 1 })
  if (setName === undefined && msg !== 'isdbgrid')
    throw new Error('The MongoDB is a standalone server, which has no transactions; use a replica set')
  const { version } = await admin.command({ buildInfo: 1 })
  if (Number.parseInt(version, 10) < OLDEST)
    throw new Error(`The MongoDB has version ${version}; use ${OLDEST}.0 or later`)
}
