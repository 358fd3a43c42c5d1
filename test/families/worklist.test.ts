import assert from 'node:assert/strict'
import {
  addParticipant,
  createAlert,
  createEhrAbout,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../harness/care/patients.ts'
import { callFunction } from '../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { assertNoScan, recordCommands } from '../harness/service/database-commands.ts'
import { service } from '../harness/service/service.ts'
import { waitFor } from '../harness/wait.ts'

type Values = Record<string, unknown>

interface Page {
  items: Values[]
  next: string | null
}

type ReadPage = (who: Person, query?: Values) => Promise<Page>

const READ: Record<'path' | 'class', ReadPage> = {
  async path(who, query = {}) {
    const words = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const { items, page } = assertStatus(await who.call('GET', `/worklist?${words}`))
    return { items, next: page.next }
  },
  async class(who, query = {}) {
    const { body } = await callFunction(who, 'worklist', query).expect(200)
    return body.result
  },
}

/** The subject of an EHR, or the status of the refusal. */
const READ_CARD: Record<'path' | 'class', (who: Person, ehrId: string) => Promise<unknown>> = {
  async path(who, ehrId) {
    const { status, body } = await who.call('GET', `/ehr/${ehrId}/patient`)
    return status === 200 ? body : status
  },
  async class(who, ehrId) {
    const { body } = await callFunction(who, 'patient', { ehrId })
    return body.result ?? (body.code === 101 ? 404 : body.code)
  },
}

const name = async (patient: Patient) =>
  assertStatus(
    await patient.call('PUT', `/profile/${patient.mvUid}`, {
      name: { displayName: 'Anna de Vries' },
      birthDate: '1961-04-30',
      gender: 'FEMALE',
    }),
  )

const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const NONE = {
  severity: null,
  since: null,
  alerts: 0,
  assigned: 0,
  taken: 0,
  missed: 0,
  overdueTasks: 0,
  unreadMessages: 0,
}

/** An entry without its patient's name and alerts. */
const numbersIn = ({ name: _, birthDate: __, openAlerts: ___, ...entry }: Values): Values => entry

/** A patient with a plan in which a nurse takes part. */
async function createPatientOf(
  nurse: Person,
  plan: object = {},
): Promise<{ patient: Patient; planId: string; ehrId: string }> {
  const patient = await createPatient()
  const planId = await createPlan(patient, plan)
  await addParticipant(planId, nurse, 'write')
  return { patient, planId, ehrId: patient.ehrId }
}

const addOverdueTask = async (patient: Patient, planId: string, dueDate = YESTERDAY) =>
  createTask(patient, planId, await createGoal(patient, planId), { dueDate })

/** Adds an overdue task that is done. */
async function addClosedTask(patient: Patient, planId: string): Promise<void> {
  const goalId = await createGoal(patient, planId)
  const taskId = await createTask(patient, planId, goalId, { dueDate: YESTERDAY })
  assertStatus(await patient.call('POST', `careplan/${planId}/goal/${goalId}/task/${taskId}/close`, {}))
}

const say = (who: Person, planId: string, text: string) =>
  who.call('POST', `/chat/careplan/${planId}`, { title: 'A question', text })

for (const family of ['path', 'class'] as const)
  describe(`a worklist, by the ${family} family`, () => {
    const read = READ[family]

    it('has the patients who need action, the most urgent first, with the reasons', async () => {
      const nurse = await createPatient()
      const quiet = await createPatientOf(nurse)
      const calling = await createPatientOf(nurse)
      const laterPatient = await createPatientOf(nurse)
      const alarming = await createPatientOf(nurse)
      await say(nurse, quiet.planId, 'My own message')
      for (const dueDate of ['2999-01-01', new Date().toISOString().slice(0, 10)])
        await addOverdueTask(quiet.patient, quiet.planId, dueDate)
      await addClosedTask(quiet.patient, quiet.planId)
      for (const text of ['Hello?', 'Are you there?']) await say(calling.patient, calling.planId, text)
      await addOverdueTask(laterPatient.patient, laterPatient.planId)
      for (let i = 0; i < 2; i++) await createAlert(alarming.patient, alarming.planId)
      // The nurse's own EHR is not a patient's.
      await createAlert(nurse, await createPlan(nurse))
      const since = '2026-03-01T08:30:00.000Z'
      assert.deepEqual((await read(nurse)).items.map(numbersIn), [
        { ...NONE, ehrId: alarming.ehrId, severity: 'CRITICAL', since, alerts: 2 },
        { ...NONE, ehrId: laterPatient.ehrId, overdueTasks: 1 },
        { ...NONE, ehrId: calling.ehrId, unreadMessages: 2 },
      ])
      const allEhrIds = (await read(nurse, { all: true })).items.map(({ ehrId }) => ehrId)
      assert.deepEqual(
        allEhrIds,
        [alarming, laterPatient, calling, quiet].map(({ ehrId }) => ehrId),
      )
    })

    it('counts alerts until somebody takes them, then only for that user, until they are resolved', async () => {
      const nurse = await createPerson()
      const colleague = await createPerson()
      const { patient, planId, ehrId } = await createPatientOf(nurse)
      await addParticipant(planId, colleague, 'write')
      const id = await createAlert(patient, planId)
      const rules = { escalation: { afterMinutes: 30, participants: [nurse.mvUid] } }
      assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, rules))
      const numbers = async (who: Person) =>
        (await read(who)).items.map(({ alerts, assigned, taken }) => [alerts, assigned, taken])
      await waitFor(async () => ((await numbers(nurse))[0]?.[1] === 1 ? true : undefined), 'the assignment')
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[[1, 1, 0]], [[1, 0, 0]]])
      assert.deepEqual(
        [(await read(nurse, { mine: true })).items.length, (await read(colleague, { mine: true })).items],
        [1, []],
      )
      const handle = async (step: Values) =>
        assertStatus(await nurse.call('POST', `/ehr/${ehrId}/alert/${id}/handle`, step))
      await handle({ action: 'TAKE' })
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[[0, 0, 1]], []])
      await handle({ action: 'RESOLVE', note: 'Called' })
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[], []])
    })

    it('names the patients and their alerts, which can be handled by their versions', async () => {
      const nurse = await createPerson()
      const { patient, planId, ehrId } = await createPatientOf(nurse)
      await name(patient)
      const id = await createAlert(patient, planId)
      const [entry = {}] = (await read(nurse)).items
      assert.deepEqual([entry.name, entry.birthDate], ['Anna de Vries', '1961-04-30'])
      const [{ data, ...alert }, ...others] = entry.openAlerts as [Values, ...Values[]]
      assert.deepEqual(others, [])
      assert.deepEqual(alert, {
        id,
        carePlanId: planId,
        title: 'Blood pressure 185/112 mmHg: Hypertension grade 3',
        start: '2026-03-01T08:30:00.000Z',
        severity: 'CRITICAL',
        alertState: 'NEW',
        takenBy: null,
        takenByName: null,
        takenAt: null,
        mayHandle: true,
        version: 1,
      })
      assert.equal((data as Values).kind, 'bloodpressure')
      const headers = { 'if-match': `"${alert.version}"` }
      assertStatus(await nurse.call('POST', `/ehr/${ehrId}/alert/${id}/handle`, { action: 'TAKE' }, headers))
      const [takenAlert] = ((await read(nurse)).items[0]?.openAlerts ?? []) as Values[]
      assert.deepEqual(
        [takenAlert?.alertState, takenAlert?.takenBy, takenAlert?.version],
        ['TAKEN', nurse.mvUid, 2],
      )
    })

    it('has the alerts that others have taken, with their names, for those who ask', async () => {
      const nurse = await createPerson()
      const colleague = await createPerson()
      const { patient, planId, ehrId } = await createPatientOf(nurse)
      await addParticipant(planId, colleague, 'write')
      const person = { name: { displayName: 'Bo Smit' } }
      assertStatus(await colleague.call('PUT', `/profile/${colleague.mvUid}`, person))
      const id = await createAlert(patient, planId)
      const taking = await colleague.call('POST', `/ehr/${ehrId}/alert/${id}/handle`, { action: 'TAKE' })
      const { takenAt } = assertStatus(taking)
      assert.deepEqual((await read(nurse, { ehrId })).items, [])
      const [entry = {}] = (await read(nurse, { ehrId, takenByOthers: true })).items
      const [alert] = entry.openAlerts as Values[]
      assert.deepEqual(
        [alert?.id, alert?.takenBy, alert?.takenByName, alert?.takenAt],
        [id, colleague.mvUid, 'Bo Smit', takenAt],
      )
      assert.deepEqual([entry.alerts, entry.taken], [0, 0])
    })

    it('shows which alerts a user may handle', async () => {
      const nurse = await createPerson()
      const reader = await createPerson()
      const { patient, planId } = await createPatientOf(nurse)
      await addParticipant(planId, reader, 'read')
      await createAlert(patient, planId)
      const mayHandle = async (who: Person) =>
        (await read(who)).items.map(({ openAlerts }) => (openAlerts as Values[])[0]?.mayHandle)
      assert.deepEqual([await mayHandle(nurse), await mayHandle(reader)], [[true], [false]])
    })

    it('shows at most ten alerts of a patient, counts all, and shows all in the list of one patient', async () => {
      const nurse = await createPerson()
      const { patient, planId } = await createPatientOf(nurse)
      for (let i = 0; i < 12; i++) await createAlert(patient, planId)
      const [entry] = (await read(nurse)).items
      const { alerts, openAlerts } = entry as { alerts: number; openAlerts: unknown[] }
      assert.deepEqual([alerts, openAlerts.length], [12, 10])
      const [entryOfAll = {}] = (await read(nurse, { ehrId: patient.ehrId })).items
      assert.equal((entryOfAll.openAlerts as unknown[]).length, 12)
    })

    it('names nobody to those who only take part in anonymous plans', async () => {
      const nurse = await createPerson()
      const { patient, planId, ehrId } = await createPatientOf(nurse, { anonymous: true })
      await name(patient)
      await createAlert(patient, planId)
      const [entry] = (await read(nurse)).items
      assert.deepEqual([entry?.ehrId, entry?.name, entry?.birthDate], [ehrId, null, null])
      const unnamed = { ehrId, name: null, birthDate: null, gender: null }
      assert.deepEqual(await READ_CARD[family](nurse, ehrId), unnamed)
      const [alert] = (entry?.openAlerts ?? []) as Values[]
      await nurse.call('POST', `/ehr/${ehrId}/alert/${alert?.id}/handle`, { action: 'TAKE' })
      const [takenAlert] = ((await read(nurse)).items[0]?.openAlerts ?? []) as Values[]
      assert.deepEqual([takenAlert?.takenBy, takenAlert?.takenByName], [nurse.mvUid, null])
      await addParticipant(await createPlan(patient), nurse, 'read')
      assert.equal(((await READ_CARD[family](nurse, ehrId)) as Values).name, 'Anna de Vries')
    })

    it('is limited to a reason, a severity, one’s own alerts and a patient', async () => {
      const nurse = await createPerson()
      const alarming = await createPatientOf(nurse)
      const laterPatient = await createPatientOf(nurse)
      const calling = await createPatientOf(nurse)
      const id = await createAlert(alarming.patient, alarming.planId)
      await addOverdueTask(laterPatient.patient, laterPatient.planId)
      await say(calling.patient, calling.planId, 'Hello?')
      const findEhrIds = async (query: Values) => (await read(nurse, query)).items.map(({ ehrId }) => ehrId)
      assert.deepEqual(await findEhrIds({ reason: 'ALERT' }), [alarming.ehrId])
      assert.deepEqual(await findEhrIds({ reason: 'MISSED' }), [])
      assert.deepEqual(await findEhrIds({ reason: 'TASK' }), [laterPatient.ehrId])
      assert.deepEqual(await findEhrIds({ reason: 'MESSAGE' }), [calling.ehrId])
      assert.deepEqual(await findEhrIds({ severity: 'CRITICAL' }), [alarming.ehrId])
      assert.deepEqual(await findEhrIds({ severity: 'LOW', reason: 'TASK' }), [])
      assert.deepEqual(await findEhrIds({ ehrId: laterPatient.ehrId }), [laterPatient.ehrId])
      assert.deepEqual(await findEhrIds({ mine: true }), [])
      await nurse.call('POST', `/ehr/${alarming.ehrId}/alert/${id}/handle`, { action: 'TAKE' })
      assert.deepEqual(await findEhrIds({ mine: true }), [alarming.ehrId])
    })

    it('shows the subject of an EHR to its readers only', async () => {
      const nurse = await createPerson()
      const stranger = await createPerson()
      const { patient, ehrId } = await createPatientOf(nurse)
      await name(patient)
      const card = { ehrId, name: 'Anna de Vries', birthDate: '1961-04-30', gender: 'FEMALE' }
      assert.deepEqual(await READ_CARD[family](nurse, ehrId), card)
      assert.equal(await READ_CARD[family](stranger, ehrId), 404)
    })

    it('names no user who has not accepted the EHR', async () => {
      const maker = await createPerson()
      const user = await createPatient()
      await name(user)
      const { ehrId } = await createEhrAbout(user, maker)
      const unnamed = { ehrId, name: null, birthDate: null, gender: null }
      assert.deepEqual(await READ_CARD[family](maker, ehrId), unnamed)
    })

    it('leaves out muted alerts', async () => {
      const nurse = await createPerson()
      const { patient, planId } = await createPatientOf(nurse)
      await createAlert(patient, planId)
      const until = new Date(Date.now() + 86_400_000).toISOString()
      const rules = { mutes: [{ until, reason: 'In hospital' }] }
      assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, rules))
      await waitFor(async () => ((await read(nurse)).items.length === 0 ? true : undefined), 'the mute')
    })

    it('is read page by page, each patient once', async () => {
      const nurse = await createPerson()
      const patients = [1, 2, 3, 4, 5].map(() => createPatientOf(nurse))
      const ehrIds: string[] = []
      for (const { patient, planId, ehrId } of await Promise.all(patients)) {
        await addOverdueTask(patient, planId)
        ehrIds.push(ehrId)
      }
      const pagedIds: unknown[] = []
      let cursor: string | undefined
      do {
        const { items, next } = await read(nurse, { limit: 2, ...(cursor && { cursor }) })
        assert.ok(items.length <= 2)
        pagedIds.push(...items.map(({ ehrId }) => ehrId))
        cursor = next ?? undefined
      } while (cursor)
      assert.deepEqual(pagedIds, ehrIds.sort())
    })

    it('leaves an audit entry in each EHR that it could show, and none elsewhere', async () => {
      const nurse = await createPerson()
      const one = await createPatientOf(nurse)
      const two = await createPatientOf(nurse)
      const other = await createPatientOf(await createPerson())
      await createAlert(other.patient, other.planId)
      await createAlert(one.patient, one.planId)
      const since = new Date()
      assert.deepEqual(
        (await read(nurse)).items.map(({ ehrId }) => ehrId),
        [one.ehrId],
      )
      const entries = await service.db
        .collection('audit.entries')
        .find({ userId: nurse.mvUid, at: { $gte: since }, asked: 'worklist' })
        .toArray()
      assert.deepEqual(entries.map(({ ehrId }) => ehrId).sort(), [one.ehrId, two.ehrId].sort())
    })
  })

describe('a worklist', () => {
  it('has the alert of a patient next to a thousand more urgent ones of the user', async () => {
    const nurse = await createPatient()
    const patient = await createPatient()
    const [ownPlan, plan] = [await createPlan(nurse), await createPlan(patient)]
    await addParticipant(plan, nurse, 'write')
    const ownAlert = await createAlert(nurse, ownPlan)
    await createAlert(patient, plan)
    const alerts = service.db.collection<{ _id: string; urgency: number }>('Event')
    const { urgency = 0, ...alert } = (await alerts.findOne({ _id: ownAlert })) ?? {}
    await alerts.insertMany(
      Array.from({ length: 1000 }, (_, i) => ({ ...alert, _id: `${ownAlert}${i}`, urgency: urgency + 1 })),
    )
    const { items } = await READ.path(nurse)
    assert.deepEqual(
      items.map(({ ehrId, alerts }) => [ehrId, alerts]),
      [[patient.ehrId, 1]],
    )
  })

  it('sorts by the worst alert of each patient, and begins with it', async () => {
    const nurse = await createPerson()
    const [mild, severe] = [await createPatientOf(nurse), await createPatientOf(nurse)]
    for (const { patient, planId } of [severe, mild]) {
      const pressure = { systolic: 145, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
      assertStatus(await patient.call('PUT', `careplan/${planId}/thresholds`, { bloodpressure: 'esc2018' }))
      const body = { carePlanId: planId, timestamp: '2026-02-01T08:30:00Z', ...pressure }
      assertStatus(await patient.call('POST', 'procedure/bloodpressure', body), 201)
    }
    await createAlert(severe.patient, severe.planId)
    const { items } = await READ.path(nurse)
    assert.deepEqual(
      items.map(({ ehrId, severity, openAlerts }) => [
        ehrId,
        severity,
        (openAlerts as Values[]).map((alert) => alert.severity),
      ]),
      [
        [severe.ehrId, 'CRITICAL', ['CRITICAL', 'MODERATE']],
        [mild.ehrId, 'MODERATE', ['MODERATE']],
      ],
    )
  })

  it('reads only what waits, by indexes', async () => {
    const nurse = await createPerson()
    const { patient, planId } = await createPatientOf(nurse)
    await createAlert(patient, planId)
    await addOverdueTask(patient, planId)
    await say(patient, planId, 'Hello?')
    await assertNoScan(await recordCommands(() => READ.path(nurse)))
  })

  it('refuses forged cursors, in both families', async () => {
    const nurse = await createPerson()
    const forge = (value: unknown) =>
      Buffer.from(JSON.stringify(['worklist', 'v', value, 'x'])).toString('base64url')
    for (const cursor of [forge('{}'), forge('['), forge(7), forge('[null]'), 'x']) {
      assertProblem(await nurse.call('GET', `/worklist?cursor=${cursor}`), 400, 'malformed-request')
      assert.equal((await callFunction(nurse, 'worklist', { cursor })).status, 400)
    }
  })

  it('has saved views of the user, with versions', async () => {
    const nurse = await createPerson()
    const none = await nurse.call('GET', '/worklist/views')
    assert.deepEqual([assertStatus(none), none.etag], [{ views: [] }, '"0"'])
    const views = [{ name: 'Urgent', reason: 'ALERT', severity: 'HIGH', mine: true }]
    const unknown = await nurse.call('PUT', '/worklist/views', { views }, { 'if-match': '"1"' })
    assertProblem(unknown, 412, 'precondition-failed')
    const response = await nurse.call('PUT', '/worklist/views', { views }, { 'if-match': '"0"' })
    assert.deepEqual([assertStatus(response), response.etag], [{ views }, '"1"'])
    const stale = await nurse.call('PUT', '/worklist/views', { views: [] }, { 'if-match': '"0"' })
    assertProblem(stale, 412, 'precondition-failed')
    const changed = await nurse.call('PUT', '/worklist/views', { views: [] }, { 'if-match': '"1"' })
    assert.deepEqual([assertStatus(changed), changed.etag], [{ views: [] }, '"2"'])
    assert.deepEqual(assertStatus(await (await createPerson()).call('GET', '/worklist/views')), { views: [] })
    const many = Array.from({ length: 21 }, (_, i) => ({ name: `View ${i}` }))
    assertProblem(await nurse.call('PUT', '/worklist/views', { views: many }), 400, 'invalid-input')
  })
})
