import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { ChatTopic } from '../../../records/chat/chat-kinds.ts'
import { ReadMarks } from '../../../records/chat/read-marks.ts'
import { Reminders } from '../../../records/chat/reminders.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { HOUR_MS } from '../../../schemas/time/durations.ts'
import { connectUsers } from '../../harness/care/owners.ts'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { openEventSource } from '../../harness/clients/event-source.ts'
import { assertProblem, assertProblemPlaces, assertStatus, call } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { recordAllCommands } from '../../harness/service/database-commands.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

type Shown = Record<string, unknown>

describe('a chat', () => {
  let patient: Patient
  let nurse: Person
  let reader: Person
  let stranger: Person
  let carePlanId: string
  before(async () => {
    ;[patient, nurse, reader, stranger] = await Promise.all([
      createPatient(),
      createPerson(),
      createPerson(),
      createPerson(),
    ])
    assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, { name: { displayName: 'Ann' } }))
    carePlanId = await createPlan(patient)
    await addParticipant(carePlanId, nurse, 'write')
    await addParticipant(carePlanId, reader, 'read')
  })

  const newTopic = { title: 'The new tablets', text: 'Do they go with the old ones?' }
  const pathOf = (path = '', of = `careplan/${carePlanId}`) => `/chat/${of}${path}`
  const start = async (who: Person = patient, of?: string): Promise<string> =>
    assertStatus(await who.call('POST', pathOf('', of), newTopic), 201).id
  const post = (topic: string, text: string, who: Person = nurse, more: object = {}) =>
    who.call('POST', pathOf(`/${topic}`), { text, ...more })
  const addMessage = async (topic: string, text: string, who: Person = nurse) =>
    assertStatus(await post(topic, text, who), 201).id
  const topicAs = async (who: Person, topic: string, query = '') =>
    assertStatus(await who.call('GET', pathOf(`/${topic}${query}`)))
  const textsOf = ({ items }: { items: Shown[] }) => items.map(({ text }) => text)

  it('is a topic with its first message, for everyone who may see its subject, even read-only', async () => {
    const started = await patient.call('POST', pathOf(), newTopic)
    const { id, createdAt, lastMessageAt, ...topic } = assertStatus(started, 201)
    assert.equal(started.headers.get('location'), pathOf(`/${id}`))
    assert.deepEqual(topic, {
      version: 1,
      title: newTopic.title,
      createdBy: { mvUid: patient.mvUid, name: 'Ann' },
      onBehalfOf: null,
      unread: 0,
      closed: false,
    })
    await addMessage(id, 'Yes, they do.', nurse)
    await addMessage(id, 'Thanks', reader)
    const nurseView = await topicAs(nurse, id)
    assert.deepEqual(textsOf(nurseView), [newTopic.text, 'Yes, they do.', 'Thanks'])
    assert.equal(nurseView.unread, 2)
    const [listedTopic] = assertStatus(await reader.call('GET', pathOf())).items
    assert.deepEqual(
      [listedTopic.id, listedTopic.unread, listedTopic.lastMessageAt],
      [id, 2, nurseView.lastMessageAt],
    )
    for (const [method, path, body] of [
      ['GET', pathOf(), undefined],
      ['POST', pathOf(), newTopic],
      ['GET', pathOf(`/${id}`), undefined],
      ['POST', pathOf(`/${id}`), { text: 'x' }],
      ['POST', pathOf(`/${id}/read`), {}],
      ['POST', pathOf(`/${id}/close`), undefined],
      ['PUT', pathOf(`/${id}/message/${nurseView.items[0].id}`), { text: 'x' }],
      ['DELETE', pathOf(`/${id}/message/${nurseView.items[0].id}`), undefined],
    ] as const) {
      assertProblem(await stranger.call(method, path, body), 404, 'not-found')
      assertProblem(await call(method, path, body), 401, 'unauthenticated')
    }
    assertProblem(await stranger.call('GET', '/chat/careplan/nothing'), 404, 'not-found')
  })

  it('is about plans, goals, tasks, events and EHRs, each separately', async () => {
    const goalId = await createGoal(patient, carePlanId)
    const taskId = await createTask(patient, carePlanId, goalId)
    const event = { type: 'visit', title: 'x', start: '2026-03-01T09:00:00Z', carePlanId }
    const eventId = assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 201).id
    for (const place of [`goal/${goalId}`, `task/${taskId}`, `event/${eventId}`, `ehr/${patient.ehrId}`]) {
      const id = await start(reader, place)
      const { items } = assertStatus(await nurse.call('GET', pathOf('', place)))
      assert.deepEqual(
        items.map((one: Shown) => one.id),
        [id],
        place,
      )
      assertProblem(await nurse.call('GET', pathOf(`/${id}`)), 404, 'not-found')
      assertProblem(await stranger.call('GET', pathOf(`/${id}`, place)), 404, 'not-found')
    }
    assertStatus(await patient.call('DELETE', `/med/${patient.ehrId}/event/${eventId}`), 204)
    assertProblem(await patient.call('GET', pathOf('', `event/${eventId}`)), 404, 'not-found')
    assertProblem(await patient.call('GET', pathOf('', 'network/x')), 404, 'not-found')
    assertProblem(await patient.call('GET', '/chat/weather/x'), 400, 'invalid-input')
  })

  it('is between two users while they are connected', async () => {
    const [one, two] = await Promise.all([createPerson(), createPerson()])
    const networkPath = (other: Person) => `network/${other.mvUid}`
    assertProblem(await one.call('POST', pathOf('', networkPath(two)), newTopic), 404, 'not-found')
    await connectUsers(one, two)
    const id = await start(one, networkPath(two))
    assertStatus(await two.call('POST', pathOf(`/${id}`, networkPath(one)), { text: 'Yes' }), 201)
    assert.deepEqual(textsOf(assertStatus(await one.call('GET', pathOf(`/${id}`, networkPath(two))))), [
      newTopic.text,
      'Yes',
    ])
    assertProblem(await stranger.call('GET', pathOf(`/${id}`, networkPath(two))), 404, 'not-found')
    const attached = { text: 'x', attachments: [{ type: 'Event', id: 'x' }] }
    assertProblem(await one.call('POST', pathOf(`/${id}`, networkPath(two)), attached), 422, 'rule-violated')
    assertStatus(await one.call('DELETE', `/profile/${one.mvUid}/network/${two.mvUid}`), 204)
    assertProblem(await two.call('GET', pathOf(`/${id}`, networkPath(one))), 404, 'not-found')
  })

  it('is paged back and forth, the newest last', async () => {
    const id = await start()
    for (const text of ['1', '2', '3', '4']) await addMessage(id, text)
    const last = await topicAs(reader, id, '?limit=2')
    assert.deepEqual([textsOf(last), last.page.next], [['3', '4'], null])
    const before = await topicAs(reader, id, `?limit=2&cursor=${last.page.prev}`)
    assert.deepEqual(textsOf(before), ['1', '2'])
    const oldest = await topicAs(reader, id, `?limit=2&cursor=${before.page.prev}`)
    assert.deepEqual([textsOf(oldest), oldest.page.prev], [[newTopic.text], null])
    assert.deepEqual(textsOf(await topicAs(reader, id, `?limit=2&cursor=${oldest.page.next}`)), ['1', '2'])
    assertProblem(await reader.call('GET', pathOf(`/${id}?cursor=x`)), 400, 'malformed-request')
  })

  it('accepts plain text that is not empty, and existing references', async () => {
    const id = await start()
    for (const text of ['   \n ', '\u200b\u2060', '\u202eevil', 'a\u0007', 'a\u0000b'])
      assert.deepEqual(assertProblemPlaces(await post(id, text), 422, 'rule-violated'), ['body.text'])
    assert.deepEqual(assertProblem(await post(id, '\u202e\u202d'), 422, 'rule-violated'), ['blank', 'plain'])
    assertProblem(await post(id, ''), 400, 'invalid-input')
    assertProblem(await post(id, 'x'.repeat(10_001)), 400, 'invalid-input')
    assertProblem(await post(id, 'x'.repeat(1_000_000)), 413, 'content-too-large')
    const bold = '<b>bold</b> https://example.org'
    assert.equal(assertStatus(await post(id, bold), 201).text, bold)
    const messageId = await addMessage(id, 'First')
    const reply = assertStatus(await post(id, 'Second', reader, { replyTo: messageId }), 201)
    assert.equal(reply.replyTo, messageId)
    const elsewhere = await addMessage(await start(), 'Elsewhere')
    assert.deepEqual(
      assertProblemPlaces(await post(id, 'x', nurse, { replyTo: elsewhere }), 422, 'rule-violated'),
      ['body.replyTo'],
    )
    const steps = { carePlanId, dataType: 'steps', value: 1, timestamp: '2026-03-01T08:00:00Z' }
    const stepsId = assertStatus(
      await patient.call('POST', `/ehr/${patient.ehrId}/measurement`, steps),
      201,
    ).id
    const reference = { type: 'Measurement', id: stepsId }
    const { attachments } = assertStatus(await post(id, 'See', nurse, { attachments: [reference] }), 201)
    assert.deepEqual(attachments, [{ ...reference, href: `/ehr/${patient.ehrId}/measurement/${stepsId}` }])
    const wrong = [
      { type: 'Measurement', id: 'nothing' },
      { type: '_User', id: patient.mvUid },
    ]
    assertProblem(await post(id, 'x', nurse, { attachments: wrong }), 400, 'invalid-input')
    const unknownSubjects = [
      { type: 'Measurement', id: 'nothing' },
      { type: 'CarePlan', id: carePlanId },
    ]
    assert.deepEqual(
      assertProblemPlaces(await post(id, 'x', nurse, { attachments: unknownSubjects }), 422, 'rule-violated'),
      ['body.attachments.0', 'body.attachments.1'],
    )
  })

  it('is posted once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': randomUUID() }
    const ids = [0, 1].map(() => patient.call('POST', pathOf(), newTopic, key))
    const [one, two] = (await Promise.all(ids)).map((answer) =>
      answer.status === 201 ? answer.body.id : undefined,
    )
    const retried = assertStatus(await patient.call('POST', pathOf(), newTopic, key), 201).id
    assert.ok([one, two].every((id) => id === undefined || id === retried))
  })

  it('is edited by its author for 15 minutes, with a mark; a deletion leaves a tombstone', async () => {
    const id = await start()
    const messageId = await addMessage(id, 'Tomorow')
    const message = pathOf(`/${id}/message/${messageId}`)
    assertProblem(await patient.call('PUT', message, { text: 'x' }), 403, 'forbidden')
    assertProblem(await patient.call('DELETE', message), 403, 'forbidden')
    const edited = assertStatus(await nurse.call('PUT', message, { text: 'Tomorrow' }, { 'if-match': '"1"' }))
    assert.deepEqual([edited.text, edited.version, edited.editedAt !== null], ['Tomorrow', 2, true])
    assertProblem(
      await nurse.call('PUT', message, { text: 'x' }, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    const messages = service.db.collection<{ _id: string }>('ChatMessage')
    const quarterAgo = new Date(Date.now() - HOUR_MS / 4 - 1000)
    await messages.updateOne({ _id: messageId }, { $set: { _created_at: quarterAgo } })
    assert.deepEqual(
      assertProblemPlaces(await nurse.call('PUT', message, { text: 'x' }), 422, 'rule-violated'),
      ['body.text'],
    )
    for (const _again of [1, 2]) assertStatus(await nurse.call('DELETE', message), 204)
    const stone = (await topicAs(patient, id)).items.find((one: Shown) => one.id === messageId)
    assert.deepEqual(
      [stone.text, stone.deleted, stone.author.mvUid, stone.version],
      [null, true, nurse.mvUid, 3],
    )
    assertProblem(await nurse.call('PUT', message, { text: 'x' }), 422, 'rule-violated')
    const other = pathOf(`/${id}/message/${await addMessage(id, 'At once')}`)
    assertStatus(await nurse.call('DELETE', other), 204)
    assert.deepEqual(assertProblem(await nurse.call('PUT', other, { text: 'x' }), 422, 'rule-violated'), [
      'deleted',
    ])
  })

  it('shows nobody a text that its author has deleted, in the stream of earlier changes neither', async () => {
    const id = await start()
    const messageId = await addMessage(id, 'sent by mistake')
    assertStatus(await nurse.call('DELETE', pathOf(`/${id}/message/${messageId}`)), 204)
    const lastId = await addMessage(id, 'sorry')
    const source = await openEventSource(reader, pathOf(`/${id}/changes?lookBack=5`))
    const isLast = ({ data }: { data: Shown }) => data.id === lastId || (data.message as Shown)?.id === lastId
    await waitUntil(() => source.events.some(isLast))
    source.close()
    const text = JSON.stringify(source.events)
    assert.ok(text.includes(messageId), text)
    assert.ok(!text.includes('sent by mistake'), text)
  })

  it('reads a message once for many streams that it reaches together', async () => {
    const id = await start()
    const path = pathOf(`/${id}/changes`)
    const sources = await Promise.all(Array.from({ length: 12 }, () => openEventSource(reader, path)))
    const commands = await recordAllCommands(async () => {
      const messageId = await addMessage(id, 'Hello')
      const isIt = ({ data }: { data: Shown }) => (data.message as Shown | null)?.id === messageId
      await waitUntil(() => sources.every(({ events }) => events.some(isIt)))
    })
    for (const source of sources) source.close()
    const reads = commands.filter(({ find, filter }) => find === 'ChatMessage' && filter?._id)
    assert.ok(reads.length > 0 && reads.length <= 6, `${reads.length} reads`)
  })

  it('counts unread messages until the reader confirms them', async () => {
    const id = await start()
    const two = await addMessage(id, 'two')
    await addMessage(id, 'three')
    const unread = async (who: Person) => (await topicAs(who, id)).unread
    const read = (who: Person, body: object = {}) => who.call('POST', pathOf(`/${id}/read`), body)
    assert.deepEqual([await unread(patient), await unread(nurse), await unread(reader)], [2, 1, 3])
    assertStatus(await read(reader, { messageId: two }), 204)
    assert.equal(await unread(reader), 1)
    assertStatus(await read(reader), 204)
    assertStatus(await read(reader, { messageId: two }), 204)
    assert.equal(await unread(reader), 0)
    const four = await addMessage(id, 'four', patient)
    assert.equal(await unread(reader), 1)
    assertStatus(await patient.call('DELETE', pathOf(`/${id}/message/${four}`)), 204)
    assert.equal(await unread(reader), 0)
    assert.deepEqual(
      assertProblemPlaces(await read(reader, { messageId: 'of-the-future' }), 422, 'rule-violated'),
      ['body.messageId'],
    )
  })

  it('counts messages of the same millisecond one by one', async () => {
    const id = await start()
    const ids = [await addMessage(id, 'two'), await addMessage(id, 'three')].sort()
    const time = new Date(Date.now() + 1000)
    const messages = service.db.collection<{ _id: string }>('ChatMessage')
    await messages.updateMany({ _id: { $in: ids } }, { $set: { _created_at: time } })
    const topics = service.db.collection<{ _id: string }>('ChatTopic')
    await topics.updateOne({ _id: id }, { $set: { lastMessageAt: time } })
    for (const [messageId, unread] of [
      [ids[0], 1],
      [ids[1], 0],
      [ids[0], 0],
    ]) {
      assertStatus(await reader.call('POST', `/chat/careplan/${carePlanId}/${id}/read`, { messageId }), 204)
      const { items } = assertStatus(await reader.call('GET', `/chat/careplan/${carePlanId}?limit=100`))
      assert.equal(items.find((one: Shown) => one.id === id).unread, unread)
      assert.equal((await topicAs(reader, id)).unread, unread)
    }
  })

  it('is closed by its starter or by users who may change its subject', async () => {
    const id = await start(reader)
    const other = await start()
    assertProblem(await reader.call('POST', pathOf(`/${other}/close`)), 403, 'forbidden')
    for (const _again of [1, 2]) {
      const { closed, version } = assertStatus(await reader.call('POST', pathOf(`/${id}/close`)))
      assert.deepEqual([closed, version], [true, 2])
    }
    assertProblem(await post(id, 'Too late'), 422, 'rule-violated')
    assert.deepEqual(textsOf(await topicAs(nurse, id)), [newTopic.text])
  })

  it('is audited, available in both families, and deleted with its plan and its EHR', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner)
    await addParticipant(plan, nurse, 'write')
    const since = new Date()
    const id = await start(owner, `careplan/${plan}`)
    const posted = assertStatus(
      await nurse.call('POST', pathOf(`/${id}`, `careplan/${plan}`), { text: 'Hello' }),
      201,
    )
    assert.deepEqual((await readAudit(owner.ehrId, since)).sort(), [
      'create ChatMessage done',
      'create ChatMessage done',
      'create ChatTopic done',
    ])
    const { body } = await createClassClient(owner).get('ChatMessage', posted.id).expect(200)
    assert.deepEqual([body.text, body.topicId, body.createdBy], ['Hello', id, nurse.mvUid])
    const { results } = (await createClassClient(nurse).list('ChatTopic', { carePlanId: plan }).expect(200))
      .body
    assert.deepEqual(
      results.map(({ objectId }: Shown) => objectId),
      [id],
    )
    const declared = [
      'objectId',
      'createdAt',
      'updatedAt',
      'ACL',
      'version',
      ...Object.keys(ChatTopic.schema.properties),
    ]
    assert.deepEqual(
      Object.keys(results[0]).filter((name) => !declared.includes(name)),
      [],
    )
    assert.deepEqual(
      (await createClassClient(stranger).list('ChatTopic', { carePlanId: plan })).body.results,
      [],
    )
    const refusals = [
      await createClassClient(nurse).post('ChatMessage', { topicId: id, text: 'x' }),
      await createClassClient(nurse).put('ChatMessage', posted.id, { text: 'x' }),
      await createClassClient(nurse).delete('ChatMessage', posted.id),
    ]
    for (const answer of refusals)
      assert.ok([101, 119].includes(answer.body.code), JSON.stringify(answer.body))
    assert.equal((await createClassClient(nurse).get('ChatMessage', posted.id)).body.text, 'Hello')
    assertStatus(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
    assertProblem(await owner.call('GET', pathOf(`/${id}`, `careplan/${plan}`)), 404, 'not-found')
    assert.deepEqual((await createClassClient(owner).list('ChatMessage', { topicId: id })).body.results, [])
    await createClassClient(patient)
      .delete('CarePlan', await createPlan(patient))
      .expect(200)
  })

  it('names nobody if the plan is anonymous, and keeps messages of former participants', async () => {
    const owner = await createPatient()
    const plan = await createPlan(owner, { anonymous: true })
    const add = (mvUid: string) =>
      owner.call('POST', `careplan/${plan}/participant`, { mvUid, access: 'READ' })
    const { participationId } = assertStatus(await add(reader.mvUid), 201)
    const place = `careplan/${plan}`
    const id = await start(owner, place)
    assertStatus(await reader.call('POST', pathOf(`/${id}`, place), { text: 'Hello' }), 201)
    assertStatus(await owner.call('DELETE', `careplan/${plan}/participant/${participationId}`), 204)
    assertProblem(await reader.call('GET', pathOf(`/${id}`, place)), 404, 'not-found')
    const { items } = assertStatus(await owner.call('GET', pathOf(`/${id}`, place)))
    assert.deepEqual(
      items.map(({ text, author }: { text: string; author: Shown }) => [text, author.name]),
      [
        [newTopic.text, null],
        ['Hello', null],
      ],
    )
    const profile = { name: { displayName: 'Ann' } }
    assertStatus(await owner.call('PUT', `/profile/${owner.mvUid}`, profile))
    const goal = `goal/${await createGoal(owner, plan)}`
    const ofGoal = assertStatus(await owner.call('GET', pathOf(`/${await start(owner, goal)}`, goal)))
    assert.equal(ofGoal.items[0].author.name, null)
  })

  describe('with reminders by mail', () => {
    const mails: string[] = []
    const context = () => ({ ...service }) as unknown as StoreContext
    const remind = async (hours: number) => {
      const marks = new ReadMarks(service)
      const reminders = new Reminders({ context: context(), marks }, async ({ to, template, data }) => {
        assert.deepEqual([template, data], ['chat', {}])
        mails.push((to as { mvUid: string }).mvUid)
      })
      mails.length = 0
      await reminders.send(new Date(Date.now() + hours * HOUR_MS))
      return mails.filter((id) => [patient, nurse, reader].some(({ mvUid }) => mvUid === id)).sort()
    }

    /** A message of the nurse, written some hours in the future. */
    async function writtenAt(topic: string, place: string, hours: number): Promise<void> {
      const moment = new Date(Date.now() + hours * HOUR_MS)
      const { id } = assertStatus(await nurse.call('POST', pathOf(`/${topic}`, place), { text: 'More' }), 201)
      const [messages, topics] = ['ChatMessage', 'ChatTopic'].map((name) =>
        service.db.collection<{ _id: string }>(name),
      )
      await messages?.updateOne({ _id: id }, { $set: { _created_at: moment } })
      await topics?.updateOne({ _id: topic }, { $set: { remindAt: new Date(moment.getTime() + HOUR_MS) } })
    }

    it('reminds users of unread messages after an hour, once a day, unless they opt out', async () => {
      const plan = await createPlan(patient)
      await addParticipant(plan, nurse, 'write')
      await addParticipant(plan, reader, 'read')
      await service.db.collection('ChatTopic').updateMany({}, { $unset: { remindAt: '' } })
      const place = `careplan/${plan}`
      const id = await start(nurse, place)
      const remindAt = async () =>
        (await service.db.collection('ChatTopic').findOne({ _id: id as never }))?.remindAt
      const due = await remindAt()
      assertStatus(await nurse.call('POST', pathOf(`/${id}`, place), { text: 'Soon after' }), 201)
      assert.deepEqual(await remindAt(), due)
      const userIds = [patient.mvUid, reader.mvUid].sort()
      assert.deepEqual(await remind(0.9), [])
      assert.deepEqual(await remind(1.1), userIds)
      assert.deepEqual(await remind(1.2), [])
      await writtenAt(id, place, 2)
      assert.deepEqual(await remind(2.5), [])
      assertStatus(await reader.call('POST', pathOf(`/${id}/read`, place), {}), 204)
      assert.deepEqual(await remind(3.1), [])
      assert.deepEqual(await remind(26), [patient.mvUid])
      assert.equal(assertStatus(await patient.call('GET', `/auth/account/${patient.mvUid}`)).chatMails, true)
      assertStatus(await patient.call('PUT', `/auth/account/${patient.mvUid}`, { chatMails: false }))
      await writtenAt(id, place, 50)
      assert.deepEqual(await remind(60), [reader.mvUid])
      assertStatus(await patient.call('PUT', `/auth/account/${patient.mvUid}`, { chatMails: true }))
    })
  })
})
