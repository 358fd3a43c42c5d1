import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { accessRules } from '../../../path-api/operation/access.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { bloodPressureOf, callFhir, idsIn, readFhir } from '../../fhir/fhir-client.ts'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertError, callFunction, createClassClient, loadSdk } from '../../harness/clients/class-client.ts'
import { openEventSource } from '../../harness/clients/event-source.ts'
import { createConnectMessage, openRawSocket, subscribeBySdk } from '../../harness/clients/live-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { actFor, createHelper, inviteHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, createRoleHolder, type Person } from '../../harness/people/people.ts'
import { recordCommands } from '../../harness/service/database-commands.ts'
import { request, service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

const HELPER_NAME = 'Piet de Vries'
const PRESSURE = {
  systolic: 128,
  systolicUnit: 'mm[Hg]',
  diastolic: 82,
  diastolicUnit: 'mm[Hg]',
  timestamp: '2026-03-01T08:30:00Z',
}

async function createNamedHelper(): Promise<Person> {
  const helper = await createPerson()
  const profile = { name: { displayName: HELPER_NAME } }
  assertStatus(await helper.call('PUT', `/profile/${helper.mvUid}`, profile))
  return helper
}

describe('what a helper does for a person', () => {
  let patient: Patient
  let helper: Person
  let acting: Person
  let planId: string
  before(async () => {
    ;[patient, helper] = await Promise.all([createPatient(), createNamedHelper()])
    planId = await createPlan(patient)
    await createHelper(patient, helper, ['READ', 'RECORD', 'MESSAGES', 'PLAN'])
    acting = await actFor(patient, helper)
  })

  const author = () => [helper.mvUid, patient.mvUid]

  it('has the helper as its author, and the person as the one for whom, in both families', async () => {
    const path = `/ehr/${patient.ehrId}/procedure/bloodpressure`
    const { id } = assertStatus(await acting.call('POST', path, { carePlanId: planId, ...PRESSURE }), 201)
    const change = { systolic: 130 }
    await createClassClient(acting).put('BloodPressure', id, change).expect(200)
    const { name } = assertStatus(await patient.call('GET', `/profile/${patient.mvUid}`))
    const { items } = assertStatus(await patient.call('GET', `${path}/${id}/history`))
    assert.deepEqual(
      items.map((one: Record<string, unknown>) => [one.userId, one.onBehalfOf]),
      [author(), author()],
    )
    for (const one of items)
      assert.deepEqual([one.userName, one.onBehalfOfName], [HELPER_NAME, name.displayName])
    assertStatus(await patient.call('PUT', `${path}/${id}`, { carePlanId: planId, ...PRESSURE }))
    const [own] = assertStatus(await patient.call('GET', `${path}/${id}/history`)).items
    assert.deepEqual([own.userId, own.onBehalfOf, own.onBehalfOfName], [patient.mvUid, null, null])
  })

  it('is in the person’s list of accesses with the helper’s name', async () => {
    const from = new Date().toISOString()
    const ids = [await createWeight(patient, planId)]
    assertStatus(await acting.call('GET', `/ehr/${patient.ehrId}/procedure/bodyweight/${ids[0]}`))
    await createClassClient(acting)
      .get('BodyWeight', ids[0] ?? '')
      .expect(200)
    await createClassClient(acting).list('BodyWeight', { ehrId: patient.ehrId }).expect(200)
    const list = await patient.call('GET', `/ehr/${patient.ehrId}/audit?others=true&from=${from}`)
    const rows = assertStatus(list).items.map((one: Record<string, unknown>) => [
      one.userId,
      one.onBehalfOf,
      one.userName,
      one.action,
    ])
    const helperAuthor = [...author(), HELPER_NAME]
    assert.deepEqual(
      rows.map(String).sort(),
      [
        [...helperAuthor, 'query'],
        [...helperAuthor, 'read'],
        [...helperAuthor, 'read'],
      ].map(String),
    )
    const events = await readFhir(patient, `AuditEvent?patient=${patient.ehrId}&agent=${helper.mvUid}`)
    const agents = JSON.stringify(events)
    assert.ok(author().every((id) => agents.includes(id)))
    const page = assertStatus(await patient.call('GET', '/ehr/audit'))
    assert.match(String(page), new RegExp(`${HELPER_NAME}, for you`))
  })

  it('arrives as an event that says so', async () => {
    const source = await openEventSource(patient, `/ehr/${patient.ehrId}/changes`)
    try {
      await createClassClient(acting)
        .post('Goal', { ehrId: patient.ehrId, carePlanId: planId, name: 'Swim' })
        .expect(201)
      const { data } = await source.next()
      assert.deepEqual([data.type, data.userId, data.onBehalfOf], ['Goal', ...author()])
    } finally {
      source.close()
    }
  })

  it('can be a message, in which both are named', async () => {
    const chat = `/chat/careplan/${planId}`
    const topic = assertStatus(await acting.call('POST', chat, { title: 'Tablets', text: 'Which?' }), 201)
    assert.deepEqual([topic.createdBy.mvUid, topic.onBehalfOf.mvUid], author())
    const path = `${chat}/${topic.id}`
    const { id } = assertStatus(await acting.call('POST', path, { text: 'The white ones?' }), 201)
    const { items } = assertStatus(await patient.call('GET', path))
    assert.equal(items.length, 2)
    for (const { author: by, onBehalfOf } of items) {
      assert.deepEqual([by.mvUid, onBehalfOf.mvUid], author())
      assert.equal(by.name, HELPER_NAME)
    }
    const changed = { text: 'The blue ones?' }
    assert.equal((await patient.call('PUT', `${path}/message/${id}`, changed)).status, 403)
    assertStatus(await acting.call('PUT', `${path}/message/${id}`, changed))
    assertStatus(await acting.call('POST', `${path}/read`, {}), 204)
    assert.equal(assertStatus(await acting.call('GET', path)).unread, 0, 'the helper has read them')
    assert.equal(assertStatus(await patient.call('GET', path)).unread, 2, 'the person has not read them')
  })

  it('works with the Parse SDK', async () => {
    const Parse = loadSdk()
    const options = { sessionToken: acting.sessionToken }
    const weight = new Parse.Object('BodyWeight', {
      ehrId: patient.ehrId,
      carePlanId: planId,
      weight: 71,
      weightUnit: 'kg',
      timestamp: new Date(),
    })
    await weight.save(null, options)
    const weights = await new Parse.Query('BodyWeight').equalTo('objectId', weight.id).find(options)
    assert.deepEqual(
      weights.map(({ id }) => id),
      [weight.id],
    )
    const path = `/ehr/${patient.ehrId}/procedure/bodyweight/${weight.id}/history`
    const [{ userId, onBehalfOf }] = assertStatus(await patient.call('GET', path)).items
    assert.deepEqual([userId, onBehalfOf], author())
  })

  it('obeys the same rule in FHIR', async () => {
    const { body, status } = await callFhir(acting, 'POST', 'Observation', bloodPressureOf(patient.ehrId))
    assert.equal(status, 201, JSON.stringify(body))
    const diagnosis = {
      resourceType: 'Condition',
      code: { text: 'Asthma' },
      subject: { reference: `Patient/${patient.ehrId}` },
    }
    assert.equal((await callFhir(acting, 'POST', 'Condition', diagnosis)).status, 403)
    const audit = await callFhir(acting, 'GET', `AuditEvent?patient=${patient.ehrId}`)
    assert.ok(audit.status === 403 || idsIn(audit.body).length === 0, JSON.stringify(audit.body))
  })
})

describe('a helper', () => {
  let patient: Patient
  let helper: Person
  let reading: Person
  let planId: string
  let topicId: string
  before(async () => {
    ;[patient, helper] = await Promise.all([createPatient(), createPerson()])
    planId = await createPlan(patient)
    const topic = { title: 'The new tablets', text: 'SECRET-OF-THE-CHAT' }
    topicId = assertStatus(await patient.call('POST', `/chat/careplan/${planId}`, topic), 201).id
    await createHelper(patient, helper, ['READ'])
    reading = await actFor(patient, helper)
  })

  it('begins one session by concurrent requests', async () => {
    const path = `/profile/${helper.mvUid}/helping/${patient.mvUid}/act`
    const commands = await recordCommands(async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => helper.call('POST', path)))
      const sids = answers.map((one) => decodeJwt(assertStatus(one).authToken).sid)
      assert.equal(new Set(sids).size, 1)
    }, /^_Session$/)
    // MongoDB makes an upsert unique only by a unique key in its filter.
    const indexes = await service.db.collection('_Session').indexes()
    const { key = {} } = indexes.find(({ name, unique }) => unique && name === 'helper_agreement') ?? {}
    const upserts = commands.filter(({ upsert }) => upsert)
    assert.equal(upserts.length, 5)
    for (const { findAndModify, query } of upserts)
      assert.deepEqual([findAndModify, Object.keys(query)], ['_Session', Object.keys(key)])
  })

  it('has no access to the account of the person in the path family', async () => {
    const isOffered = ({ access }: { access: string }): boolean => {
      const rule = accessRules[access as keyof typeof accessRules]
      return rule && ('pathParameter' in rule || 'helpers' in rule)
    }
    const refusedOperations = operationTable.filter((one) => one.access !== 'public' && !isOffered(one))
    assert.ok(refusedOperations.length > 60)
    for (const { method, path, id } of refusedOperations) {
      const ownPath = path.replace('{mvUid}', patient.mvUid).replace(/\{\w+\}/g, 'x1')
      const { status, body } = await reading.call(method.toUpperCase(), ownPath)
      assert.equal(status, 403, `${id}: ${status} ${JSON.stringify(body)}`)
    }
  })

  it('is offered no operation on accounts but the log-out', () => {
    const operations = operationTable.filter(({ access, path }) => access === 'user' && /^\/auth/.test(path))
    assert.deepEqual(
      operations.map(({ id }) => id),
      ['logOut'],
    )
  })

  it('has no access to the account of the person in the class family', async () => {
    const { headers } = reading
    const requests = [
      request().get('/1/users/me'),
      request().get('/1/users'),
      request().get(`/1/users/${patient.mvUid}`),
      request().put(`/1/users/${patient.mvUid}`).send({ name: 'x' }),
      request().delete(`/1/users/${patient.mvUid}`),
      request().get('/1/sessions/me'),
      request().get('/1/classes/_User'),
      request().post('/1/functions/worklist').send({}),
      request().post('/1/functions/listHelpers').send({}),
      request().post('/1/functions/inviteHelper').send({}),
      request().post('/1/functions/actForPerson').send({ mvUid: patient.mvUid }),
    ]
    for (const one of requests) assertError(await one.set(headers), 119)
    const part = { method: 'GET', path: '/1/users/me' }
    const { body } = await createClassClient(reading).batch([part])
    assert.equal(body[0].error.code, 119)
  })

  it('sees no messages without that grant', async () => {
    const chat = `/chat/careplan/${planId}`
    for (const path of [chat, `${chat}/${topicId}`, `${chat}/${topicId}/changes`])
      assert.equal((await reading.call('GET', path)).status, 404, path)
    assert.equal((await reading.call('POST', chat, { title: 'x', text: 'y' })).status, 403)
    const client = createClassClient(reading)
    for (const name of ['ChatTopic', 'ChatMessage']) {
      assertError(await client.list(name), 101)
      assertError(await client.get(name, topicId), 101)
      const inQuery = { $inQuery: { className: name, where: {} } }
      assertError(await client.list('BodyWeight', { carePlanId: inQuery }), 102)
    }
    const changed = await readFhir(reading, `_history?patient=${patient.ehrId}`)
    const types = changed.entry.map(
      (one: { resource?: { resourceType: string } }) => one.resource?.resourceType,
    )
    assert.ok(types.includes('CarePlan') && !types.includes('Communication'), String(types))
    for (const search of ['Communication?', 'Communication/_history?', 'Provenance?']) {
      const { body } = await callFhir(reading, 'GET', `${search}patient=${patient.ehrId}`)
      assert.ok(!/SECRET-OF-THE-CHAT|Communication\//.test(JSON.stringify(body.entry ?? [])), search)
    }
    for (const path of ['summary/timeline', 'summary/medgraph']) {
      const { body } = await reading.call('GET', `/ehr/${patient.ehrId}/${path}`)
      assert.ok(!JSON.stringify(body).includes('SECRET-OF-THE-CHAT'), path)
    }
  })

  it('gets no events about messages without that grant', async () => {
    const source = await openEventSource(reading, `/ehr/${patient.ehrId}/changes`)
    const live = await subscribeBySdk(reading, 'BodyWeight')
    try {
      await assert.rejects(subscribeBySdk(reading, 'ChatMessage'))
      const message = { text: 'Do they go with the old ones?' }
      assertStatus(await patient.call('POST', `/chat/careplan/${planId}/${topicId}`, message), 201)
      const id = await createWeight(patient, planId)
      assert.equal((await source.next()).data.id, id)
      await waitUntil(() => live.received.length > 0)
      assert.deepEqual(
        live.received.map(([op, { id }]) => [op, id]),
        [['create', id]],
      )
    } finally {
      source.close()
      await live.close()
    }
  })

  it('hears of messages on open streams for as long as it may read them', async () => {
    const brief = await createPerson()
    const chat = `/chat/careplan/${planId}/${topicId}`
    const write = () => patient.call('POST', chat, { text: 'Both in the morning.' })
    await createHelper(patient, brief, ['READ', 'MESSAGES'])
    const acting = await actFor(patient, brief)
    const ofTopic = await openEventSource(acting, `${chat}/changes`)
    const ofEhr = await openEventSource(acting, `/ehr/${patient.ehrId}/changes`)
    const live = await subscribeBySdk(acting, 'ChatMessage')
    try {
      assertStatus(await write(), 201)
      await waitUntil(() => live.received.length === 1)
      for (const source of [ofTopic, ofEhr]) assert.equal((await source.next()).data.type, 'ChatMessage')
      await inviteHelper(patient, brief, ['READ'])
      assertStatus(await write(), 201)
      const id = await createWeight(patient, planId)
      assert.equal((await ofEhr.next()).data.id, id)
      await ofTopic.ended()
      await waitUntil(() => live.errors.length > 0)
      assert.equal(live.received.length, 1)
      await inviteHelper(patient, brief, ['READ', 'MESSAGES'])
      assertStatus(await write(), 201)
      assert.equal((await ofEhr.next()).data.type, 'ChatMessage')
    } finally {
      ofTopic.close()
      ofEhr.close()
      await live.close()
    }
  })

  it('acts in the person’s own record only, with none of their roles', async () => {
    const [nurse, other] = await Promise.all([createRoleHolder('admin'), createPatient()])
    const plan = await createPlan(other)
    await addParticipant(plan, nurse, 'write')
    await createHelper(nurse, helper, ['READ', 'PLAN'])
    const acting = await actFor(nurse, helper)
    assert.equal((await nurse.call('GET', `/ehr/${other.ehrId}/careplan/${plan}`)).status, 200)
    assertProblem(await acting.call('GET', `/ehr/${other.ehrId}/careplan/${plan}`), 404, 'not-found')
    assertError(await createClassClient(acting).get('CarePlan', plan), 101)
    assert.equal((await createClassClient(nurse).list('CarePlan').expect(200)).body.results.length, 1)
    assert.deepEqual((await createClassClient(acting).list('CarePlan').expect(200)).body.results, [])
    const { items } = assertStatus(await acting.call('GET', '/ehr'))
    assert.deepEqual(
      items.map(({ subjectId }: { subjectId: string }) => subjectId),
      [nurse.mvUid],
    )
    assert.equal((await acting.call('GET', '/auth/account')).status, 403)
  })

  it('does not share idempotency keys with the person', async () => {
    const person = await createPatient()
    const other = await createPerson()
    await createHelper(person, other, ['READ', 'RECORD'])
    const acting = await actFor(person, other)
    const path = `/ehr/${person.ehrId}/procedure/bodyweight`
    const body = {
      carePlanId: await createPlan(person),
      weight: 70,
      weightUnit: 'kg',
      timestamp: '2026-03-01T08:30:00Z',
    }
    const headers = { 'idempotency-key': 'the-same-key' }
    const ids = [
      assertStatus(await person.call('POST', path, body, headers), 201).id,
      assertStatus(await acting.call('POST', path, body, headers), 201).id,
    ]
    assert.equal(new Set(ids).size, 2)
  })

  it('uses up a limit of requests of its own, not that of the person', async () => {
    const [person, other] = await Promise.all([createPatient(), createPerson()])
    await createHelper(person, other, ['READ'])
    const acting = await actFor(person, other)
    const leftFor = async (who: Person): Promise<number> => {
      const { headers } = await who.call('GET', `/ehr/${person.ehrId}/careplan`)
      return Number(/^"account";r=(\d+);/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    const before = await leftFor(person)
    assert.equal((await leftFor(acting)) - (await leftFor(acting)), 1)
    assert.equal(await leftFor(person), before - 1)
  })

  it('uses up limits of streams and live queries of its own, not those of the person', async () => {
    const [person, other] = await Promise.all([createPatient(), createPerson()])
    await createHelper(person, other, ['READ'])
    const acting = await actFor(person, other)
    const changes = `/ehr/${person.ehrId}/changes`
    const connect = async ({ sessionToken }: Person) => {
      const { socket, answer } = await openRawSocket()
      const { op } = await answer(createConnectMessage({ sessionToken }))
      return { op, close: () => socket.close() }
    }
    const twenty = Array.from({ length: 20 })
    const sources = await Promise.all(twenty.map(() => openEventSource(acting, changes)))
    const connections = await Promise.all(twenty.map(() => connect(acting)))
    try {
      assert.equal((await acting.call('GET', changes)).status, 429)
      connections.push(await connect(acting))
      assert.equal(connections.at(-1)?.op, 'error')
      sources.push(await openEventSource(person, changes))
      assert.equal(sources.at(-1)?.status, 200)
      connections.push(await connect(person))
      assert.equal(connections.at(-1)?.op, 'connected')
    } finally {
      for (const one of [...sources, ...connections]) one.close()
    }
  })

  it('may write only what was granted, in the class family', async () => {
    const client = createClassClient(reading)
    const goalId = await createGoal(patient, planId)
    const id = await createWeight(patient, planId)
    const place = { ehrId: patient.ehrId, carePlanId: planId }
    assertError(await client.post('Goal', { ...place, name: 'Swim' }), 119)
    assertError(await client.put('Goal', goalId, { name: 'Swim' }), 119)
    assertError(await client.delete('BodyWeight', id), 119)
    assertError(await client.post('Ehr', { subjectId: patient.mvUid }), 119)
    assertError(await client.delete('Ehr', patient.ehrId), 119)
    assertError(await callFunction(reading, 'handleAlert', { eventId: 'x1', action: 'SEE' }), 101)
  })
})
