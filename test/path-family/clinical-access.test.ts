import assert from 'node:assert/strict'
import type { TObject } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/example.ts'
import type { Operation } from '../../path-api/operation.ts'
import { table } from '../../path-api/table.ts'
import { letIn, newGoal, newPatient, newPlan, newTask, ok, type Patient } from './clinic.ts'
import { call, newAdmin, newPerson, type Person } from './people.ts'

const places = /^\/(ehr|med)\/\{ehrId\}\/careplan(?!.*(participant|settings))/
const operations = table.filter(({ path }) => places.test(path))

const callers = [
  'subject',
  'reader',
  'writer',
  'reader of another plan',
  'writer of another plan',
  'stranger',
  'admin',
  'anonymous',
] as const
type CallerName = (typeof callers)[number]

/** What the operation is about: the EHR as a whole, or one of its plans. */
const isAboutPlan = ({ path }: Operation): boolean => path.includes('{careplanId}')

function expected(caller: CallerName, operation: Operation): number[] {
  const reads = operation.method === 'get'
  switch (caller) {
    case 'anonymous':
      return [401]
    case 'subject':
      return [200, 201]
    case 'reader':
      return reads ? [200] : [403]
    case 'writer':
      return reads || isAboutPlan(operation) ? [200, 201] : [403]
    case 'reader of another plan':
    case 'writer of another plan':
      return isAboutPlan(operation) ? [404] : reads ? [200] : [403]
    default:
      return [404]
  }
}

describe('access to care plans, goals and tasks', () => {
  let patient: Patient
  let others: Record<Exclude<CallerName, 'subject' | 'anonymous'>, Person>
  let otherPlan: string
  let admin: Person
  before(async function () {
    this.timeout(60_000)
    patient = await newPatient()
    otherPlan = await newPlan(patient)
    admin = await newAdmin()
    others = {
      reader: await newPerson(),
      writer: await newPerson(),
      'reader of another plan': await newPerson(),
      'writer of another plan': await newPerson(),
      stranger: await newPatient(),
      admin,
    }
    await letIn(otherPlan, others['reader of another plan'], 'read')
    await letIn(otherPlan, others['writer of another plan'], 'write')
  })

  for (const operation of operations) {
    it(`${operation.method.toUpperCase()} ${operation.path}`, async () => {
      const careplanId = await newPlan(patient, { language: 'en' })
      const goalId = await newGoal(patient, careplanId)
      const taskId = await newTask(patient, careplanId, goalId)
      // There is a former version of each.
      const plan = `careplan/${careplanId}`
      for (const path of [plan, `${plan}/goal/${goalId}`, `${plan}/goal/${goalId}/task/${taskId}`])
        ok(await patient.call('PUT', path, { name: 'second' }))
      await letIn(careplanId, others.reader, 'read')
      await letIn(careplanId, others.writer, 'write')
      const ids: Record<string, string> = {
        ehrId: patient.ehrId,
        careplanId,
        goalId,
        taskId,
        guidelineId: 'asthma',
      }
      const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name)
      const example = operation.body && (exampleOf(operation.body as TObject) as Record<string, unknown>)
      const { id: _, status: __, participants: ___, ...body } = example ?? {}
      // Those who may do it come last: what is closed cannot be closed again.
      for (const name of [...callers].reverse()) {
        if (name === 'writer' && /close$/.test(path)) continue
        const as = name === 'subject' ? patient.call : name === 'anonymous' ? call : others[name].call
        const answer = await as(operation.method.toUpperCase(), path, example && body)
        assert.ok(
          expected(name, operation).includes(answer.status),
          `${name}: ${answer.status} ${JSON.stringify(answer.body)}`,
        )
      }
    })
  }

  it('shows a participant the plans that he takes part in, and no others', async () => {
    const { items } = ok(await others['reader of another plan'].call('GET', `/ehr/${patient.ehrId}/careplan`))
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id),
      [otherPlan],
    )
  })
})
