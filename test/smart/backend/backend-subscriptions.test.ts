import assert from 'node:assert/strict'
import { bloodPressureOf, callFhir, type FhirCaller } from '../../fhir/fhir-client.ts'
import {
  createSubscription,
  readEvents,
  readNotification,
  subscriptionOf,
  topicSubscriptionOf,
} from '../../fhir/subscriptions/subscription-requests.ts'
import { type EventSource, openEventSource } from '../../harness/clients/event-source.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createBackendService, createEhrOfSystem } from '../../harness/people/backend-services.ts'
import { withToken } from '../../harness/people/smart-apps.ts'

describe('the subscriptions of a backend service', () => {
  const open: EventSource[] = []
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })

  /** A backend service with a care plan in an EHR of its system. */
  const start = async (scopes: string[]) => {
    const backend = await createBackendService(['system/*.cruds'])
    const ehrId = await createEhrOfSystem(backend.system)
    const app: FhirCaller = { call: await backend.logIn('system/*.cruds') }
    const plan = {
      resourceType: 'CarePlan',
      status: 'active',
      intent: 'plan',
      title: 'Follow-up',
      subject: { reference: `Patient/${ehrId}` },
    }
    assertStatus(await callFhir(app, 'POST', 'CarePlan', plan), 201)
    const measure = async (): Promise<string> =>
      `Observation/${assertStatus(await callFhir(app, 'POST', 'Observation', bloodPressureOf(ehrId)), 201).id}`
    const authToken = assertStatus(await backend.requestToken(scopes.join(' '))).access_token
    const follow = async (id: string) => {
      const source = await openEventSource({ authToken }, `/fhir/R4/events/${id}`)
      open.push(source)
      return source
    }
    return { ...backend, ehrId, measure, follow, caller: { call: withToken(authToken) } }
  }

  const SCOPES = ['system/Subscription.cruds', 'system/Observation.rs']

  it('come by a stream, with what its system may read', async () => {
    const { ehrId, caller, measure, follow } = await start(SCOPES)
    const other = await start(SCOPES)
    const id = await createSubscription(caller, subscriptionOf(`Observation?patient=${ehrId}`))
    const everything = await createSubscription(caller, topicSubscriptionOf('Observation'))
    const source = await follow(id)
    assert.equal(source.status, 200)
    assert.equal(readNotification((await source.next()).data).type, 'handshake')
    await other.measure()
    const first = await measure()
    assert.deepEqual(readNotification((await source.next()).data).events, [[1, first]])
    const second = await measure()
    assert.deepEqual(readNotification((await source.next()).data).events, [[2, second]])
    assert.equal(source.hasEnded(), false)
    assert.deepEqual((await readEvents(caller, everything)).events, [
      [1, first],
      [2, second],
    ])
    assertStatus(await other.caller.call('GET', `/fhir/R4/Subscription/${id}`), 404)
    assertStatus(await callFhir(caller, 'DELETE', `Subscription/${id}`), 204)
    await source.ended()
  })

  it('need scopes for subscriptions and for what they are about', async () => {
    const { ehrId, caller } = await start(['system/Subscription.cruds', 'system/Condition.rs'])
    const subscription = subscriptionOf(`Observation?patient=${ehrId}`)
    assertStatus(await callFhir(caller, 'POST', 'Subscription', subscription), 403)
    const without = await start(['system/Observation.rs'])
    assertStatus(await callFhir(without.caller, 'POST', 'Subscription', subscription), 403)
  })

  for (const [cause, path] of [
    ['the key of its system', (systemId: string) => ['POST', `/auth/system/${systemId}/revoke`]],
    ['its registration', (_: string, appId: string) => ['DELETE', `/auth/app/${appId}`]],
  ] as const)
    it(`end with ${cause}`, async () => {
      const { ehrId, caller, follow, app, system } = await start(SCOPES)
      const id = await createSubscription(caller, subscriptionOf(`Observation?patient=${ehrId}`))
      const source = await follow(id)
      await source.next()
      const [method = '', place = ''] = path(system.id, app.id)
      assertStatus(await app.admin.call(method, place), 204)
      await source.ended()
    })

  for (const lost of SCOPES)
    it(`end when the registration of the app loses the scope ${lost}`, async () => {
      const { ehrId, caller, follow, app, system, signer } = await start(['system/*.cruds'])
      const id = await createSubscription(caller, subscriptionOf(`Observation?patient=${ehrId}`))
      const source = await follow(id)
      await source.next()
      const scopes = SCOPES.filter((one) => one !== lost)
      const registration = {
        name: app.name,
        authentication: 'key',
        systemId: system.id,
        jwks: { keys: [signer.jwk] },
        scopes,
      }
      assertStatus(await app.admin.call('PUT', `/auth/app/${app.id}`, registration))
      await source.ended()
      assertStatus(await caller.call('GET', `/fhir/R4/events/${id}`), 403)
    })
})
