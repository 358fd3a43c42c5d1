import { randomUUID } from 'node:crypto'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { SubscriptionTopic } from '../../records/live/subscriptions.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { versionEntry } from '../bundles/result-bundles.ts'
import { parameterError } from '../outcome/issue.ts'
import type { SearchParameters } from '../search/parse-search.ts'
import { mayRead, requireScope } from '../sources/app-limits.ts'
import type { FhirServices, ResourceType } from '../sources/resource-source.ts'
import type { SubscriptionEvent } from './subscription-events.ts'
import { FhirSubscriptions, subscriptionType } from './subscription-type.ts'

type NotificationType = 'handshake' | 'event-notification' | 'query-status' | 'query-event'

/** Events in one notification. */
const MAX_EVENTS = 100

interface Notification {
  bundle: FhirResource
  /** The number of its last event; undefined if it has none. */
  last: number | undefined
}

/** A notification of a subscription: its state, and the resources of its events by their ids. */
export class SubscriptionNotifications {
  readonly #base: string
  readonly #type: ResourceType
  readonly #subscriptions: FhirSubscriptions

  /** @param base the URL of the API, without a slash at its end */
  constructor(base: string, types: readonly ResourceType[], services: FhirServices) {
    this.#base = base
    this.#type = subscriptionType(types)
    this.#subscriptions = new FhirSubscriptions(types, services)
  }

  /** The state of a subscription, in a Bundle. @throws NotFound */
  async status(caller: Caller, id: string): Promise<FhirResource> {
    const { status } = await this.#read(caller, id, 'query-status', { from: 1, to: 0 })
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      total: 1,
      entry: [{ fullUrl: status.fullUrl, resource: status.resource, search: { mode: 'match' } }],
    }
  }

  /** The events in a range of numbers, in a notification. @throws NotFound; InvalidInput */
  async events(caller: Caller, id: string, parameters: SearchParameters): Promise<FhirResource> {
    const { content = 'id-only' } = parameters
    if (content !== 'id-only') throw parameterError('content', 'not-supported', 'must be id-only')
    const from = parseNumber(parameters, 'eventsSinceNumber') ?? 1
    const to = parseNumber(parameters, 'eventsUntilNumber') ?? Number.MAX_SAFE_INTEGER
    return notificationOf(await this.#read(caller, id, 'query-event', { from, to }))
  }

  /**
   * The first notification in a stream, which continues after a number: at most that of the last event, since a restored
   * database has fewer events than its clients.
   * @throws NotFound
   */
  async handshake(
    caller: Caller,
    id: string,
    after: number,
  ): Promise<{ bundle: FhirResource; last: number }> {
    const read = await this.#read(caller, id, 'handshake', { from: 1, to: 0 })
    return { bundle: notificationOf(read), last: Math.min(after, read.count) }
  }

  /** The next events after a number. @throws NotFound */
  async next(caller: Caller, id: string, after: number): Promise<Notification> {
    const range = { from: after + 1, to: Number.MAX_SAFE_INTEGER }
    const read = await this.#read(caller, id, 'event-notification', range)
    return { bundle: notificationOf(read), last: read.events.at(-1)?.number }
  }

  /** Calls back when there may be new events; the searches that find them are audited. @throws NotFound */
  async topicOf(caller: Caller, id: string): Promise<SubscriptionTopic> {
    const subscription = await this.#subscriptions.find(caller, id)
    const { concerns } = await this.#subscriptions.events.watch(caller, subscription)
    const isReachable = async (currentCaller: Caller) =>
      mayRead(currentCaller, this.#type) && this.#subscriptions.isActive(currentCaller, id)
    return { concerns, isReachable, isAuditedByListener: true }
  }

  async #read(caller: Caller, id: string, type: NotificationType, range: { from: number; to: number }) {
    requireScope(caller, this.#type, 'read')
    const subscription = await this.#subscriptions.find(caller, id)
    const { count, events } = await this.#subscriptions.events.list(caller, subscription, {
      ...range,
      limit: MAX_EVENTS,
    })
    const { status, criteria } = this.#subscriptions.show(subscription)
    const url = `${this.#base}/Subscription/${id}`
    const parameter = [
      { name: 'subscription', valueReference: { reference: url } },
      ...(subscription.topic === undefined ? [] : [{ name: 'topic', valueCanonical: criteria }]),
      { name: 'status', valueCode: status },
      { name: 'type', valueCode: type },
      { name: 'events-since-subscription-start', valueString: String(count) },
      ...events.map((one) => eventParameter(this.#base, one)),
    ]
    const statusId = randomUUID()
    const resource = { resourceType: 'Parameters', id: statusId, parameter }
    return {
      count,
      events,
      status: { fullUrl: `urn:uuid:${statusId}`, resource, url: `${url}/$status` },
      changes: events.flatMap(({ focus }) => (focus ? [versionEntry(this.#base, focus)] : [])),
    }
  }
}

const eventParameter = (base: string, { number, at, focus }: SubscriptionEvent) => ({
  name: 'notification-event',
  part: [
    { name: 'event-number', valueString: String(number) },
    { name: 'timestamp', valueInstant: at.toISOString() },
    ...(focus ? [{ name: 'focus', valueReference: { reference: `${base}/${focus.type}/${focus.id}` } }] : []),
  ],
})

const notificationOf = ({
  status: { fullUrl, resource, url },
  changes,
}: {
  status: { fullUrl: string; resource: FhirResource; url: string }
  changes: object[]
}): FhirResource => ({
  resourceType: 'Bundle',
  type: 'history',
  timestamp: new Date().toISOString(),
  entry: [{ fullUrl, resource, request: { method: 'GET', url }, response: { status: '200' } }, ...changes],
})

/** @throws InvalidInput */
function parseNumber(parameters: SearchParameters, name: string): number | undefined {
  const value = parameters[name]
  if (value === undefined) return undefined
  if (!/^\d{1,12}$/.test(String(value))) throw parameterError(name, 'type', 'must be the number of an event')
  return Number(value)
}
