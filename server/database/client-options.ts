import {
  MongoClient,
  type MongoClientOptions,
  type ServerDescription,
  type TopologyDescriptionChangedEvent,
} from 'mongodb'
import { PRIMARY_SEARCH_TIMEOUT_MS, REQUEST_WAIT_TIMEOUT_MS } from '../../records/store/documents/outage.ts'
// Imported here because all clients of the service and its commands take their options from this file.
import './connection-cleanup-patch.ts'

/** Name of the service in the logs of the database. */
export const APPLICATION_NAME = 'health-record-service'

/** Timeout for finding a primary at startup. */
const START_TIMEOUT_MS = 60_000
/**
 * The driver greets each server at this interval (default 10 s). A server that does not reply to a greeting in
 * time is lost, with all its connections (default 30 s). Their sum is the time in which the driver notices
 * that a server is frozen.
 */
const SERVER_HEARTBEAT_INTERVAL_MS = 500
const CONNECT_TIMEOUT_MS = 2_000
/**
 * The wait of a command for a connection. It is shorter than that of a new connection for its reply: the driver would
 * repeat a command after the latter, and the request would wait twice.
 */
const CONNECTION_WAIT_TIMEOUT_MS = 1_900

/**
 * Options of every client, whatever the URI says: writes are on the disks of a majority, and reads go to
 * the primary.
 */
const DURABLE_OPTIONS = {
  w: 'majority',
  journal: true,
  readPreference: 'primary',
  appName: APPLICATION_NAME,
} as const

const withSelectionTimeout = (uri: string, serverSelectionTimeoutMS: number): MongoClientOptions =>
  /[?&]serverSelectionTimeoutMS=/i.test(uri)
    ? DURABLE_OPTIONS
    : { ...DURABLE_OPTIONS, serverSelectionTimeoutMS }

/** Options of the first connection, which waits for a primary. */
export const createStartOptions = (uri: string): MongoClientOptions =>
  withSelectionTimeout(uri, START_TIMEOUT_MS)

/** Creates a client that waits for a primary, at startup and in commands. */
export const createStartClient = (uri: string): MongoClient => new MongoClient(uri, createStartOptions(uri))

/**
 * Options of the running service. A request fails soon during an outage and succeeds soon after it. A
 * connection without a response must not block new ones. A write that no majority confirms in time is in doubt,
 * like one whose reply was lost.
 */
export const createServingOptions = (uri: string): MongoClientOptions => ({
  ...withSelectionTimeout(uri, PRIMARY_SEARCH_TIMEOUT_MS),
  ...(!/[?&]connectTimeoutMS=/i.test(uri) && { connectTimeoutMS: CONNECT_TIMEOUT_MS }),
  ...(!/[?&]waitQueueTimeoutMS=/i.test(uri) && { waitQueueTimeoutMS: CONNECTION_WAIT_TIMEOUT_MS }),
  ...(!/[?&]wtimeout(MS)?=/i.test(uri) && { wtimeoutMS: REQUEST_WAIT_TIMEOUT_MS }),
  ...(!/[?&]heartbeatFrequencyMS=/i.test(uri) && { heartbeatFrequencyMS: SERVER_HEARTBEAT_INTERVAL_MS }),
})

/** The wait of a command for a primary that has been missing for longer than a command waits. */
const FAIL_FAST_MS = 50

const WRITABLE_TYPES = new Set<ServerDescription['type']>([
  'RSPrimary',
  'Standalone',
  'Mongos',
  'LoadBalancer',
])

/** The driver reads this internal setting for each command. */
interface ClientInternals {
  s: { options: { serverSelectionTimeoutMS: number } }
}

/**
 * Lets all commands of a request together wait for a missing primary as long as a single command would. Otherwise each
 * further command of a failing request would wait again.
 * @returns whether a primary was missing at some time since then, a time of `performance.now()`
 */
export function failFastDuringOutages(client: MongoClient): (since: number) => boolean {
  const { options } = (client as unknown as ClientInternals).s
  const { serverSelectionTimeoutMS } = options
  let missingSince: number | undefined
  let lastMissingAt = Number.NEGATIVE_INFINITY
  client.on('topologyDescriptionChanged', ({ newDescription }: TopologyDescriptionChangedEvent) => {
    const isFound = [...newDescription.servers.values()].some(({ type }) => WRITABLE_TYPES.has(type))
    if (missingSince !== undefined) lastMissingAt = performance.now()
    missingSince = isFound ? undefined : (missingSince ?? performance.now())
  })
  Object.defineProperty(options, 'serverSelectionTimeoutMS', {
    get: () =>
      missingSince === undefined
        ? serverSelectionTimeoutMS
        : Math.max(FAIL_FAST_MS, Math.ceil(missingSince + serverSelectionTimeoutMS - performance.now())),
  })
  return (since) => missingSince !== undefined || lastMissingAt >= since
}

const MIN_MONGODB_VERSION = 7

/** @throws Error when the server lacks a required feature; the message is a sentence */
export async function checkServer(client: MongoClient): Promise<void> {
  const admin = client.db('admin')
  const { setName, msg } = await admin.command({ hello: 1 })
  if (setName === undefined && msg !== 'isdbgrid')
    throw new Error('MONGODB_URI leads to a standalone server, which has no transactions. Use a replica set.')
  const { version } = await admin.command({ buildInfo: 1 })
  if (Number.parseInt(version, 10) < MIN_MONGODB_VERSION)
    throw new Error(`MONGODB_URI leads to MongoDB ${version}. Use ${MIN_MONGODB_VERSION}.0 or later.`)
}
