import assert from 'node:assert/strict'
import {
  addParticipant,
  createAlert,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  letTakePart,
  type Patient,
} from '../../harness/care/patients.ts'
import { type EventSource, openEventSource } from '../../harness/clients/event-source.ts'
import { subscribeBySdk } from '../../harness/clients/live-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

const STEPS = [{ action: 'SEE' }, { action: 'TAKE' }, { action: 'RESOLVE', note: 'Called' }]

describe('the live events of a worklist', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  const open: EventSource[] = []
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
  })
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })

  const follow = async (path: string, who: Person = nurse) => {
    const source = await openEventSource(who, path)
    open.push(source)
    return source
  }
  const takeSteps = async (id: string) => {
    for (const step of STEPS)
      assertStatus(await nurse.call('POST', `/ehr/${patient.ehrId}/alert/${id}/handle`, step))
  }
  const next = async (source: EventSource) => {
    const { name, data } = await source.next()
    assert.equal(name, 'change')
    return data
  }

  it('report each step with an alert, to the worklist and to the stream of the EHR', async () => {
    const id = await createAlert(patient, planId)
    const sources = [await follow('/worklist/changes'), await follow(`/ehr/${patient.ehrId}/changes`)]
    await takeSteps(id)
    for (const source of sources)
      for (const [i] of STEPS.entries()) {
        const { id: changed, type, operation, version } = await next(source)
        assert.deepEqual([changed, type, operation, version], [id, 'Event', 'update', i + 2])
      }
  })

  it('report nothing of an EHR that was deleted meanwhile to a client that resumes', async () => {
    const [leaving, guest] = await Promise.all([createPatient(), createPerson()])
    const leavingPlanId = await createPlan(leaving)
    await addParticipant(leavingPlanId, guest, 'read')
    await addParticipant(planId, guest, 'read')
    const source = await follow('/worklist/changes', guest)
    const id = await createAlert(leaving, leavingPlanId)
    assert.equal((await next(source)).id, id)
    const after = source.lastId()
    assertStatus(await leaving.call('DELETE', `procedure/bloodpressure/${id}`), 204)
    assert.equal((await next(source)).operation, 'delete')
    assertStatus(await leaving.call('DELETE', `/med/ehr/${leaving.ehrId}`), 204)
    const resumed = await openEventSource(guest, '/worklist/changes', { after })
    open.push(resumed)
    const laterId = await createAlert(patient, planId)
    assert.equal((await next(resumed)).id, laterId)
  })

  it('report each step to live queries of the class family', async () => {
    const id = await createAlert(patient, planId)
    const live = await subscribeBySdk(nurse, 'Event', (query) => query.equalTo('type', 'measurement-alert'))
    try {
      await takeSteps(id)
      for (const state of ['SEEN', 'TAKEN', 'RESOLVED']) {
        let [operation, event] = await live.next()
        // The subscription may begin before the creation is sent.
        if (operation === 'create') [operation, event] = await live.next()
        assert.deepEqual([operation, event.id, event.get('alertState')], ['update', id, state])
      }
    } finally {
      live.close()
    }
  })

  it('report alerts, tasks and messages of all patients, and nothing else', async () => {
    const other = await createPatient()
    const otherPlan = await createPlan(other)
    await addParticipant(otherPlan, nurse, 'write')
    const goalId = await createGoal(patient, planId)
    const source = await follow('/worklist/changes')
    await createWeight(patient, planId)
    await createWeight(other, otherPlan)
    const note = { type: 'note', title: 'A call', start: '2026-03-01T08:30:00Z', carePlanId: planId }
    assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, note), 201)
    const unseen = await createPatient()
    await createAlert(unseen, await createPlan(unseen))
    const taskId = await createTask(patient, planId, goalId)
    const alertId = await createAlert(other, otherPlan)
    await other.call('POST', `/chat/careplan/${otherPlan}`, { title: 'A question', text: 'Hello?' })
    const changes = [await next(source), await next(source), await next(source), await next(source)]
    assert.deepEqual(
      changes.map(({ type, ehrId }) => [type, ehrId]).sort(),
      [
        ['ChatMessage', other.ehrId],
        ['ChatTopic', other.ehrId],
        ['Event', other.ehrId],
        ['Task', patient.ehrId],
      ].sort(),
    )
    assert.deepEqual([changes[0].id, changes[1].id], [taskId, alertId])
  })

  it('report who takes part in the care plans of the user, themselves included', async () => {
    const colleague = await createPerson()
    const source = await follow('/worklist/changes')
    await letTakePart(patient, planId, colleague, { access: 'WRITE' })
    const other = await createPatient()
    const otherPlan = await createPlan(other)
    const { participationId } = await letTakePart(other, otherPlan, nurse, { access: 'READ' })
    for (const { ehrId } of [patient, other]) {
      const change = await next(source)
      assert.deepEqual([change.type, change.operation, change.ehrId], ['plan.participants', 'create', ehrId])
    }
    assertStatus(await other.call('DELETE', `careplan/${otherPlan}/participant/${participationId}`), 204)
    const end = await next(source)
    assert.deepEqual([end.type, end.version, end.ehrId], ['plan.participants', 2, other.ehrId])
  })

  it('reach both sides of a handover', async () => {
    const colleague = await createPerson()
    await addParticipant(planId, colleague, 'write')
    const sources = [await follow('/worklist/changes'), await follow('/worklist/changes', colleague)]
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const body = { to: colleague.mvUid, until }
    const { id } = assertStatus(await nurse.call('POST', '/worklist/handover', body), 201)
    assertStatus(await colleague.call('POST', `/worklist/handover/${id}/end`))
    for (const source of sources)
      for (const operation of ['create', 'update']) {
        const { id: changed, ehrId, ...change } = await next(source)
        assert.deepEqual([changed, ehrId, change.operation], [id, null, operation])
      }
  })
})
