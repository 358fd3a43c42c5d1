import assert from 'node:assert/strict'
import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { type EventSource, openEventSource } from '../../harness/clients/event-source.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, logInAs, type Person } from '../../harness/people/people.ts'
import { request, service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('the changes of an EHR', () => {
  let patient: Patient
  let nurse: Person
  let stranger: Person
  let planId: string
  let otherPlanId: string
  const open: EventSource[] = []
  before(async () => {
    ;[patient, nurse, stranger] = await Promise.all([createPatient(), createPerson(), createPerson()])
    planId = await createPlan(patient)
    otherPlanId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
  })
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })

  const pathOf = () => `/ehr/${patient.ehrId}/changes`
  const follow = async (who: Person = patient, after?: string, path = pathOf()) => {
    const source = await openEventSource(who, path, { ...(after !== undefined && { after }) })
    open.push(source)
    return source
  }
  const weigh = (carePlanId: string, weight?: number): Promise<string> =>
    createWeight(patient, carePlanId, weight)
  const dataOf = async (source: EventSource) => {
    const { name, data } = await source.next()
    assert.equal(name, 'change')
    return data
  }

  it('are sent when they happen: creations, changes and deletions by either family', async () => {
    const source = await follow()
    assert.match(source.type, /^text\/event-stream/)
    const id = await weigh(planId)
    const href = `/ehr/${patient.ehrId}/procedure/bodyweight/${id}`
    const { at: when, ...change } = await dataOf(source)
    const subject = { id, type: 'BodyWeight', carePlanId: planId }
    const author = { userId: patient.mvUid, onBehalfOf: null }
    assert.deepEqual(change, { ...subject, ...author, operation: 'create', version: 1, href })
    assert.ok(Math.abs(Date.parse(when) - Date.now()) < 60_000)
    assert.equal((await createClassClient(patient).put('BodyWeight', id, { weight: 71 })).status, 200)
    const { at: _, ...changed } = await dataOf(source)
    assert.deepEqual(changed, { ...subject, ...author, operation: 'update', version: 2, href })
    assertStatus(await patient.call('DELETE', href), 204)
    const { at: __, ...gone } = await dataOf(source)
    assert.deepEqual(gone, { ...subject, ...author, operation: 'delete', version: 3, href: null })
  })

  it('are sent to participants of their own plan only, and to no stranger', async () => {
    const source = await follow(nurse)
    await weigh(otherPlanId)
    const id = await weigh(planId, 72)
    assert.equal((await dataOf(source)).id, id)
    assertProblem(await stranger.call('GET', pathOf()), 404, 'not-found')
  })

  it('are sent to at most 20 streams of a user at a time', async () => {
    const owner = await createPatient()
    const path = `/ehr/${owner.ehrId}/changes`
    await Promise.all(Array.from({ length: 20 }, () => follow(owner, undefined, path)))
    assertProblem(await owner.call('GET', path), 429, 'too-many-requests')
    open.at(-1)?.close()
    await waitUntil(() => follow(owner, undefined, path).then(Boolean, () => false))
  })

  it('resume after the last received event, without a gap and in the same order', async () => {
    const first = await follow()
    const heard = await weigh(planId, 60)
    assert.equal((await dataOf(first)).id, heard)
    const after = first.lastId()
    first.close()
    const missedIds = [await weigh(planId, 61), await weigh(otherPlanId, 62), await weigh(planId, 63)]
    const second = await follow(patient, after)
    const laterId = await weigh(planId, 64)
    const ids = []
    for (let i = 0; i < 4; i++) ids.push((await dataOf(second)).id)
    assert.deepEqual(ids, [...missedIds, laterId])
    const third = await follow(patient, second.events[1]?.id)
    assert.deepEqual([(await dataOf(third)).id, (await dataOf(third)).id], [missedIds[2], laterId])
  })

  it('begin with those of the last seconds on request, each once', async () => {
    const recent = [await weigh(planId, 66), await weigh(otherPlanId, 67)]
    const source = await follow(patient, undefined, `${pathOf()}?lookBack=5`)
    const laterId = await weigh(planId, 68)
    const ids = source.events.map(({ data }) => data.id)
    assert.deepEqual(ids.slice(-2), recent)
    assert.equal(new Set(source.events.map(({ id }) => id)).size, ids.length)
    for (const _ of ids) await source.next()
    assert.equal((await dataOf(source)).id, laterId)
    const ofNurse = await follow(nurse, undefined, `${pathOf()}?lookBack=5`)
    assert.ok(!ofNurse.events.some(({ data }) => data.id === recent[1]))
    const resumed = await follow(patient, source.events[ids.length - 2]?.id, `${pathOf()}?lookBack=60`)
    assert.deepEqual([(await dataOf(resumed)).id, (await dataOf(resumed)).id], [recent[1], laterId])
    assertProblem(await patient.call('GET', `${pathOf()}?lookBack=61`), 400, 'invalid-input')
  })

  it('restart if the last event is too old, and refuse an invalid id', async () => {
    const source = await follow(patient, '1-1')
    assert.equal((await source.next()).name, 'reset')
    const id = await weigh(planId, 80)
    assert.equal((await dataOf(source)).id, id)
    for (const nonsense of ['x', '1', '-1-1', `${'9'.repeat(30)}-1`])
      assertProblem(
        await patient.call('GET', pathOf(), undefined, { 'last-event-id': nonsense }),
        400,
        'malformed-request',
      )
  })

  it('end with the session, the role or the EHR', async () => {
    const ofSession = await follow(await logInAs(patient.email))
    const ofRole = await follow(nurse)
    const spare = assertStatus(await patient.call('POST', '/ehr', { subjectId: patient.mvUid }), 201).id
    const ofEhr = await follow(patient, undefined, `/ehr/${spare}/changes`)
    const leaving = assertStatus(await patient.call('GET', '/auth/sessions')).items.find(
      ({ current }: { current: boolean }) => !current,
    )
    assertStatus(await patient.call('DELETE', `/auth/sessions/${leaving.sid}`), 204)
    await ofSession.ended()
    const { client, db } = service
    const role = { ehrId: patient.ehrId, carePlanId: planId, right: 'write' } as const
    await client.withSession((session) =>
      session.withTransaction(() => setPlanRole({ client, db }, session, nurse.mvUid, role, false)),
    )
    await weigh(planId, 90)
    await ofRole.ended()
    assertStatus(await patient.call('DELETE', `/med/ehr/${spare}`), 204)
    await waitUntil(() => ofEhr.hasEnded())
  })

  it('do not count as slow requests, however long a stream lasted', async () => {
    const countRequests = async () => {
      const { text } = await request().get('/metrics')
      const lines =
        text.match(
          /^http_request_duration_seconds_count\{.*route="\/ehr\/\{ehrId\}\/changes",status="200".*/gm,
        ) ?? []
      return lines.join()
    }
    const countsBefore = await countRequests()
    const person = await createPerson()
    await addParticipant(planId, person, 'read')
    const source = await follow(person)
    assertStatus(await person.call('POST', '/auth/logout'), 204)
    await waitUntil(source.hasEnded)
    assert.equal(await countRequests(), countsBefore)
  })

  it('are audited: the subscription and the received records', async () => {
    const since = new Date()
    const source = await follow()
    const id = await weigh(planId, 65)
    await source.next()
    const entries = await service.db
      .collection('audit.entries')
      .find({ ehrId: patient.ehrId, userId: patient.mvUid, action: 'read', at: { $gte: since } })
      .sort({ at: 1 })
      .toArray()
    assert.deepEqual(
      entries.map(({ type, ids }) => [type, ids]),
      [
        ['Ehr', [patient.ehrId]],
        ['BodyWeight', [id]],
      ],
    )
    assert.equal(new Set(entries.map(({ requestId }) => String(requestId))).size, 1)
  })
})
