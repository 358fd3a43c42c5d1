import assert from 'node:assert/strict'
import {
  addParticipant,
  createAlert,
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

type ReadPage = (who: Person, query?: { limit?: number; cursor?: string }) => Promise<Page>

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

const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const NONE = {
  ...{ severity: null, since: null, alerts: 0, assigned: 0, taken: 0, missed: 0 },
  ...{ overdueTasks: 0, unreadMessages: 0 },
}

/** A patient with a plan in which a nurse takes part. */
async function createPatientOf(nurse: Person): Promise<{ patient: Patient; planId: string; ehrId: string }> {
  const patient = await createPatient()
  const planId = await createPlan(patient)
  await addParticipant(planId, nurse, 'write')
  return { patient, planId, ehrId: patient.ehrId }
}

const addOverdueTask = async (patient: Patient, planId: string, dueDate = YESTERDAY) =>
  createTask(patient, planId, await createGoal(patient, planId), { dueDate })

const say = (who: Person, planId: string, text: string) =>
  who.call('POST', `/chat/careplan/${planId}`, { title: 'A question', text })

for (const family of ['path', 'class'] as const)
  describe(`a worklist, by the ${family} family`, () => {
    const read = READ[family]

    it('has the patients who need action, the most urgent first, with the reasons', async () => {
      const nurse = await createPatient()
      const [quiet, calling, late, alarming] = [
        await createPatientOf(nurse),
        await createPatientOf(nurse),
        await createPatientOf(nurse),
        await createPatientOf(nurse),
      ]
      await say(nurse, quiet.planId, 'My own message')
      await addOverdueTask(quiet.patient, quiet.planId, '2999-01-01')
      for (const text of ['Hello?', 'Are you there?']) await say(calling.patient, calling.planId, text)
      await addOverdueTask(late.patient, late.planId)
      for (let i = 0; i < 2; i++) await createAlert(alarming.patient, alarming.planId)
      // The nurse's own EHR is not a patient's.
      await createAlert(nurse, await createPlan(nurse))
      const since = '2026-03-01T08:30:00.000Z'
      assert.deepEqual((await read(nurse)).items, [
        { ...NONE, ehrId: alarming.ehrId, severity: 'CRITICAL', since, alerts: 2 },
        { ...NONE, ehrId: late.ehrId, overdueTasks: 1 },
        { ...NONE, ehrId: calling.ehrId, unreadMessages: 2 },
      ])
    })

    it('counts alerts until somebody takes them, then only for that user, until they are resolved', async () => {
      const [nurse, colleague] = [await createPerson(), await createPerson()]
      const { patient, planId, ehrId } = await createPatientOf(nurse)
      await addParticipant(planId, colleague, 'write')
      const id = await createAlert(patient, planId)
      const rules = { escalation: { afterMinutes: 30, participants: [nurse.mvUid] } }
      assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, rules))
      const numbers = async (who: Person) =>
        (await read(who)).items.map(({ alerts, assigned, taken }) => [alerts, assigned, taken])
      await waitFor(async () => ((await numbers(nurse))[0]?.[1] === 1 ? true : undefined), 'the assignment')
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[[1, 1, 0]], [[1, 0, 0]]])
      const handle = async (step: Values) =>
        assertStatus(await nurse.call('POST', `/ehr/${ehrId}/alert/${id}/handle`, step))
      await handle({ action: 'TAKE' })
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[[0, 0, 1]], []])
      await handle({ action: 'RESOLVE', note: 'Called' })
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[], []])
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
      const found: unknown[] = []
      let cursor: string | undefined
      do {
        const { items, next } = await read(nurse, { limit: 2, ...(cursor && { cursor }) })
        assert.ok(items.length <= 2)
        found.push(...items.map(({ ehrId }) => ehrId))
        cursor = next ?? undefined
      } while (cursor)
      assert.deepEqual(found, ehrIds.sort())
    })

    it('leaves an audit entry in each EHR that it could show, and none elsewhere', async () => {
      const nurse = await createPerson()
      const [one, two] = [await createPatientOf(nurse), await createPatientOf(nurse)]
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
})
