import assert from 'node:assert/strict'
import { assertError, classesOf, moment } from './class-family/client.ts'
import { keys } from './helper.ts'
import {
  etagOf,
  letIn,
  newGoal,
  newPatient,
  newPlan,
  newTask,
  ok,
  type Patient,
} from './path-family/clinic.ts'
import { newAdmin, newPerson, type Person, refused } from './path-family/people.ts'

/** The class family as the same person sees it. */
const classes = ({ sessionToken }: Person) =>
  classesOf({ headers: { ...keys(), 'X-Parse-Session-Token': sessionToken } })

const day = (date: string) => moment(`${date}T00:00:00.000Z`)

/** What both families call by the same name and show in the same form. */
const same = ['name', 'description', 'notes', 'outcome', 'status', 'ehrId', 'version'] as const
const DATES = ['proposedStartDate', 'actualStartDate', 'dueDate', 'achievementDate'] as const

type Shown = Record<string, unknown>

/** Asserts that the resource of the path family and the object of the class family say the same. */
function agree(resource: Shown, object: Shown): void {
  assert.equal(resource.id, object.objectId)
  for (const name of same) assert.deepEqual(resource[name] ?? undefined, object[name], name)
  for (const name of DATES) {
    const date = resource[name] as string | null | undefined
    assert.deepEqual(date ? day(date) : undefined, object[name], name)
  }
}

describe('both families', () => {
  let patient: Patient
  let stranger: Patient
  let nurse: Person
  /** The records of a plan, by class: where the path family adds, shows and closes them. */
  let planId: string
  let goalId: string
  before(async () => {
    ;[patient, stranger, nurse] = await Promise.all([newPatient(), newPatient(), newPerson()])
    planId = await newPlan(patient)
    goalId = await newGoal(patient, planId)
    await letIn(planId, nurse, 'read')
  })

  const goals = () => `careplan/${planId}/goal`
  const tasks = () => `${goals()}/${goalId}/task`

  const kinds = {
    CarePlan: { at: () => 'careplan', place: () => ({ ehrId: patient.ehrId }) },
    Goal: { at: goals, place: () => ({ ehrId: patient.ehrId, carePlanId: planId }) },
    Task: { at: tasks, place: () => ({ ehrId: patient.ehrId, carePlanId: planId, goalId }) },
  } as const

  /** The record as the path family shows it: a task has no operation of its own, it stands in its plan. */
  async function shownBy(who: Person, name: keyof typeof kinds, id: string): Promise<Shown | undefined> {
    const plan = name === 'CarePlan' ? id : planId
    const { status, body } = await who.call('GET', `/med/${patient.ehrId}/careplan/${plan}`)
    if (status === 404) return undefined
    assert.equal(status, 200)
    if (name === 'CarePlan') return body
    const within = name === 'Goal' ? body.goals : body.goals.flatMap((goal: { tasks: Shown[] }) => goal.tasks)
    return within.find((one: Shown) => one.id === id)
  }

  for (const name of ['CarePlan', 'Goal', 'Task'] as const) {
    const { at, place } = kinds[name]
    const told = { name: 'One', description: 'Two', notes: 'Three' }

    describe(`share the ${name}`, () => {
      it('created by the path family', async () => {
        const { id } = ok(await patient.call('POST', at(), { ...told, dueDate: '2026-06-30' }), 201)
        const { body } = await classes(patient).get(name, id).expect(200)
        agree((await shownBy(patient, name, id)) ?? {}, body)
        assert.deepEqual([body.notes, body.dueDate, body.version], ['Three', day('2026-06-30'), 1])
        assertError(await classes(stranger).get(name, id), 101)
      })

      it('created by the class family', async () => {
        const sent = { ...told, ...place(), dueDate: day('2026-06-30') }
        const { body } = await classes(patient).post(name, sent).expect(201)
        const resource = await shownBy(patient, name, body.objectId)
        agree(resource ?? {}, body)
        assert.equal(resource?.dueDate, '2026-06-30')
        assert.equal(await shownBy(stranger, name, body.objectId), undefined)
      })

      it('updated in turn, each seeing the other’s version', async () => {
        const { id } = ok(await patient.call('POST', at(), told), 201)
        const changed = { notes: 'by class', achievementDate: day('2026-05-01') }
        const { body } = await classes(patient).put(name, id, changed).expect(200)
        assert.equal(body.version, 2)
        agree((await shownBy(patient, name, id)) ?? {}, body)
        const put = (etag: string) =>
          patient.call('PUT', `${at()}/${id}`, { name: 'by path', outcome: 'x' }, { 'if-match': etag })
        refused(await put('"1"'), 412, 'precondition-failed')
        const replaced = ok(await put('"2"'))
        const after = (await classes(patient).get(name, id).expect(200)).body
        agree(replaced, after)
        assert.deepEqual(
          [after.name, after.notes, after.achievementDate, after.version],
          ['by path', undefined, undefined, 3],
        )
      })

      it('closed once, by whichever is first', async () => {
        const { id } = ok(await patient.call('POST', at(), told), 201)
        ok(
          await patient.call('POST', `${at()}/${id}/close`, {
            outcome: 'Done',
            achievementDate: '2026-05-01',
          }),
        )
        const { body } = await classes(patient).get(name, id).expect(200)
        assert.deepEqual(
          [body.status, body.outcome, body.achievementDate],
          ['COMPLETED', 'Done', day('2026-05-01')],
        )
        assertError(await classes(patient).put(name, id, { status: 'CANCELLED' }), 142, /closed/)

        const other = (
          await classes(patient)
            .post(name, { ...told, ...place() })
            .expect(201)
        ).body.objectId
        await classes(patient).put(name, other, { status: 'CANCELLED' }).expect(200)
        refused(await patient.call('POST', `${at()}/${other}/close`, {}), 422, 'rule-violated')
        assert.equal((await shownBy(patient, name, other))?.status, 'CANCELLED')
      })

      it('closed by one of both at the same instant', async () => {
        const { id } = ok(await patient.call('POST', at(), told), 201)
        const [path, byClass] = await Promise.all([
          patient.call('POST', `${at()}/${id}/close`, { status: 'COMPLETED' }),
          classes(patient).put(name, id, { status: 'CANCELLED' }),
        ])
        const won = (await shownBy(patient, name, id))?.status
        assert.ok(path!.status !== 200 || byClass!.status !== 200)
        assert.equal(won, path!.status === 200 ? 'COMPLETED' : 'CANCELLED')
      })

      it('deleted by the class family', async () => {
        const { id } = ok(await patient.call('POST', at(), told), 201)
        await classes(patient).delete(name, id).expect(200)
        assert.equal(await shownBy(patient, name, id), undefined)
        refused(await patient.call('PUT', `${at()}/${id}`, { name: 'x' }), 404, 'not-found')
      })

      it('with a participant, who may read it and no more', async () => {
        const id = name === 'CarePlan' ? planId : ok(await patient.call('POST', at(), told), 201).id
        agree((await shownBy(nurse, name, id)) ?? {}, (await classes(nurse).get(name, id).expect(200)).body)
        const path = `/ehr/${patient.ehrId}/${at()}/${id}`
        refused(await nurse.call('PUT', path, { name: 'x' }), 403, 'forbidden')
        assertError(await classes(nurse).put(name, id, { name: 'x' }), 101)
        assertError(await classes(nurse).delete(name, id), 101)
      })
    })
  }

  it('keep the time of day that only one of them shows', async () => {
    const sent = { name: 'x', ehrId: patient.ehrId, actualStartDate: moment('2026-01-02T15:04:05.678Z') }
    const { objectId } = (await classes(patient).post('CarePlan', sent).expect(201)).body
    const plan = ok(await patient.call('GET', `careplan/${objectId}`))
    assert.equal(plan.actualStartDate, '2026-01-02')
    const body = { name: 'y', actualStartDate: plan.actualStartDate }
    ok(await patient.call('PUT', `careplan/${objectId}`, body))
    const after = (await classes(patient).get('CarePlan', objectId).expect(200)).body
    assert.deepEqual([after.name, after.actualStartDate], ['y', sent.actualStartDate])
  })

  describe('share the Ehr', () => {
    it('created by either', async () => {
      const { id } = ok(await patient.call('POST', '/ehr', { subjectId: 'patient 12' }), 201)
      const { body } = await classes(patient).get('Ehr', id).expect(200)
      assert.deepEqual([body.subjectId, body.version], ['patient 12', 1])
      await classes(patient).post('CarePlan', { ehrId: id, name: 'x' }).expect(201)
      const { objectId } = (await classes(patient).post('Ehr', { subjectId: 'patient 13' }).expect(201)).body
      const { items } = ok(await patient.call('GET', '/ehr'))
      assert.ok(items.some((ehr: Shown) => ehr.id === objectId && ehr.subjectId === 'patient 13'))
      ok(await patient.call('POST', `/ehr/${objectId}/careplan`, { name: 'x' }), 201)
    })

    it('deleted by either', async () => {
      const [one, other] = [await newPatient(), await newPatient()]
      const plan = await newPlan(one)
      await newTask(one, plan, await newGoal(one, plan))
      ok(await one.call('DELETE', `/med/ehr/${one.ehrId}`), 204)
      assertError(await classes(one).get('Ehr', one.ehrId), 101)
      for (const name of ['CarePlan', 'Goal', 'Task'])
        assert.deepEqual((await classes(one).list(name, {}).expect(200)).body.results, [])
      assertError(await classes(one).post('Goal', { ehrId: one.ehrId, carePlanId: plan, name: 'x' }), 101)
      const admin = await newAdmin()
      ok(await admin.call('POST', `/med/ehr/${one.ehrId}/restore`))
      await classes(one).get('CarePlan', plan).expect(200)
      assert.equal((await classes(one).list('Task', {}).expect(200)).body.results.length, 1)

      const kept = await newPlan(other)
      await classes(other).delete('Ehr', other.ehrId).expect(200)
      assert.deepEqual(ok(await other.call('GET', '/ehr')).items, [])
      refused(await other.call('GET', `/ehr/${other.ehrId}/careplan`), 404, 'not-found')
      assert.equal(ok(await admin.call('POST', `/med/ehr/${other.ehrId}/restore`)).version, 3)
      ok(await other.call('POST', `careplan/${kept}/goal`, { name: 'x' }), 201)
      await classes(other).post('Goal', { ehrId: other.ehrId, carePlanId: kept, name: 'y' }).expect(201)
      assert.equal(ok(await other.call('GET', `careplan/${kept}`)).goals.length, 2)
    })
  })

  it('obey the same rules', async () => {
    const closed = await newPlan(patient)
    ok(await patient.call('POST', `careplan/${closed}/close`, {}))
    const goal = { ehrId: patient.ehrId, carePlanId: closed, name: 'x' }
    assertError(await classes(patient).post('Goal', goal), 142, 'carePlanId names a care plan that is closed')
    refused(await patient.call('POST', `careplan/${closed}/goal`, { name: 'x' }), 422, 'rule-violated')
    const plan = await newPlan(patient, { language: 'en' })
    assertError(
      await classes(patient).put('CarePlan', plan, { language: 'nl' }),
      142,
      'language may not be changed',
    )
    refused(
      await patient.call('PUT', `careplan/${plan}`, { name: 'x', language: 'nl' }),
      422,
      'rule-violated',
    )
  })

  it('change the ETag of a plan when the class family changes a goal of it', async () => {
    const look = async () => etagOf(await patient.call('GET', `careplan/${planId}`))
    const before = await look()
    await classes(patient).put('Goal', goalId, { notes: 'by class' }).expect(200)
    assert.notEqual(await look(), before)
  })
})
