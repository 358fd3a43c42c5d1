import assert from 'node:assert/strict'
import { createPlanInOwnEhr } from '../../harness/care/by-class-family.ts'
import { addParticipant } from '../../harness/care/patients.ts'
import { assertError, createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { call } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

const start = parseDate('2026-03-01T08:30:00.000Z')
const end = parseDate('2026-03-01T09:00:00.000Z')
const participants = [{ mvUid: 'bW81kPzQ7e', status: 'INVITED' }]

describe('Event', () => {
  let owner: Person
  let nurse: Person
  let context: { ehrId: string; carePlanId: string }
  before(async () => {
    ;[owner, nurse] = await Promise.all([createPerson(), createPerson()])
    context = await createPlanInOwnEhr(owner)
    await addParticipant(context.carePlanId, nurse, 'write')
  })
  const createEventBody = (more: object = {}) => ({
    ...context,
    type: 'appointment',
    title: 'Check-up',
    start,
    end,
    participants,
    ...more,
  })

  it('is created in a care plan, with its derived fields', async () => {
    const { body } = await createClassClient(nurse).post('Event', createEventBody()).expect(201)
    for (const [name, value] of Object.entries(createEventBody())) assert.deepEqual(body[name], value)
    assert.deepEqual([body.allDay, body.version, body.participantIds], [false, 1, ['bW81kPzQ7e']])
    assert.deepEqual(body.last, parseDate('2026-03-01T08:59:59.999Z'))
  })

  it('belongs to the EHR if it names no care plan', async () => {
    const { carePlanId: _, ...event } = createEventBody()
    assertError(await createClassClient(nurse).post('Event', event), 119)
    const { body } = await createClassClient(owner).post('Event', event).expect(201)
    await createClassClient(nurse).get('Event', body.objectId).expect(200)
    assertError(await createClassClient(nurse).put('Event', body.objectId, { title: 'x' }), 119)
    assertError(await createClassClient(nurse).delete('Event', body.objectId), 119)
  })

  it('changes together with its derived fields', async () => {
    const { put, post, get } = createClassClient(owner)
    const { objectId } = (await post('Event', createEventBody()).expect(201)).body
    await put('Event', objectId, { end: null, allDay: true, participants: null }).expect(200)
    const { body } = await get('Event', objectId).expect(200)
    assert.deepEqual([body.last, body.participantIds], [parseDate('2026-03-02T08:29:59.999Z'), []])
    assertError(await put('Event', objectId, { end: parseDate('2026-01-01T00:00:00.000Z') }), 142, /^end /)
    assertError(await put('Event', objectId, { last: start }), 142, 'last cannot be changed')
    assertError(await put('Event', objectId, { carePlanId: 'other' }), 142, 'carePlanId cannot be changed')
  })

  it('returns to its default when a property is removed', async () => {
    const { put, post, list } = createClassClient(owner)
    for (const nothing of [null, { __op: 'Delete' }]) {
      const { objectId } = (await post('Event', { ...createEventBody(), allDay: true }).expect(201)).body
      const { body } = await put('Event', objectId, { allDay: nothing, participants: nothing }).expect(200)
      assert.deepEqual([body.allDay, body.participants], [false, []])
      const where = { objectId, allDay: false }
      assert.equal((await list('Event', where)).body.results.length, 1)
    }
  })

  it('reports all violations', async () => {
    const { post } = createClassClient(owner)
    assertError(await post('Event', {}), 141, 'Missing required properties: ehrId, start, title, type')
    const wrong = {
      last: end,
      participants: [...participants, ...participants],
      severity: 'HUGE',
      end: start,
    }
    assertError(
      await post('Event', createEventBody({ ...wrong, start: end })),
      142,
      /last .*severity .*end .*participants /,
    )
    assertError(
      await post('Event', createEventBody({ participants: [{ mvUid: 'x' }] })),
      142,
      /participants\.0\.status/,
    )
    assertError(await post('Event', createEventBody({ data: { a: { 'b.c': 1 } } })), 142, /data\.a\.b\.c/)
  })

  it('is the same document in the path family, in both directions', async () => {
    const { authToken } = (
      await call('POST', '/auth/login/password', { email: owner.email, password: owner.password })
    ).body
    const bearer = { authorization: `Bearer ${authToken}` }
    const path = `/med/${context.ehrId}/event`
    const { objectId } = (
      await createClassClient(owner)
        .post('Event', createEventBody({ data: { a: [1] } }))
        .expect(201)
    ).body
    const { body } = await call('GET', `${path}/${objectId}`, undefined, bearer)
    assert.deepEqual(
      [body.start, body.end, body.data, body.participants],
      [start.iso, end.iso, { a: [1] }, participants],
    )
    const page = await call('GET', `${path}?from=${end.iso}&count=true`, undefined, bearer)
    assert.ok(!page.body.items.some(({ id }: { id: string }) => id === objectId))
    const event = { type: 'x', title: 'Made there', start: start.iso, carePlanId: context.carePlanId }
    const other = (await call('POST', path, event, bearer)).body
    const otherEvent = (await createClassClient(owner).get('Event', other.id).expect(200)).body
    assert.deepEqual(
      [otherEvent.title, otherEvent.start, otherEvent.last, otherEvent.version],
      ['Made there', start, start, 1],
    )
  })

  it('is deleted with its care plan', async () => {
    const { carePlanId } = await createPlanInOwnEhr(owner)
    const { post, get, delete: remove } = createClassClient(owner)
    const { objectId } = (await post('Event', createEventBody({ carePlanId })).expect(201)).body
    await remove('CarePlan', carePlanId).expect(200)
    assertError(await get('Event', objectId), 101)
  })
})
