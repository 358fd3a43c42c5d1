import assert from 'node:assert/strict'
import { PROFILE_COLLECTIONS } from '../../../records/profiles/storage/profile-collections.ts'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { recordCommands } from '../../harness/service/database-commands.ts'
import { request, service } from '../../harness/service/service.ts'
import { bloodPressureOf, callFhir, idsIn, type Json, readFhir } from '../fhir-client.ts'
import {
  createSubscription,
  faultsIn,
  readEvents,
  readFocuses,
  readNotification,
  removeReader,
  subscriptionOf,
  topicSubscriptionOf,
} from './subscription-requests.ts'

describe('a subscription in FHIR', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
  })

  const measure = async (more: object = {}): Promise<string> => {
    const body = bloodPressureOf(patient.ehrId, { basedOn: [{ reference: `CarePlan/${planId}` }], ...more })
    return assertStatus(await callFhir(patient, 'POST', 'Observation', body), 201).id
  }
  const criteria = () => `Observation?patient=${patient.ehrId}&code=http://loinc.org|85354-9`

  it('is kept as it was sent, and found by its owner alone', async () => {
    const end = new Date(Date.now() + 86_400_000).toISOString()
    const id = await createSubscription(nurse, subscriptionOf(criteria(), { end }))
    const subscription = await readFhir(nurse, `Subscription/${id}`)
    assert.deepEqual(
      [subscription.status, subscription.criteria, subscription.end],
      ['active', criteria(), end],
    )
    assert.deepEqual(idsIn(await readFhir(nurse, 'Subscription?status=active')), [id])
    assert.deepEqual(idsIn(await readFhir(nurse, 'Subscription?status=off')), [])
    for (const [method, path] of [
      ['GET', `Subscription/${id}`],
      ['GET', `Subscription/${id}/$status`],
      ['GET', `Subscription/${id}/$events`],
      ['GET', `events/${id}`],
      ['DELETE', `Subscription/${id}`],
    ] as const)
      assertStatus(await callFhir(patient, method, path), 404)
    assertStatus(await callFhir(patient, 'PUT', `Subscription/${id}`, subscription), 404)
    assert.deepEqual(idsIn(await readFhir(patient, 'Subscription')), [])
    assertStatus(await callFhir(nurse, 'DELETE', `Subscription/${id}`), 204)
    assertStatus(await callFhir(nurse, 'GET', `Subscription/${id}`), 404)
  })

  it('has a numbered event for each resource that is created or changed and matches the criteria', async () => {
    const id = await createSubscription(patient, subscriptionOf(criteria()))
    const first = await measure()
    await createWeight(patient, planId)
    const observation = await readFhir(patient, `Observation/${first}`)
    assertStatus(
      await callFhir(patient, 'PUT', `Observation/${first}`, { ...observation, status: 'final' }),
      200,
    )
    const second = await measure()
    const { type, status, count, events } = await readEvents(patient, id)
    assert.deepEqual([type, status], ['query-event', 'active'])
    const focuses = [first, first, second].map((one) => `Observation/${one}`)
    assert.deepEqual(
      events,
      focuses.map((focus, i) => [i + 1, focus]),
    )
    assert.equal(count, 3)
    assert.deepEqual((await readEvents(patient, id, '?eventsSinceNumber=2&eventsUntilNumber=2')).events, [
      [2, `Observation/${first}`],
    ])
    const state = readNotification(await readFhir(patient, `Subscription/${id}/$status`))
    assert.deepEqual([state.type, state.count, state.events], ['query-status', 3, []])
  })

  it('is read once for a list of its events', async () => {
    const id = await createSubscription(patient, subscriptionOf(criteria()))
    const observationId = await measure()
    const { subscription: name } = PROFILE_COLLECTIONS
    const commands = await recordCommands(
      async () => assert.deepEqual(await readFocuses(patient, id), [`Observation/${observationId}`]),
      new RegExp(`^${name.replace('.', '[.]')}$`),
    )
    assert.equal(commands.filter(({ find }) => find === name).length, 1)
  })

  it('is about a topic of the CapabilityStatement, narrowed by a search', async () => {
    const { body } = await request().get('/fhir/R4/metadata')
    const { extension } = body.rest[0].resource.find(({ type }: Json) => type === 'Subscription')
    const topic = 'urn:health-record-service:topic:Observation'
    assert.ok(extension.some(({ valueCanonical }: Json) => valueCanonical === topic))
    const subscription = topicSubscriptionOf(
      'Observation',
      `Observation?patient=${patient.ehrId}&code=85354-9`,
    )
    const id = await createSubscription(patient, subscription)
    const { id: _, meta, end, ...rest } = await readFhir(patient, `Subscription/${id}`)
    assert.deepEqual({ ...rest, meta: { profile: meta.profile }, status: 'requested' }, subscription)
    assert.ok(Date.parse(end) > Date.now())
    await createWeight(patient, planId)
    const measured = await measure()
    const read = await readEvents(patient, id)
    assert.equal(read.topic, topic)
    assert.deepEqual(read.events, [[1, `Observation/${measured}`]])
    const subscriptionId = await createSubscription(patient, topicSubscriptionOf('CarePlan'))
    const plan = await createPlan(patient)
    assert.deepEqual(await readFocuses(patient, subscriptionId), [`CarePlan/${plan}`])
  })

  it('reports the parts of a record that match', async () => {
    const id = await createSubscription(patient, subscriptionOf('Observation?code=http://loinc.org|8867-4'))
    const pressure = { systolic: 120, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
    const body = { ...pressure, heartRate: 71, carePlanId: planId, timestamp: '2026-03-01T08:30:00Z' }
    const { id: measured } = assertStatus(await patient.call('POST', 'procedure/bloodpressure', body), 201)
    assert.deepEqual(await readFocuses(patient, id), [`Observation/${measured}.hr`])
  })

  it('reports only what the subscriber may read at that time', async () => {
    const reader = await createPerson()
    await addParticipant(planId, reader, 'read')
    const id = await createSubscription(reader, subscriptionOf(`Observation?patient=${patient.ehrId}`))
    const otherPlan = await createPlan(patient)
    await createWeight(patient, otherPlan)
    const observationId = await measure()
    assert.deepEqual(await readFocuses(reader, id), [`Observation/${observationId}`])
  })

  it('shows no resource that has been deleted or cannot be read any more', async () => {
    const id = await createSubscription(patient, subscriptionOf(criteria()))
    const otherId = await measure()
    const removed = await measure()
    assert.equal((await readFocuses(patient, id)).length, 2)
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${removed}`), 204)
    assert.deepEqual((await readEvents(patient, id)).events, [
      [1, `Observation/${otherId}`],
      [2, undefined],
    ])
  })

  it('reports with a topic the deletion of a resource that matched its search', async () => {
    const removed = await measure()
    const weight = await createWeight(patient, planId)
    const id = await createSubscription(patient, topicSubscriptionOf('Observation', criteria()))
    const bySearch = await createSubscription(patient, subscriptionOf(criteria()))
    const created = await measure()
    for (const one of [weight, removed])
      assertStatus(await callFhir(patient, 'DELETE', `Observation/${one}`), 204)
    const { events, interactions } = await readEvents(patient, id)
    assert.deepEqual(events, [
      [1, `Observation/${created}`],
      [2, `Observation/${removed}`],
    ])
    assert.deepEqual(interactions, ['POST Observation', `DELETE Observation/${removed}`])
    assert.deepEqual(await readFocuses(patient, bySearch), [`Observation/${created}`])
    assertStatus(await patient.call('POST', `procedure/bloodpressure/${removed}/restore`, { version: 1 }))
    assert.deepEqual((await readFocuses(patient, id)).slice(1), [undefined, `Observation/${removed}`])
  })

  it('reports with a topic the deletion of each part of a record', async () => {
    const pressure = { systolic: 120, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
    const body = { ...pressure, heartRate: 71, carePlanId: planId, timestamp: '2026-03-01T08:30:00Z' }
    const { id: removed } = assertStatus(await patient.call('POST', 'procedure/bloodpressure', body), 201)
    const ofParts = await createSubscription(patient, topicSubscriptionOf('Observation'))
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${removed}`), 204)
    assert.deepEqual(
      await readFocuses(patient, ofParts),
      [removed, `${removed}.hr`].map((one) => `Observation/${one}`),
    )
  })

  it('reports with a topic that an update deletes a part of a record', async () => {
    const pressure = { systolic: 120, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
    const body = { ...pressure, carePlanId: planId, timestamp: '2026-03-01T08:30:00Z' }
    const created = await patient.call('POST', 'procedure/bloodpressure', { ...body, heartRate: 71 })
    const { id: measured } = assertStatus(created, 201)
    const filter = 'Observation?code=http://loinc.org|8867-4'
    const ofPulses = await createSubscription(patient, topicSubscriptionOf('Observation', filter))
    const bySearch = await createSubscription(patient, subscriptionOf(filter))
    assertStatus(await patient.call('PUT', `procedure/bloodpressure/${measured}`, { id: measured, ...body }))
    const { events, interactions } = await readEvents(patient, ofPulses)
    assert.deepEqual(events, [[1, `Observation/${measured}.hr`]])
    assert.deepEqual(interactions, [`DELETE Observation/${measured}.hr`])
    assert.deepEqual(await readFocuses(patient, bySearch), [])
  })

  it('reports with a topic what is deleted with its care plan, and what returns with it', async () => {
    const ownPlan = await createPlan(patient)
    const weight = await createWeight(patient, ownPlan)
    const gone = await createWeight(patient, ownPlan)
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${gone}`), 204)
    const topic = await createSubscription(patient, topicSubscriptionOf('Observation'))
    const filter = 'Observation?code=http://loinc.org|8867-4'
    const ofPulses = await createSubscription(patient, topicSubscriptionOf('Observation', filter))
    const bySearch = await createSubscription(patient, subscriptionOf('Observation?code=29463-7'))
    const ofPlans = await createSubscription(patient, topicSubscriptionOf('CarePlan'))
    assertStatus(await callFhir(patient, 'DELETE', `CarePlan/${ownPlan}`), 204)
    const { events, interactions } = await readEvents(patient, topic)
    assert.deepEqual(events, [[1, `Observation/${weight}`]])
    assert.deepEqual(interactions, [`DELETE Observation/${weight}`])
    assert.deepEqual((await readEvents(patient, ofPlans)).interactions, [`DELETE CarePlan/${ownPlan}`])
    assertStatus(await patient.call('POST', `careplan/${ownPlan}/restore`, { version: 1 }))
    assert.deepEqual(await readFocuses(patient, topic), [undefined, `Observation/${weight}`])
    assert.deepEqual(await readFocuses(patient, bySearch), [`Observation/${weight}`])
    assert.deepEqual(await readFocuses(patient, ofPulses), [])
  })

  it('reports deletions only to those who could read the resource, and only while they may read the patient', async () => {
    const reader = await createPerson()
    const readable = await createPlan(patient)
    await addParticipant(readable, reader, 'read')
    const hidden = await measure()
    const removed = await createWeight(patient, readable)
    const filter = `Observation?patient=${patient.ehrId}`
    const id = await createSubscription(reader, topicSubscriptionOf('Observation', filter))
    const since = new Date()
    for (const one of [hidden, removed])
      assertStatus(await callFhir(patient, 'DELETE', `Observation/${one}`), 204)
    assert.deepEqual(await readFocuses(reader, id), [`Observation/${removed}`])
    const entries = await service.db
      .collection('audit.entries')
      .find({ ehrId: patient.ehrId, userId: reader.mvUid, at: { $gte: since }, 'ids.0': { $exists: true } })
      .toArray()
    assert.ok(entries.length > 0)
    for (const { ids } of entries) assert.deepEqual(ids, [removed])
    await removeReader(patient, readable, reader)
    assert.deepEqual(await readFocuses(reader, id), [undefined])
  })

  it('reports nothing while it is off, and nothing of that time later', async () => {
    const id = await createSubscription(patient, subscriptionOf(criteria()))
    const subscription = await readFhir(patient, `Subscription/${id}`)
    const before = await measure()
    await readEvents(patient, id)
    const off = await callFhir(
      patient,
      'PUT',
      `Subscription/${id}`,
      { ...subscription, status: 'off' },
      { 'if-match': 'W/"1"' },
    )
    assert.equal(assertStatus(off).status, 'off')
    await measure()
    assert.deepEqual(await readFocuses(patient, id), [`Observation/${before}`])
    const stale = await callFhir(patient, 'PUT', `Subscription/${id}`, subscription, { 'if-match': 'W/"1"' })
    assertStatus(stale, 412)
    assertStatus(await callFhir(patient, 'PUT', `Subscription/${id}`, subscription))
    const after = await measure()
    assert.deepEqual((await readEvents(patient, id)).events, [
      [1, `Observation/${before}`],
      [2, `Observation/${after}`],
    ])
  })

  it('is refused with all of its faults', async () => {
    const refuse = async (body: object) =>
      faultsIn({ ...(await callFhir(patient, 'POST', 'Subscription', body)) })
    const inAMonth = new Date(Date.now() + 31 * 86_400_000).toISOString()
    assert.deepEqual(
      (await refuse({ resourceType: 'Subscription', status: 'error', criteria: '', end: inAMonth })).map(
        ([code, place]) => `${code} ${place}`,
      ),
      [
        'code-invalid Subscription.status',
        'required Subscription.reason',
        'business-rule Subscription.criteria',
        'value Subscription.end',
        'required Subscription.channel.type',
      ],
    )
    for (const [search, quotedText] of [
      ['Observation?surprise=1', 'surprise'],
      ['Observation?_include=Observation:based-on', '_include'],
      ['Observation?_has:Group:member:_id=1', '_has:Group:member:_id'],
      ['Observation?code:above=1', 'code:above'],
      ['Observation?date=yesterday', 'date'],
      ['Encounter?patient=1', 'Encounter'],
      ['AuditEvent?patient=1', 'AuditEvent'],
      ['urn:example:topic', 'urn:example:topic'],
      [`Observation?code=${'1'.repeat(2000)}`, '2000 characters'],
    ] as const) {
      const faults = await refuse(subscriptionOf(search))
      assert.deepEqual(
        faults.map(([, place]) => place),
        ['Subscription.criteria'],
        search,
      )
      assert.ok(faults[0]?.[2].includes(quotedText), faults[0]?.[2])
    }
    const [[, place, text] = []] = await refuse(topicSubscriptionOf('Observation', 'Task?status=ready'))
    assert.equal(place, 'Subscription.criteria.extension[0].valueString')
    assert.ok(text?.includes('Task'))
    const { _type } = subscriptionOf('').channel
    for (const channel of [
      ...['rest-hook', 'websocket', 'email', 'message'].map((type) => ({ type })),
      { type: 'rest-hook', _type },
    ]) {
      const [fault] = await refuse(subscriptionOf(criteria(), { channel }))
      assert.deepEqual(fault?.slice(0, 2), ['not-supported', 'Subscription.channel.type'])
      assert.ok(fault?.[2].includes('event-stream'))
    }
  })

  it('is refused, or reported, if it asks for more than the service keeps', async () => {
    const contact = [{ system: 'email', value: 'someone@example.org' }]
    const subscription = subscriptionOf(criteria(), { contact })
    assert.deepEqual(
      faultsIn(await callFhir(patient, 'POST', 'Subscription', subscription)).map(([, place]) => place),
      ['Subscription.contact[0]'],
    )
    const lenient = await callFhir(patient, 'POST', 'Subscription', subscription, {
      prefer: 'handling=lenient',
    })
    assert.equal(assertStatus(lenient, 201).issue[0].severity, 'warning')
  })

  it('is one of at most 20 of a user', async () => {
    const person = await createPerson()
    for (let i = 0; i < 20; i++) await createSubscription(person, subscriptionOf('Task'))
    const [[code] = []] = faultsIn(await callFhir(person, 'POST', 'Subscription', subscriptionOf('Task')))
    assert.equal(code, 'too-costly')
    const [id] = idsIn(await readFhir(person, 'Subscription?_count=1'))
    assertStatus(await callFhir(person, 'DELETE', `Subscription/${id}`), 204)
    await createSubscription(person, subscriptionOf('Task'))
  })
})
