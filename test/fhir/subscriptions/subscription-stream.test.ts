import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { type EventSource, openEventSource } from '../../harness/clients/event-source.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { actFor, createHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { type AppGrant, authorizeApp, createSmartApp } from '../../harness/people/smart-apps.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { service } from '../../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'
import { callFhir, type Json } from '../fhir-client.ts'
import {
  createSubscription,
  readEvents,
  readFocuses,
  readNotification,
  removeReader,
  subscriptionOf,
  topicSubscriptionOf,
} from './subscription-requests.ts'

describe('the events of a subscription in FHIR', function () {
  this.timeout(120_000)
  let patient: Patient
  let planId: string
  let neighbour: ServiceProcess
  const open: EventSource[] = []
  before(async () => {
    neighbour = await startSecondInstance({ INSTANCES: 'several' })
    patient = await createPatient()
    planId = await createPlan(patient)
  })
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })
  after(() => stopProcess(neighbour))

  const weights = () => subscriptionOf(`Observation?patient=${patient.ehrId}&code=http://loinc.org|29463-7`)
  const weigh = async (plan = planId) => `Observation/${await createWeight(patient, plan)}`
  const follow = async (who: Person, id: string, more: { after?: string; url?: string } = {}) => {
    const source = await openEventSource(who, `/fhir/R4/events/${id}`, more)
    open.push(source)
    const firstNotification = readNotification((await source.next()).data)
    assert.equal(firstNotification.type, 'handshake')
    return source
  }
  /** The events of the next notifications, until there are so many. */
  const next = async (source: EventSource, count: number) => {
    const events: [number, string | undefined][] = []
    while (events.length < count) {
      const { type, events: more } = readNotification((await source.next()).data)
      assert.equal(type, 'event-notification')
      events.push(...more)
    }
    return events
  }

  /** Lets a subscription of the patient be at a place that the log no longer has. */
  const setPositionBack = async (id: string) => {
    const progress = service.db.collection<{ _id: string }>('fhir.subscription_progress')
    const ownKey = { _id: `${patient.mvUid}-${id}` }
    assert.equal((await progress.updateOne(ownKey, { $set: { position: '1-0' } })).matchedCount, 1)
  }

  it('are sent when they happen, and again after the last number that the client has seen', async () => {
    const id = await createSubscription(patient, weights())
    const firstFocus = await weigh()
    const source = await follow(patient, id)
    assert.deepEqual(await next(source, 1), [[1, firstFocus]])
    const secondFocus = await weigh()
    assert.deepEqual(await next(source, 1), [[2, secondFocus]])
    const after = source.lastId()
    source.close()
    const later = [await weigh(), await weigh()]
    const again = await follow(patient, id, { after })
    assert.deepEqual(await next(again, 2), [
      [3, later[0]],
      [4, later[1]],
    ])
  })

  it('are sent to a client that has seen a number which a restored database does not have yet', async () => {
    const id = await createSubscription(patient, weights())
    await weigh()
    const source = await follow(patient, id, { after: '500-0' })
    const focus = await weigh()
    assert.deepEqual(await next(source, 1), [[2, focus]])
  })

  it('are the same on each instance, also while both are asked', async () => {
    const id = await createSubscription(patient, weights())
    const sources = [await follow(patient, id), await follow(patient, id, { url: neighbour.url })] as const
    const focuses: string[] = []
    for (let i = 0; i < 5; i++) focuses.push(await weigh())
    const expected = focuses.map((focus, i) => [i + 1, focus])
    for (const source of sources) assert.deepEqual(await next(source, focuses.length), expected)
    const reads = await Promise.all(Array.from({ length: 4 }, () => readEvents(patient, id)))
    for (const { events } of reads) assert.deepEqual(events, expected)
  })

  it('continue when the instance is killed', async () => {
    const id = await createSubscription(patient, weights())
    const source = await follow(patient, id, { url: neighbour.url })
    const firstWeight = await weigh()
    assert.deepEqual(await next(source, 1), [[1, firstWeight]])
    neighbour.child.kill('SIGKILL')
    await neighbour.ended
    const meanwhile = await weigh()
    neighbour = await startSecondInstance({ INSTANCES: 'several' })
    const again = await follow(patient, id, { url: neighbour.url, after: source.lastId() })
    assert.deepEqual(await next(again, 1), [[2, meanwhile]])
  })

  it('are found in the history if nobody has asked for so long that the log has expired', async () => {
    const id = await createSubscription(patient, weights())
    const firstWeight = await weigh()
    assert.deepEqual(await readFocuses(patient, id), [firstWeight])
    const missedFocuses = [await weigh(), await weigh()]
    await setPositionBack(id)
    const expected = [firstWeight, ...missedFocuses].map((focus, i) => [i + 1, focus])
    assert.deepEqual((await readEvents(patient, id)).events, expected)
    assert.deepEqual((await readEvents(patient, id)).events, expected)
  })

  it('are found in the history also if they are deletions', async () => {
    const removed = await weigh()
    const id = await createSubscription(patient, topicSubscriptionOf('Observation'))
    assertStatus(await callFhir(patient, 'DELETE', removed), 204)
    await setPositionBack(id)
    assert.deepEqual((await readEvents(patient, id)).interactions, [`DELETE ${removed}`])
  })

  it('end with the access of the subscriber: no new ones, and no resource of former ones', async () => {
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'read')
    const id = await createSubscription(nurse, weights())
    const source = await follow(nurse, id)
    const focus = await weigh()
    assert.deepEqual(await next(source, 1), [[1, focus]])
    await removeReader(patient, planId, nurse)
    await weigh()
    const { count, events } = await readEvents(nurse, id)
    assert.deepEqual([count, events], [1, [[1, undefined]]])
    assert.equal(source.events.length, 2)
  })

  it('end with the subscription', async () => {
    const id = await createSubscription(patient, weights())
    const source = await follow(patient, id)
    assertStatus(await callFhir(patient, 'DELETE', `Subscription/${id}`), 204)
    await source.ended()
  })

  it('come in pages to a client that has missed many', async () => {
    const id = await createSubscription(patient, weights())
    const items = Array.from({ length: 250 }, (_, i) => ({
      kind: 'bodyweight',
      weight: 70,
      weightUnit: 'kg',
      carePlanId: planId,
      timestamp: new Date(Date.UTC(2020, 0, 1, 0, i)).toISOString(),
    }))
    assert.equal(assertStatus(await patient.call('POST', 'procedure/batch', { items })).stored, 250)
    const source = await follow(patient, id)
    const numbers = (await next(source, 250)).map(([number]) => number)
    assert.deepEqual(
      numbers,
      items.map((_, i) => i + 1),
    )
    assert.equal((await readEvents(patient, id, '?eventsSinceNumber=201')).events.length, 50)
  })

  it('leave an entry in the audit for each search that finds them', async () => {
    const id = await createSubscription(patient, weights())
    const since = new Date()
    await weigh()
    await readEvents(patient, id)
    const entries = await readAudit(patient.ehrId, since)
    assert.ok(entries.includes('query BodyWeight done'), String(entries))
  })

  it('are refused to a helper, who could not end them', async () => {
    const person = await createPatient()
    const helper = await createPerson()
    await createHelper(person, helper, ['READ', 'RECORD'])
    const acting = await actFor(person, helper)
    assertStatus(await callFhir(acting, 'POST', 'Subscription', subscriptionOf('Task')), 403)
    const batch = {
      resourceType: 'Bundle',
      type: 'batch',
      entry: [{ resource: subscriptionOf('Task'), request: { method: 'POST', url: 'Subscription' } }],
    }
    const { entry } = assertStatus(await callFhir(acting, 'POST', '', batch))
    assert.equal(entry[0].response.status, '403')
  })

  describe('of an app', () => {
    const call = (by: Pick<AppGrant, 'call'>, method: string, path: string, body?: object) =>
      by.call(method, `/fhir/R4/${path}`, body && Buffer.from(JSON.stringify(body)), {
        ...(body && { 'content-type': 'application/fhir+json' }),
      })
    const SCOPES = ['launch/patient', 'patient/Subscription.cruds', 'patient/Observation.rs']

    it('are those of its scopes and its patient, and nobody else sees the subscription', async () => {
      const nurse = await createPatient()
      const ownPlan = await createPlan(nurse)
      await addParticipant(planId, nurse, 'write')
      const app = await createSmartApp(SCOPES)
      const admission = await authorizeApp(nurse, app, SCOPES.join(' '), patient.ehrId)
      const { id } = assertStatus(
        await call(admission, 'POST', 'Subscription', subscriptionOf('Observation')),
        201,
      )
      await createWeight(nurse, ownPlan)
      const focus = await weigh()
      const bundle: Json = assertStatus(await call(admission, 'GET', `Subscription/${id}/$events`))
      assert.deepEqual(readNotification(bundle).events, [[1, focus]])
      const source = await follow({ ...nurse, authToken: admission.tokens.access_token }, id)
      assert.deepEqual(await next(source, 1), [[1, focus]])
      assertStatus(await callFhir(nurse, 'GET', `Subscription/${id}`), 404)
      const other = await authorizeApp(nurse, app, SCOPES.join(' '), patient.ehrId)
      assertStatus(await call(other, 'GET', `Subscription/${id}`), 404)
      const { items } = assertStatus(await nurse.call('GET', '/auth/admitted-app'))
      for (const { id: admissionId } of items)
        assertStatus(await nurse.call('DELETE', `/auth/admitted-app/${admissionId}`), 204)
      await source.ended()
    })

    it('have 20 streams of their own, and leave those of the user', async () => {
      const grant = await authorizeApp(patient, await createSmartApp(SCOPES), SCOPES.join(' '), patient.ehrId)
      const { id } = assertStatus(
        await call(grant, 'POST', 'Subscription', subscriptionOf('Observation')),
        201,
      )
      const asApp = { ...patient, authToken: grant.tokens.access_token }
      for (let i = 0; i < 20; i++) await follow(asApp, id)
      assertStatus(await call(grant, 'GET', `events/${id}`), 429)
      await follow(patient, await createSubscription(patient, weights()))
    })

    it('need the scopes of the subscription and of what it looks for', async () => {
      const app = await createSmartApp([...SCOPES, 'patient/Observation.rs?category=vital-signs'])
      const reader = await authorizeApp(patient, app, 'launch/patient patient/Observation.rs', patient.ehrId)
      assertStatus(await call(reader, 'POST', 'Subscription', subscriptionOf('Observation')), 403)
      const writer = await authorizeApp(
        patient,
        app,
        'launch/patient patient/Subscription.cruds',
        patient.ehrId,
      )
      assertStatus(await call(writer, 'POST', 'Subscription', subscriptionOf('Observation')), 403)
      const blind = await authorizeApp(
        patient,
        app,
        'launch/patient patient/Subscription.c patient/Observation.rs',
        patient.ehrId,
      )
      const { id: unseen } = assertStatus(
        await call(blind, 'POST', 'Subscription', subscriptionOf('Observation')),
        201,
      )
      for (const path of [
        `Subscription/${unseen}/$events`,
        `Subscription/${unseen}/$status`,
        `events/${unseen}`,
      ])
        assertStatus(await call(blind, 'GET', path), 403)
      const scope = 'launch/patient patient/Subscription.cruds patient/Observation.rs?category=vital-signs'
      const narrow = await authorizeApp(patient, app, scope, patient.ehrId)
      const { id } = assertStatus(
        await call(narrow, 'POST', 'Subscription', subscriptionOf('Observation')),
        201,
      )
      const { id: ofTopic } = assertStatus(
        await call(narrow, 'POST', 'Subscription', topicSubscriptionOf('Observation')),
        201,
      )
      const glucose = { bloodGlucose: 99, bloodGlucoseUnit: 'mg/dL', timestamp: '2026-03-01T08:30:00Z' }
      const body = { ...glucose, carePlanId: planId }
      const { id: hidden } = assertStatus(await patient.call('POST', 'procedure/bloodglucose', body), 201)
      const focus = await weigh()
      const bundle: Json = assertStatus(await call(narrow, 'GET', `Subscription/${id}/$events`))
      assert.deepEqual(readNotification(bundle).events, [[1, focus]])
      for (const one of [`Observation/${hidden}`, focus])
        assertStatus(await callFhir(patient, 'DELETE', one), 204)
      const topicBundle: Json = assertStatus(await call(narrow, 'GET', `Subscription/${ofTopic}/$events`))
      assert.deepEqual(readNotification(topicBundle).events, [[1, focus]])
    })
  })
})
