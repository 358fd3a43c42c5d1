import type { MongoClient, ServerDescription, TopologyDescriptionChangedEvent } from 'mongodb'
import { PRIMARY_SEARCH_TIMEOUT_MS } from '../../records/store/documents/outage.ts'

/** The wait of a command for a primary that has been missing for longer. */
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
 * Lets commands fail at once while the primary has been missing for some time. Otherwise each further command
 * of a failing request, such as giving back a login attempt, would wait for the primary again.
 */
export function failFastDuringOutages(client: MongoClient): void {
  const { options } = (client as unknown as ClientInternals).s
  const { serverSelectionTimeoutMS } = options
  let failing: NodeJS.Timeout | undefined
  client.on('topologyDescriptionChanged', ({ newDescription }: TopologyDescriptionChangedEvent) => {
    if ([...newDescription.servers.values()].some(({ type }) => WRITABLE_TYPES.has(type))) {
      clearTimeout(failing)
      failing = undefined
      options.serverSelectionTimeoutMS = serverSelectionTimeoutMS
      return
    }
    failing ??= setTimeout(() => {
      options.serverSelectionTimeoutMS = FAIL_FAST_MS
    }, PRIMARY_SEARCH_TIMEOUT_MS).unref()
  })
}
