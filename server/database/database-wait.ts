import {
  type MongoClient,
  MongoServerSelectionError,
  type ServerHeartbeatFailedEvent,
  type ServerHeartbeatSucceededEvent,
} from 'mongodb'
import { createStartClient } from './client-options.ts'

const FIRST_REPORT_MS = 500
const REPORT_INTERVAL_MS = 5_000

/**
 * Waits until the primary of a URI answers, and meanwhile tells why it does not. Never tells the
 * password: of the URI it names the hosts only.
 * @param name variable or option that has the URI
 * @throws Error a sentence with that name
 */
export async function waitForDatabase(
  uri: string,
  name: string,
  tell: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
): Promise<void> {
  const client = createClient(uri, name)
  const { hosts, srvHost, serverSelectionTimeoutMS } = client.options
  const servers = hosts.map(String)
  const reasons = watchServers(client)
  const start = performance.now()
  const elapsedMs = () => performance.now() - start
  const describe = (ms: number) => {
    const serverReasons = servers.map(
      (server) => [server, reasons.get(server) ?? 'no connection yet'] as const,
    )
    const why =
      serverReasons.length === 1
        ? serverReasons[0]?.[1]
        : serverReasons.map(([server, reason]) => `${server}: ${reason}`).join(', ')
    return `${name}: no answer from ${srvHost ?? servers.join(', ')} for ${(ms / 1000).toFixed(1)} s (${why})`
  }
  const report = () => {
    const left = Math.round((serverSelectionTimeoutMS - elapsedMs()) / 1000)
    if (left > 0) tell(`${describe(elapsedMs())}. Trying for ${left} s more.`)
  }
  const first = setTimeout(report, FIRST_REPORT_MS)
  const next = setInterval(report, REPORT_INTERVAL_MS)
  try {
    await client.connect()
  } catch (error) {
    const isSilent = error instanceof MongoServerSelectionError
    throw new Error(isSilent ? `${describe(elapsedMs())}.` : `${name}: ${(error as Error).message}`)
  } finally {
    clearTimeout(first)
    clearInterval(next)
    await client.close()
  }
}

/** @throws Error without the driver's message, which quotes parts of the URI */
function createClient(uri: string, name: string): MongoClient {
  try {
    return createStartClient(uri)
  } catch {
    throw new Error(
      `${name} is malformed. Encode special characters of the password (encodeURIComponent), and check its options.`,
    )
  }
}

/** Keeps the reason why each server cannot be used. */
function watchServers(client: MongoClient): Map<string, string> {
  const reasons = new Map<string, string>()
  client.on('serverHeartbeatFailed', ({ connectionId, failure }: ServerHeartbeatFailedEvent) => {
    const { code, message } = (failure.cause ?? failure) as NodeJS.ErrnoException
    reasons.set(connectionId, code ?? message.replace(/ <monitor> to \S+/, ''))
  })
  const { replicaSet } = client.options
  client.on('serverHeartbeatSucceeded', ({ connectionId, reply }: ServerHeartbeatSucceededEvent) => {
    const isOther = replicaSet !== undefined && reply.setName !== replicaSet
    reasons.set(
      connectionId,
      isOther ? `its replica set is ${reply.setName ?? 'none'}` : 'it is not the primary',
    )
  })
  return reasons
}
