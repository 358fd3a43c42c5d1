import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { Document } from 'mongodb'
import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import { LogicalClock } from '../../../records/store/clocks/logical-clock.ts'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { loadSdk } from '../../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket, subscribeBySdk } from '../../harness/clients/live-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, logInAs, type Person } from '../../harness/people/people.ts'
import { config, service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('live queries', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  let otherPlanId: string
  const open: { close(): unknown }[] = []
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    planId = await createPlan(patient)
    otherPlanId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
  })
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })

  const weigh = (carePlanId: string, weight?: number): Promise<string> =>
    createWeight(patient, carePlanId, weight)

  const subscribed = async (...parameters: Parameters<typeof subscribeBySdk>) => {
    const subscription = await subscribeBySdk(...parameters)
    open.push(subscription)
    return subscription
  }

  it('tell an SDK about creations, changes and deletions by either family', async () => {
    const { next } = await subscribed(nurse, 'BodyWeight')
    const id = await weigh(planId)
    const [eventName, object] = await next()
    assert.deepEqual(
      [eventName, object.id, object.className, object.get('weight')],
      ['create', id, 'BodyWeight', 70],
    )
    assert.ok(object.get('timestamp') instanceof Date && object.createdAt instanceof Date)
    const Parse = loadSdk()
    const session = { sessionToken: nurse.sessionToken }
    const weight = await new Parse.Query('BodyWeight').get(id, session)
    assert.deepEqual(object.toJSON(), weight.toJSON())
    await weight.save({ weight: 71 }, session)
    const [changed, now, former] = await next()
    assert.deepEqual([changed, now.get('weight'), former?.get('weight')], ['update', 71, 70])
    await weight.destroy(session)
    const [gone, last] = await next()
    assert.deepEqual([gone, last.id], ['delete', id])
  })

  it('match conditions like a find: objects enter and leave', async () => {
    const heavy = await subscribed(nurse, 'BodyWeight', (query) =>
      query.greaterThan('weight', 80).equalTo('carePlanId', planId).select('weight'),
    )
    const id = await weigh(planId, 75)
    const change = async (weight: number) => {
      const path = `/ehr/${patient.ehrId}/procedure/bodyweight/${id}`
      const body = { carePlanId: planId, weight, weightUnit: 'kg', timestamp: '2026-03-01T08:30:00Z' }
      assertStatus(await patient.call('PUT', path, body))
    }
    await change(85)
    const [entered, object] = await heavy.next()
    assert.deepEqual([entered, object.get('weight'), object.get('weightUnit')], ['enter', 85, undefined])
    await change(78)
    assert.equal((await heavy.next())[0], 'leave')
  })

  it('watch parts of an object, and the time of the last change', async () => {
    const watch = (path: string) =>
      subscribed(patient, 'Custom', (query) => query.equalTo('modelClassName', 'Mood').watch(path))
    const part = await watch('payload.mood')
    const inList = await watch('payload.notes.text')
    const time = await watch('updatedAt')
    const session = { sessionToken: patient.sessionToken }
    const { Object: ParseObject } = loadSdk()
    const payload = { mood: 1, notes: [{ text: 'a' }] }
    const values = { ehrId: patient.ehrId, carePlanId: planId, modelClassName: 'Mood', payload }
    const object = await new ParseObject('Custom', values).save(null, session)
    for (const { next } of [part, inList, time]) assert.equal((await next())[0], 'create')
    await object.save({ payload: { ...payload, notes: [{ text: 'b' }] } }, session)
    assert.equal((await inList.next())[0], 'update')
    await object.save({ payload: { mood: 2, notes: [{ text: 'b' }] } }, session)
    const [, now, former] = await part.next()
    assert.deepEqual([former?.get('payload').mood, now.get('payload').mood], [1, 2])
    await Promise.all([time.next(), time.next()])
    assert.deepEqual([part.received.length, inList.received.length], [2, 2])
  })

  it('show nobody objects that they may not read', async () => {
    const { received, next } = await subscribed(nurse, 'BodyWeight')
    await weigh(otherPlanId, 60)
    const weightId = await weigh(planId, 61)
    assert.equal((await next())[1].id, weightId)
    assert.equal(received.length, 1)
  })

  it('show no text of a message that its author has changed or deleted', async () => {
    const topic = assertStatus(
      await patient.call('POST', `/chat/careplan/${planId}`, { title: 'Tablets', text: 'Which ones?' }),
      201,
    )
    const { next } = await subscribed(nurse, 'ChatMessage', (query) => query.equalTo('topicId', topic.id))
    const heard = async () => {
      const [op, now, former] = await next()
      return [op, now.get('text'), former?.get('text')]
    }
    const path = `/chat/careplan/${planId}/${topic.id}`
    const { id } = assertStatus(await patient.call('POST', path, { text: 'The blue ones' }), 201)
    assert.equal((await next())[1].get('text'), 'The blue ones')
    assertStatus(await patient.call('PUT', `${path}/message/${id}`, { text: 'The red ones' }))
    assert.deepEqual(await heard(), ['update', 'The red ones', undefined])
    assertStatus(await patient.call('DELETE', `${path}/message/${id}`), 204)
    assert.deepEqual(await heard(), ['update', '', undefined])
  })

  it('hide the subject of an anonymous plan, also from a query for it', async () => {
    const anonymous = await createPlan(patient, { anonymous: true })
    const helper = await createPerson()
    await addParticipant(anonymous, helper, 'read')
    const ehrQuery = await subscribed(helper, 'Ehr')
    const asking = await subscribed(helper, 'Ehr', (query) => query.equalTo('subjectId', patient.mvUid))
    const ehrs = service.db.collection<{ _id: string; version: number }>('Ehr')
    const ehr = await ehrs.findOneAndUpdate(
      { _id: patient.ehrId },
      { $inc: { version: 1 } },
      { returnDocument: 'after' },
    )
    await service.db.collection<Document & { _id: string }>('history.changes').insertOne({
      _id: `${patient.ehrId}/Ehr/${patient.ehrId}/${String(ehr?.version).padStart(10, '0')}/x`,
      version: ehr?.version,
      at: new Date(),
      userId: 'x',
      application: 'x',
      action: 'update',
      changed: [],
      before: ehr,
      logicalTime: await LogicalClock.of(service.db).next(),
    })
    const [, object] = await ehrQuery.next()
    assert.deepEqual([object.id, object.get('subjectId')], [patient.ehrId, undefined])
    assert.deepEqual(asking.received, [])
  })

  it('end with the role and with the session', async () => {
    const guest = await createPerson()
    await addParticipant(planId, guest, 'read')
    const another = await logInAs(guest.email)
    const ofRole = await subscribed(guest, 'BodyWeight')
    const ofSession = await subscribed(another, 'BodyWeight')
    await weigh(planId)
    await Promise.all([ofRole.next(), ofSession.next()])
    const { client, db } = service
    const role = { ehrId: patient.ehrId, carePlanId: planId, right: 'read' } as const
    await client.withSession((session) =>
      session.withTransaction(() => setPlanRole({ client, db }, session, guest.mvUid, role, false)),
    )
    assertStatus(await another.call('POST', '/auth/logout'), 204)
    const watching = await subscribed(nurse, 'BodyWeight')
    await weigh(planId)
    await watching.next()
    assert.deepEqual([ofRole.received.length, ofSession.received.length], [1, 1])
    await waitUntil(() => ofSession.errors.length > 0)
    assert.match(ofSession.errors[0] ?? '', /Invalid session token/)
  })

  it('are audited: the subscription as a query, its events as reads', async () => {
    const since = new Date()
    const { next } = await subscribed(nurse, 'BodyWeight', (query) => query.equalTo('carePlanId', planId))
    await weigh(planId)
    await next()
    const entries = (await readAudit(patient.ehrId, since)).filter((entry) => !entry.startsWith('create'))
    assert.deepEqual(entries, ['query BodyWeight done', 'read BodyWeight done'])
  })

  it('refuse the same queries as find, with a message, and stay connected', async () => {
    const socket = await openRawSocket()
    open.push(socket.socket)
    assert.equal(
      (await socket.answer(createConnectMessage({ sessionToken: nurse.sessionToken }))).op,
      'connected',
    )
    const refusals: [query: object, code: number, error?: string][] = [
      [
        { className: 'BodyWeight', where: { wieght: 1 } },
        102,
        'BodyWeight has no field "wieght" to search by.',
      ],
      [{ className: 'BodyWeight', keys: ['wieght'] }, 102, 'BodyWeight has no field "wieght" to return.'],
      [{ className: 'BodyWeight', watch: ['wieght'] }, 102, 'BodyWeight has no field "wieght" to watch.'],
      [{ className: 'BodyWeight', where: { $where: 'true' } }, 102],
      [{ className: 'BodyWeight', where: { weight: { $regex: '(?=a)' } } }, 102],
      [{ className: 'BodyWeight', where: { weight: { $inQuery: { className: 'Goal', where: {} } } } }, 102],
      [{ className: 'BodyWeight', where: { weight: { a: 1 } } }, 107],
      [{ className: { toString: 1 }, where: {} }, 119],
      [
        { className: 'BodyWeight', keys: [{ toString: 1 }] },
        102,
        '"{"toString":1}" in keys is not the name of a field.',
      ],
      [{ className: '_Session', where: {} }, 119],
      [
        { className: '_User', where: {} },
        119,
        'Live queries do not cover accounts. Follow changes of your account with GET /auth/account/{mvUid}/changes.',
      ],
      [{ className: 'BodyWeight', where: { constructor: 1 } }, 107],
      [{ className: 'BodyWeight', watch: 'a$b' }, 102],
    ]
    for (const [i, [query, code, error]] of refusals.entries()) {
      const { op, requestId, ...fault } = await socket.answer({ op: 'subscribe', requestId: i, query })
      assert.deepEqual([op, requestId, fault.code], ['error', i, code], JSON.stringify([query, fault]))
      if (error !== undefined) assert.equal(fault.error, error)
    }
    for (const nonsense of [[], { op: 'nothing', requestId: 1 }, { op: 'subscribe' }])
      assert.equal((await socket.answer(nonsense)).op, 'error')
    const query = { className: 'BodyWeight', where: {} }
    assert.equal((await socket.answer({ op: 'subscribe', requestId: 9, query })).op, 'subscribed')
  })

  it('require the keys and a session', async () => {
    for (const message of [
      { op: 'connect', applicationId: 'other', javascriptKey: config.javascriptKey },
      { op: 'connect', applicationId: config.applicationId },
      createConnectMessage({ javascriptKey: config.masterKey }),
      createConnectMessage({ sessionToken: 'r:nonsense' }),
    ]) {
      const socket = await openRawSocket()
      const { op, reconnect, error } = await socket.answer(message)
      assert.deepEqual([op, reconnect], ['error', false])
      assert.match(
        String(error),
        /^(unauthorized: connect with applicationId, and one of|Invalid session token)/,
      )
      await waitUntil(() => socket.closedWith() === 1008)
    }
    const silent = await openRawSocket()
    open.push(silent.socket)
    await silent.answer(createConnectMessage())
    const query = { className: 'BodyWeight', where: {} }
    assert.equal((await silent.answer({ op: 'subscribe', requestId: 1, query })).code, 209)
  })

  it('close a socket that sends too large a message', async () => {
    const socket = await openRawSocket()
    socket.socket.send(Buffer.alloc(10 * 1024 * 1024, ' '))
    await waitUntil(() => socket.closedWith() !== undefined)
  })

  it('answer a request for another protocol in their own one', async () => {
    const headers = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAAP__',
    }
    const status = await new Promise((resolve, reject) => {
      request(`${service.url}/health/live`, { headers }, (answer) => resolve(answer.statusCode))
        .on('error', reject)
        .end()
    })
    assert.equal(status, 200)
  })
})
