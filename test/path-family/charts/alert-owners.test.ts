import assert from 'node:assert/strict'
import {
  createAlert,
  createPatient,
  createPlan,
  letTakePart,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person, password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitFor } from '../../harness/wait.ts'

type Values = Record<string, unknown>

describe('an alert whose owner may no longer write the care plan', () => {
  let patient: Patient
  let planId: string
  let nurse: Person
  let colleague: Person
  let participationId: string
  beforeEach(async () => {
    ;[patient, nurse, colleague] = await Promise.all([createPatient(), createPerson(), createPerson()])
    planId = await createPlan(patient)
    ;({ participationId } = await letTakePart(patient, planId, nurse, { access: 'WRITE' }))
    await letTakePart(patient, planId, colleague, { access: 'WRITE' })
  })

  const escalate = async (...users: Person[]) => {
    const escalation = { afterMinutes: 30, participants: users.map(({ mvUid }) => mvUid) }
    assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, { escalation }))
  }
  const archive = () => patient.call('DELETE', `careplan/${planId}/participant/${participationId}`)
  const deleteAccount = () =>
    nurse.call('DELETE', `/auth/account/${nurse.mvUid}`, { currentPassword: password })
  const disable = async () =>
    (await createAdmin()).call('PUT', `/auth/account/${nurse.mvUid}`, { disabled: true })
  const read = async (id: string): Promise<Values> =>
    assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${id}`))
  const waitForOwner = (id: string, who: Person) =>
    waitFor(async () => ((await read(id)).assignedTo === who.mvUid ? true : undefined), 'the owner')
  const take = async (who: Person, id: string) =>
    assertStatus(await who.call('POST', `/ehr/${patient.ehrId}/alert/${id}/handle`, { action: 'TAKE' }))

  for (const [title, leave] of Object.entries({
    'leaves the care plan': archive,
    'deletes the account': deleteAccount,
    'is disabled': disable,
  }))
    it(`returns to the others when its owner ${title}, whether taken or waiting`, async () => {
      await escalate(nurse, colleague)
      const [taken, waiting] = [await createAlert(patient, planId), await createAlert(patient, planId)]
      await take(nurse, taken)
      await waitForOwner(waiting, nurse)
      assert.ok((await leave()).status < 300)
      for (const id of [taken, waiting]) await waitForOwner(id, colleague)
      const { alertState, takenBy } = await read(taken)
      assert.deepEqual([alertState, takenBy], ['SEEN', null])
      const { items } = assertStatus(await colleague.call('GET', '/worklist'))
      assert.deepEqual(
        items.map(({ alerts, assigned }: Values) => [alerts, assigned]),
        [[2, 2]],
      )
      const history = await patient.call('GET', `/med/${patient.ehrId}/event/${taken}/history`)
      assert.equal(assertStatus(history).items[0].userId, 'service')
      await take(colleague, taken)
    })

  it('returns to the others without an escalation, too', async () => {
    const id = await createAlert(patient, planId)
    await take(nurse, id)
    assert.ok((await archive()).status < 300)
    await waitFor(async () => (await read(id)).alertState === 'SEEN' || undefined, 'the release')
    await take(colleague, id)
  })

  const PRESSURE = { systolicUnit: 'mm[Hg]', diastolicUnit: 'mm[Hg]', timestamp: '2026-03-01T08:30:00Z' }
  const write = async (id: string, systolic: number, diastolic: number) =>
    assertStatus(
      await patient.call('PUT', `procedure/bloodpressure/${id}`, {
        ...PRESSURE,
        carePlanId: planId,
        systolic,
        diastolic,
      }),
    )
  const correct = (id: string) => write(id, 120, 75)
  const remove = async (id: string) =>
    assertStatus(await patient.call('DELETE', `procedure/bloodpressure/${id}`), 204)
  const restore = async (id: string) =>
    assertStatus(await patient.call('POST', `procedure/bloodpressure/${id}/restore`, { version: 1 }))

  for (const [title, [leave, bringBack]] of Object.entries({
    'is outside the thresholds again': [correct, (id: string) => write(id, 185, 112)],
    'is restored': [remove, restore],
  } as const))
    it(`is released if its owner left before its measurement ${title}`, async () => {
      await escalate(nurse, colleague)
      const id = await createAlert(patient, planId)
      await take(nurse, id)
      await leave(id)
      assert.ok((await archive()).status < 300)
      await bringBack(id)
      await waitForOwner(id, colleague)
      const { alertState, takenBy } = await read(id)
      assert.deepEqual([alertState, takenBy], ['SEEN', null])
    })

  it('is released when its plan returns, if the participation ended meanwhile', async () => {
    await escalate(nurse, colleague)
    const [taken, waiting] = [await createAlert(patient, planId), await createAlert(patient, planId)]
    await take(nurse, taken)
    await waitForOwner(waiting, nurse)
    const { version } = assertStatus(await patient.call('GET', `careplan/${planId}`))
    const terms = { access: 'WRITE', end: new Date(Date.now() + 3_600_000).toISOString() }
    assertStatus(await patient.call('PUT', `careplan/${planId}/participant/${participationId}`, terms))
    assertStatus(await patient.call('DELETE', `careplan/${planId}`), 204)
    const participations = service.db.collection('plan.participants')
    const time = new Date(Date.now() - 1000)
    const which = { _id: participationId as never }
    await participations.updateOne(which, { $set: { end: time, changesAt: time } })
    await waitFor(async () => {
      const stored = await participations.findOne(which)
      return (stored && stored.changesAt === undefined) || undefined
    }, 'the end of the participation')
    assertStatus(await patient.call('POST', `careplan/${planId}/restore`, { version }))
    for (const id of [taken, waiting]) await waitForOwner(id, colleague)
    assert.equal((await read(taken)).takenBy, null)
  })

  it('waits for a user of the escalation who may write the plan again', async () => {
    await escalate(nurse)
    assert.ok((await archive()).status < 300)
    const id = await createAlert(patient, planId)
    await waitFor(async () => {
      const event = await service.db.collection('Event').findOne({ _id: id as never })
      return event?.attentionAt > new Date() || undefined
    }, 'the next look within the hour')
    assert.equal((await read(id)).assignedTo, null)
    await letTakePart(patient, planId, nurse, { access: 'WRITE' })
    await waitForOwner(id, nurse)
  })

  it('passes to the next user of the escalation, and back to the one before only without any', async () => {
    const doctor = await createPerson()
    const { participationId: ofDoctor } = await letTakePart(patient, planId, doctor, { access: 'WRITE' })
    await escalate(colleague, nurse, doctor)
    const id = await createAlert(patient, planId)
    await waitForOwner(id, colleague)
    const time = new Date(Date.now() - 31 * 60_000)
    await service.db
      .collection('Event')
      .updateOne({ _id: id as never }, { $set: { assignedAt: time, attentionAt: time } })
    await waitForOwner(id, nurse)
    assert.ok((await archive()).status < 300)
    const next = await waitFor(async () => {
      const { assignedTo } = await read(id)
      return assignedTo === nurse.mvUid ? undefined : assignedTo
    }, 'the next user')
    assert.equal(next, doctor.mvUid)
    await letTakePart(patient, planId, nurse, { access: 'WRITE' })
    assertStatus(await patient.call('DELETE', `careplan/${planId}/participant/${ofDoctor}`), 204)
    await waitForOwner(id, nurse)
  })

  it('stays with the owner who loses another right', async () => {
    const otherPlan = await createPlan(patient)
    const other = await letTakePart(patient, otherPlan, nurse, { access: 'WRITE' })
    const id = await createAlert(patient, planId)
    await take(nurse, id)
    assertStatus(
      await patient.call('DELETE', `careplan/${otherPlan}/participant/${other.participationId}`),
      204,
    )
    await escalate(colleague, nurse)
    const waiting = await createAlert(patient, planId)
    await waitForOwner(waiting, colleague)
    assert.equal((await read(id)).takenBy, nurse.mvUid)
  })

  it('is handed over to nobody whose account is disabled', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const colleagues = async () =>
      assertStatus(await colleague.call('GET', '/worklist/colleague')).items.map(({ mvUid }: Values) => mvUid)
    assert.deepEqual(await colleagues(), [nurse.mvUid])
    assertStatus(await disable())
    assert.deepEqual(await colleagues(), [])
    assertProblem(
      await colleague.call('POST', '/worklist/handover', { to: nurse.mvUid, until }),
      422,
      'rule-violated',
    )
    assertProblem(
      await patient.call('PUT', `careplan/${planId}/alert-rules`, {
        escalation: { afterMinutes: 30, participants: [nurse.mvUid] },
      }),
      422,
      'rule-violated',
    )
  })
})
