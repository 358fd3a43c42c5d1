import type { MongoClient, MongoServerSelectionError } from 'mongodb'
import { createStartClient } from './client-options.ts'

/** Interval between reports that the server does not answer. */
const REPORT_INTERVAL_MS = 10_000

/**
 * Waits at startup until the server of MONGODB_URI has a primary, and reports failed attempts.
 * @throws Error a sentence with the addresses and the cause
 */
export async function waitForServer(uri: string, tell: (report: string) => void): Promise<void> {
  const client = createStartClient(uri)
  const begun = performance.now()
  let lastReport = Number.NEGATIVE_INFINITY
  client.on('serverHeartbeatFailed', ({ connectionId, failure }) => {
    const now = performance.now()
    if (now - lastReport < REPORT_INTERVAL_MS) return
    lastReport = now
    tell(`MONGODB_URI: no answer from ${connectionId} (${causeOf(failure)}); trying again.`)
  })
  try {
    await client.connect()
  } catch (error) {
    const seconds = Math.max(1, Math.round((performance.now() - begun) / 1000))
    throw new Error(describeFailure(error as Error, hostsOf(client), seconds), {
      cause: error,
    })
  } finally {
    await client.close()
  }
}

const hostsOf = ({ options: { hosts, srvHost } }: MongoClient): string => hosts.join(', ') || (srvHost ?? '')

function describeFailure(error: Error, hosts: string, seconds: number): string {
  const { reason } = error as Partial<MongoServerSelectionError>
  if (reason === undefined) return `MONGODB_URI: connecting to ${hosts} failed (${error.message}).`
  const failures = [...reason.servers.values()].flatMap((server) => server.error ?? [])
  const [failure] = failures
  return failure && failures.length === reason.servers.size
    ? `MONGODB_URI: no answer from ${hosts} for ${seconds} s (${causeOf(failure)}).`
    : `MONGODB_URI: ${hosts} had no primary for ${seconds} s.`
}

/** The code of the innermost error, such as ECONNREFUSED; otherwise its message. */
const causeOf = (error: Error): string =>
  error.cause instanceof Error
    ? causeOf(error.cause)
    : ((error as NodeJS.ErrnoException).code?.toString() ?? error.message)
