import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import type { Patient } from '../../harness/care/patients.ts'
import { type Answer, assertStatus } from '../../harness/clients/path-client.ts'
import type { Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { callFhir, type FhirCaller, type Json, readFhir } from '../fhir-client.ts'

const BACKPORT = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition'

const CHANNEL = {
  type: 'websocket',
  _type: {
    extension: [
      {
        url: `${BACKPORT}/backport-channel-type`,
        valueCoding: { system: 'urn:health-record-service:channel-type', code: 'event-stream' },
      },
    ],
  },
}

/** A Subscription of R4. */
export const subscriptionOf = (criteria: string, more: object = {}) => ({
  resourceType: 'Subscription',
  status: 'requested',
  reason: 'Dashboard',
  criteria,
  channel: CHANNEL,
  ...more,
})

/** A Subscription of the backport: a topic, narrowed by a search. */
export const topicSubscriptionOf = (type: string, filter?: string, more: object = {}) =>
  subscriptionOf(`urn:health-record-service:topic:${type}`, {
    meta: { profile: [`${BACKPORT}/backport-subscription`] },
    ...(filter !== undefined && {
      _criteria: { extension: [{ url: `${BACKPORT}/backport-filter-criteria`, valueString: filter }] },
    }),
    channel: {
      ...CHANNEL,
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: `${BACKPORT}/backport-payload-content`, valueCode: 'id-only' }] },
    },
    ...more,
  })

export const createSubscription = async (who: FhirCaller, body: object): Promise<string> =>
  assertStatus(await callFhir(who, 'POST', 'Subscription', body), 201).id

export interface ReadNotification {
  type: string
  status: string
  count: number
  topic: string | undefined
  /** Number and resource of each event. */
  events: [number: number, focus: string | undefined][]
  /** The interactions that made the events, such as `DELETE Observation/m1`. */
  interactions: string[]
}

/** The content of a notification, or of a Bundle with a status. */
export function readNotification({ entry: [{ resource }, ...changes] }: Json): ReadNotification {
  const valueIn = (parameters: Json[], name: string) => {
    const { name: _, ...value } = parameters.find((one) => one.name === name) ?? {}
    return Object.values(value)[0] as Json
  }
  const { parameter } = resource
  return {
    type: valueIn(parameter, 'type'),
    status: valueIn(parameter, 'status'),
    count: Number(valueIn(parameter, 'events-since-subscription-start')),
    topic: valueIn(parameter, 'topic'),
    events: parameter
      .filter(({ name }: Json) => name === 'notification-event')
      .map(({ part }: Json) => [
        Number(valueIn(part, 'event-number')),
        valueIn(part, 'focus')?.reference.replace(/^.*\/fhir\/R4\//, ''),
      ]),
    interactions: changes.map(({ request }: Json) => `${request.method} ${request.url}`),
  }
}

export const readEvents = async (who: FhirCaller, id: string, query = ''): Promise<ReadNotification> =>
  readNotification(await readFhir(who, `Subscription/${id}/$events${query}`))

/** Takes away the access that a person has by a care plan. */
export async function removeReader({ ehrId }: Patient, carePlanId: string, { mvUid }: Person): Promise<void> {
  const { client, db } = service
  const role = { ehrId, carePlanId, right: 'read' } as const
  await client.withSession((session) =>
    session.withTransaction(() => setPlanRole({ client, db }, session, mvUid, role, false)),
  )
}

/** The resources of all events. */
export const readFocuses = async (who: FhirCaller, id: string, query = '') =>
  (await readEvents(who, id, query)).events.map(([, focus]) => focus)

/** The faults of a refused subscription, each as its code, place and text. */
export const faultsIn = ({ body }: Answer): [code: string, place: string, text: string][] =>
  body.issue.map(({ code, expression: [place = ''], diagnostics }: Json) => [code, place, diagnostics])
