import assert from 'node:assert/strict'
import { DAY_MS, MINUTE_MS } from '../../../schemas/time/durations.ts'
import { byClass } from '../../family-kinds.ts'
import {
  addParticipant,
  createAlert,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { callFunction } from '../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { mailsTo } from '../../harness/mail/mail.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitFor } from '../../harness/wait.ts'

type Values = Record<string, unknown>

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS)
const dayText = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10)
const collectionOf = (name: string) => service.db.collection<{ _id: string }>(name)

describe('alert rules of a care plan', () => {
  let patient: Patient
  let planId: string
  let nurses: Person[]
  before(async () => {
    patient = await createPatient()
    nurses = [await createPerson(), await createPerson(), await createPerson()]
  })
  beforeEach(async () => {
    planId = await createPlan(patient)
    for (const nurse of nurses) await addParticipant(planId, nurse, 'write')
  })

  const path = () => `careplan/${planId}/alert-rules`
  const save = async (rules: object) => assertStatus(await patient.call('PUT', path(), rules))
  const escalation = () => ({ afterMinutes: 30, participants: nurses.map(({ mvUid }) => mvUid) })
  const readAlert = async (id: string): Promise<Values> =>
    assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${id}`))
  const assigneeOf = async (id: string) => {
    const { assignedTo } = await readAlert(id)
    return assignedTo === null ? undefined : nurses.findIndex(({ mvUid }) => mvUid === assignedTo)
  }
  const waitForAssignee = (id: string, nurse: number) =>
    waitFor(async () => (await assigneeOf(id)) === nurse || undefined, `nurse ${nurse}`)
  /** Lets the time of an assignment pass. */
  const letPass = (id: string, minutes: number) => {
    const time = minutesAgo(minutes)
    return collectionOf('Event').updateOne({ _id: id }, { $set: { assignedAt: time, attentionAt: time } })
  }
  const missedIn = async (plan = planId): Promise<Values[]> => {
    const { items } = assertStatus(
      await patient.call('GET', `/med/${patient.ehrId}/event?type=measurement-alert&carePlanId=${plan}`),
    )
    return items.filter(({ data }: { data: Values }) => data.missed)
  }
  const makeDue = (at: Date) =>
    collectionOf('plan.alert-rules').updateOne({ _id: planId }, { $set: { dueAt: at } })
  const waitForCheck = () =>
    waitFor(async () => {
      const stored = await collectionOf('plan.alert-rules').findOne({ _id: planId })
      const { dueAt } = stored as unknown as { dueAt?: Date }
      return dueAt === undefined || dueAt > new Date() ? true : undefined
    }, 'the check')

  it('are saved as a whole, with a version and an audit entry', async () => {
    const none = await patient.call('GET', path())
    assert.deepEqual([assertStatus(none), none.etag], [{}, '"0"'])
    const rules = {
      escalation: escalation(),
      expected: [{ kind: 'bloodpressure', from: '2026-03-01', everyDays: 7, by: '20:00', severity: 'LOW' }],
      timeZone: 'Europe/Amsterdam',
      mutes: [{ kind: 'bmi', until: '2026-03-01T08:30:00Z', reason: 'On holiday' }],
    }
    const answer = await patient.call('PUT', path(), rules, { 'if-match': '"0"' })
    assert.deepEqual([assertStatus(answer), answer.etag], [rules, '"1"'])
    assert.deepEqual(
      assertStatus((await nurses[0]?.call('GET', `/ehr/${patient.ehrId}/${path()}`)) as never),
      rules,
    )
    assertProblem(await patient.call('PUT', path(), {}, { 'if-match': '"0"' }), 412, 'precondition-failed')
    assert.ok((await readAudit(patient.ehrId)).includes('create plan.alert-rules done'))
  })

  it('are refused with every fault', async () => {
    const expected = { kind: 'shoesize', from: '2026-03-01', everyDays: 1, by: '20:00' }
    const until = '2026-03-01T08:30:00Z'
    const places = async (rules: object, status: number, code: string) =>
      assertProblemPlaces(await patient.call('PUT', path(), rules), status, code).sort()
    assert.deepEqual(
      await places(
        { expected: [expected], mutes: [{ kind: 'shoesize', until, reason: 'New' }] },
        422,
        'rule-violated',
      ),
      ['body.expected.0.kind', 'body.mutes.0.kind'],
    )
    const weight = { ...expected, kind: 'bodyweight' }
    const twice = { expected: [weight, { ...weight, by: '21:00' }, { ...weight, severity: 'HIGH' }] }
    assert.deepEqual(await places(twice, 422, 'rule-violated'), ['body.expected.2'])
    const reader = await createPerson()
    const stranger = await createPerson()
    await addParticipant(planId, reader, 'read')
    const participants = [nurses[0], reader, stranger, patient].map((one) => one?.mvUid)
    assert.deepEqual(await places({ escalation: { afterMinutes: 5, participants } }, 422, 'rule-violated'), [
      'body.escalation.participants.1',
      'body.escalation.participants.2',
    ])
    assert.deepEqual(
      await places(
        {
          escalation: { afterMinutes: 0, participants: [] },
          expected: [{ ...expected, by: '25:00', everyDays: 0, from: 'soon' }],
          mutes: [{ until: 'soon' }],
          timeZone: '+01:00',
        },
        400,
        'invalid-input',
      ),
      [
        'body.escalation.afterMinutes',
        'body.escalation.participants',
        'body.expected.0.by',
        'body.expected.0.everyDays',
        'body.expected.0.from',
        'body.mutes.0.reason',
        'body.mutes.0.until',
        'body.timeZone',
      ],
    )
    assert.deepEqual(assertStatus(await patient.call('GET', path())), {})
  })

  it('send an alert that nobody takes to one user after the other, who gets a mail', async () => {
    await save({ escalation: escalation() })
    const id = await createAlert(patient, planId)
    for (const [i, nurse] of nurses.entries()) {
      await waitForAssignee(id, i)
      await waitFor(
        () => mailsTo(nurse.email).some((mail) => /alert/i.test(String(mail))) || undefined,
        'a mail',
      )
      await letPass(id, 31)
    }
    // It stays with the last one.
    await waitFor(async () => {
      const event = await collectionOf('Event').findOne({ _id: id })
      return event && !('attentionAt' in event) ? true : undefined
    }, 'the end of the escalation')
    assert.equal(await assigneeOf(id), 2)
    const { items } = assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${id}/history`))
    assert.deepEqual(
      items.map(({ version, userId }: Values) => [version, userId]),
      [...[4, 3, 2].map((version) => [version, 'service']), [1, patient.mvUid]],
    )
  })

  it('leave an alert alone that somebody has taken, until it is released', async () => {
    await save({ escalation: escalation() })
    const id = await createAlert(patient, planId)
    await waitForAssignee(id, 0)
    const handle = async (action: string) =>
      assertStatus(
        (await nurses[2]?.call('POST', `/ehr/${patient.ehrId}/alert/${id}/handle`, { action })) as never,
      )
    await handle('TAKE')
    assert.ok(!('attentionAt' in ((await collectionOf('Event').findOne({ _id: id })) ?? {})))
    await collectionOf('Event').updateOne({ _id: id }, { $set: { assignedAt: minutesAgo(31) } })
    await handle('RELEASE')
    await waitForAssignee(id, 1)
  })

  it('skip users who may no longer write the plan', async () => {
    const guest = await createPerson()
    const { participationId } = assertStatus(
      await patient.call('POST', `careplan/${planId}/participant`, { mvUid: guest.mvUid, access: 'WRITE' }),
      201,
    )
    const participants = [guest, ...nurses].map(({ mvUid }) => mvUid)
    await save({ escalation: { afterMinutes: 30, participants } })
    await patient.call('DELETE', `careplan/${planId}/participant/${participationId}`)
    await waitForAssignee(await createAlert(patient, planId), 0)
  })

  it('apply to alerts that wait already', async () => {
    const id = await createAlert(patient, planId)
    await save({ escalation: escalation() })
    await waitForAssignee(id, 0)
  })

  it('keep muted alerts from everybody until the mute ends, or is removed', async () => {
    const until = new Date(Date.now() + DAY_MS).toISOString()
    await save({ escalation: escalation(), mutes: [{ kind: 'bloodpressure', until, reason: 'In hospital' }] })
    const id = await createAlert(patient, planId)
    await waitFor(async () => ((await readAlert(id)).mutedUntil === until ? true : undefined), 'the mute')
    assert.equal(await assigneeOf(id), undefined)
    await save({ escalation: escalation(), mutes: [{ kind: 'bmi', until, reason: 'In hospital' }] })
    await waitForAssignee(id, 0)
    assert.equal((await readAlert(id)).mutedUntil, null)
    await save({ escalation: escalation(), mutes: [{ until, reason: 'On holiday' }] })
    await waitFor(async () => ((await readAlert(id)).mutedUntil === until ? true : undefined), 'the mute')
  })

  it('raise an alert for an expected measurement that is missing, once, and it escalates', async () => {
    const from = dayText(3)
    const everyDay = { from, everyDays: 1, by: '00:00' }
    await save({
      escalation: escalation(),
      expected: [
        { kind: 'bloodpressure', severity: 'HIGH', ...everyDay },
        { kind: 'bodyweight', ...everyDay },
      ],
    })
    const midnight = new Date(`${dayText(0)}T00:00:00.000Z`)
    const timestamp = new Date(midnight.getTime() - MINUTE_MS).toISOString()
    const weight = await createWeight(patient, planId)
    const body = { carePlanId: planId, weight: 70, weightUnit: 'kg', timestamp }
    assertStatus(await patient.call('PUT', `procedure/bodyweight/${weight}`, body))
    assert.deepEqual(await missedIn(), [])
    await makeDue(midnight)
    await waitForCheck()
    const [alert, ...more] = await missedIn()
    assert.deepEqual(more, [])
    assert.deepEqual(
      [alert?.title, alert?.severity, alert?.start, alert?.data],
      [
        'Blood-pressure measurement is missing',
        'HIGH',
        midnight.toISOString(),
        {
          kind: 'bloodpressure',
          state: 'OPEN',
          missed: {
            from: new Date(midnight.getTime() - DAY_MS).toISOString(),
            due: midnight.toISOString(),
          },
        },
      ],
    )
    await waitForAssignee(String(alert?.id), 0)
  })

  it('expect nothing in a closed or deleted plan', async () => {
    const rules = { expected: [{ kind: 'heartrate', from: dayText(9), everyDays: 1, by: '00:00' }] }
    await save(rules)
    assertStatus(await patient.call('POST', `careplan/${planId}/close`, {}))
    await makeDue(new Date(`${dayText(0)}T00:00:00.000Z`))
    await waitForCheck()
    assert.deepEqual(await missedIn(), [])
    planId = await createPlan(patient)
    await save(rules)
    assertStatus(await patient.call('DELETE', `careplan/${planId}`), 204)
    await makeDue(new Date(`${dayText(0)}T00:00:00.000Z`))
    await waitForCheck()
    assert.equal(await collectionOf('Event').countDocuments({ carePlanId: planId } as never), 0)
  })

  it('are read and saved by functions of the class family, too, with the same refusals', async () => {
    const nurse = nurses[0] as Person
    const reader = await createPerson()
    const stranger = await createPerson()
    await addParticipant(planId, reader, 'read')
    const rules = { expected: [{ kind: 'bmi', from: '2026-03-01', everyDays: 7, by: '20:00' }] }
    const save = async (who: Person, more: object = {}) =>
      (await callFunction(who, 'saveAlertRules', { carePlanId: planId, ...rules, ...more })).body
    const load = async (who: Person) => (await callFunction(who, 'alertRules', { carePlanId: planId })).body
    assert.deepEqual((await load(nurse)).result, { carePlanId: planId, version: 0 })
    const storedRules = { carePlanId: planId, ...rules, version: 1 }
    assert.deepEqual((await save(nurse, { version: 0 })).result, storedRules)
    assert.deepEqual((await load(reader)).result, storedRules)
    assert.deepEqual(assertStatus(await patient.call('GET', path())), rules)
    const unknown = { expected: [{ ...rules.expected[0], kind: 'shoesize' }], mutes: [] }
    const { code, error } = await save(nurse, unknown)
    assert.deepEqual([code, /expected\.0\.kind/.test(error)], [142, true])
    const codes = [
      await save(nurse, { version: 0 }),
      await save(reader),
      await save(stranger),
      await load(stranger),
      (await callFunction(nurse, 'alertRules', { carePlanId: 'nowhere' })).body,
    ]
    assert.deepEqual(
      codes.map((body) => body.code),
      [412, 119, 101, 101, 101],
    )
  })

  describe('about a measurement that arrives late', () => {
    const midnight = () => new Date(`${dayText(0)}T00:00:00.000Z`)
    const timeIn = (hoursBefore: number) =>
      new Date(midnight().getTime() - hoursBefore * 60 * MINUTE_MS).toISOString()
    /** Lets a day pass without a blood pressure. @returns the alert */
    const miss = async (): Promise<Values> => {
      await save({ expected: [{ kind: 'bloodpressure', from: dayText(3), everyDays: 1, by: '00:00' }] })
      await makeDue(midnight())
      await waitForCheck()
      return (await missedIn())[0] as Values
    }
    const PRESSURE = { systolic: 120, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
    const stateOf = async ({ id }: Values) => {
      const { data, alertState, version } = await readAlert(String(id))
      return [(data as Values).state, alertState, version]
    }
    const isListed = async () => {
      const { items } = assertStatus(
        await (nurses[0] as Person).call('GET', `/worklist?ehrId=${patient.ehrId}`),
      )
      const open = items.flatMap(({ openAlerts }: Values) => openAlerts as Values[])
      return open.some(({ carePlanId }: Values) => carePlanId === planId)
    }

    it('end the alert, in the path family', async () => {
      const alert = await miss()
      assert.equal(await isListed(), true)
      const body = { carePlanId: planId, ...PRESSURE }
      for (const hours of [25, -1])
        assertStatus(
          await patient.call('POST', 'procedure/bloodpressure', { ...body, timestamp: timeIn(hours) }),
          201,
        )
      assert.deepEqual(await stateOf(alert), ['OPEN', 'NEW', 1])
      assertStatus(
        await patient.call('POST', 'procedure/bloodpressure', { ...body, timestamp: timeIn(0) }),
        201,
      )
      assert.deepEqual(await stateOf(alert), ['CORRECTED', 'NEW', 2])
      assert.equal(await isListed(), false)
      const history = `/med/${patient.ehrId}/event/${alert.id}/history`
      assert.equal(assertStatus(await patient.call('GET', history)).items[0].userId, patient.mvUid)
    })

    it('end the alert, in the class family', async () => {
      const alert = await miss()
      const timestamp = { __type: 'Date', iso: timeIn(3) }
      const object = { ehrId: patient.ehrId, carePlanId: planId, ...PRESSURE, timestamp }
      await byClass(patient).post('BloodPressure', object).expect(201)
      assert.deepEqual(await stateOf(alert), ['CORRECTED', 'NEW', 2])
    })

    it('end the alert when its time is corrected, but not one that somebody has resolved', async () => {
      const alert = await miss()
      const body = { carePlanId: planId, ...PRESSURE }
      const early = { ...body, timestamp: timeIn(60) }
      const { id } = assertStatus(await patient.call('POST', 'procedure/bloodpressure', early), 201)
      const right = { ...body, timestamp: timeIn(2) }
      assertStatus(await patient.call('PUT', `procedure/bloodpressure/${id}`, right))
      assert.deepEqual(await stateOf(alert), ['CORRECTED', 'NEW', 2])
      planId = await createPlan(patient)
      await addParticipant(planId, nurses[0] as Person, 'write')
      const resolved = await miss()
      const step = { action: 'RESOLVE', note: 'Called' }
      assertStatus(await patient.call('POST', `/ehr/${patient.ehrId}/alert/${resolved.id}/handle`, step))
      const laterValue = { ...right, carePlanId: planId }
      assertStatus(await patient.call('POST', 'procedure/bloodpressure', laterValue), 201)
      assert.deepEqual(await stateOf(resolved), ['OPEN', 'RESOLVED', 2])
    })
  })
})
