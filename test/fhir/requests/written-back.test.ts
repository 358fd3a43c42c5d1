import assert from 'node:assert/strict'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { callFhir, type Json, readFhir } from '../fhir-client.ts'

/** Every selection of some values, none and all included. */
const selectionsOf = <T>(values: readonly T[]): T[][] =>
  Array.from({ length: 2 ** values.length }, (_, bits) => values.filter((_, i) => (bits >> i) % 2 === 1))

const PLAN_DATES = {
  proposedStartDate: '2026-01-01',
  actualStartDate: '2026-07-01',
  dueDate: '2026-06-01',
  achievementDate: '2026-08-01',
}
const DATES: Record<string, object> = {
  CarePlan: PLAN_DATES,
  Goal: { dueDate: PLAN_DATES.dueDate, achievementDate: PLAN_DATES.achievementDate },
  Task: { dueDate: PLAN_DATES.dueDate, achievementDate: PLAN_DATES.achievementDate },
}

const withoutVersion = ({ version: _, updatedAt: __, ...object }: Json) => object

describe('a resource of a care plan that a client of FHIR writes back', () => {
  let patient: Patient
  let planId: string
  let goalId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    goalId = await createGoal(patient, planId)
  })

  const create: Record<string, () => Promise<string>> = {
    CarePlan: () => createPlan(patient),
    Goal: () => createGoal(patient, planId),
    Task: () => createTask(patient, planId, goalId),
  }

  /** Changes an object, and asserts that writing it back by FHIR changes nothing. */
  async function assertUnchanged(type: string, change: Json): Promise<Json> {
    const id = await create[type]?.()
    const { get, put } = createClassClient(patient)
    await put(type, String(id), change).expect(200)
    const { body: before } = await get(type, String(id)).expect(200)
    const resource = await readFhir(patient, `${type}/${id}`)
    assertStatus(await callFhir(patient, 'PUT', `${type}/${id}`, resource))
    const { body: after } = await get(type, String(id)).expect(200)
    assert.deepEqual(withoutVersion(after), withoutVersion(before), JSON.stringify(change))
    return resource
  }

  for (const [type, dates] of Object.entries(DATES))
    it(`keeps every combination of status and dates: ${type}`, async () => {
      for (const selection of selectionsOf(Object.entries(dates)))
        for (const status of ['ACTIVE', 'COMPLETED']) {
          const times = selection.map(([name, day]) => [name, parseDate(`${day}T10:00:00.000Z`)])
          await assertUnchanged(type, { ...Object.fromEntries(times), status })
        }
    })

  for (const type of Object.keys(DATES))
    it(`keeps empty texts: ${type}`, async () => {
      const empty = { description: '', notes: '', outcome: '' }
      const { description = {}, note } = await assertUnchanged(type, empty)
      assert.deepEqual([description.text ?? 'none', note], [type === 'Goal' ? 'Walk' : 'none', undefined])
    })

  it('shows which end of a plan is meant, also when the plan is closed', async () => {
    const date = (day: string) => parseDate(`${day}T00:00:00.000Z`)
    const ends = { dueDate: date('2026-06-01'), achievementDate: date('2026-08-01') }
    const plan = await assertUnchanged('CarePlan', ends)
    const mark = (valueBoolean: boolean) => ({
      extension: [{ url: 'urn:health-record-service:planned', valueBoolean }],
    })
    assert.deepEqual(plan.period, { end: '2026-08-01', _end: mark(false) })
    const path = `CarePlan/${plan.id}`
    const closed = assertStatus(await callFhir(patient, 'PUT', path, { ...plan, status: 'completed' }))
    assert.deepEqual([closed.status, closed.period], ['completed', plan.period])
    const { body } = await createClassClient(patient).get('CarePlan', plan.id).expect(200)
    assert.deepEqual([body.dueDate, body.achievementDate], Object.values(ends))
  })

  it('is refused in words of FHIR', async () => {
    const url = 'urn:health-record-service:repeat'
    const task = (more: object) => ({
      resourceType: 'Task',
      status: 'ready',
      intent: 'order',
      code: { text: 'Walk' },
      for: { reference: `Patient/${patient.ehrId}` },
      focus: { reference: `Goal/${goalId}` },
      ...more,
    })
    const timing = (repeat: object) => ({ extension: [{ url, valueTiming: { repeat } }] })
    const repeatPath = `Task.extension.where(url='${url}').valueTiming.repeat`
    const rows: [more: object, path: string, message: string][] = [
      [{ priority: 'stat' }, 'Task.priority', 'must be one of routine, urgent'],
      [
        timing({ frequency: 1, period: 1, periodUnit: 'h' }),
        `${repeatPath}.periodUnit`,
        'must be one of d, wk, mo',
      ],
      [timing({ frequency: 1, period: 1.5, periodUnit: 'd' }), `${repeatPath}.period`, 'must be an integer'],
    ]
    for (const [more, path, message] of rows) {
      const { status, body } = await callFhir(patient, 'POST', 'Task', task(more))
      const issue = body.issue.find(({ expression }: Json) => expression?.[0] === path)
      assert.equal(status, 422)
      assert.ok(issue?.diagnostics.endsWith(`${path} ${message}.`), JSON.stringify(body))
    }
  })
})
