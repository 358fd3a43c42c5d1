import assert from 'node:assert/strict'
import {
  createGoal,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../../harness/care/patients.ts'
import { createClassClient } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertStatus, call } from '../../../harness/clients/path-client.ts'
import { placesOfViolations } from '../../../harness/clients/violation-places.ts'
import { waitForMailAbout } from '../../../harness/mail/mail.ts'
import { createAdmin, createPerson, type Person } from '../../../harness/people/people.ts'
import { apiKeys, service } from '../../../harness/service/service.ts'
import { waitUntil } from '../../../harness/wait.ts'

/** The class family for a person who logged in to the path family. */
const classesFor = ({ sessionToken }: Person) =>
  createClassClient({ headers: { ...apiKeys(), 'X-Parse-Session-Token': sessionToken } })

const timeOf = (ms: number): string => new Date(Date.now() + ms).toISOString()

describe('participants', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
  })
  beforeEach(async () => {
    planId = await createPlan(patient)
  })

  const path = (of = planId) => `/ehr/${patient.ehrId}/careplan/${of}/participant`
  const add = async (person: Person, more: object = {}) =>
    assertStatus(await patient.call('POST', path(), { mvUid: person.mvUid, access: 'READ', ...more }), 201)
  const planPath = () => `/ehr/${patient.ehrId}/careplan/${planId}`

  it('are added, shown, changed and archived in the same way under both prefixes', async () => {
    const body = { mvUid: nurse.mvUid, role: 'Diabetes nurse', access: 'WRITE' }
    const added = await patient.call('POST', path(), body)
    const { participationId, start, ...rest } = assertStatus(added, 201)
    assert.deepEqual(rest, { ...body, name: null, end: null, status: 'ACTIVE', version: 1 })
    assert.ok(Math.abs(Date.parse(start) - Date.now()) < 10_000)
    assert.equal(added.headers.get('location'), `${path()}/${participationId}`)
    const medical = `/med/${patient.ehrId}/careplan/${planId}/participant/${participationId}`
    const got = await nurse.call('GET', medical)
    assert.deepEqual(assertStatus(got), added.body)
    assert.equal(got.etag, '"1"')

    const change = { participationId, mvUid: nurse.mvUid, access: 'READ' }
    const changed = assertStatus(await patient.call('PUT', medical, change, { 'if-match': '"1"' }))
    assert.deepEqual(changed, { ...added.body, role: null, access: 'READ', version: 2 })
    assertProblem(
      await patient.call('PUT', medical, change, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assertProblem(
      await patient.call('PUT', medical, { ...change, participationId: 'other' }),
      400,
      'id-mismatch',
    )
    assertProblem(await patient.call('PUT', medical, { ...change, mvUid: 'other' }), 422, 'rule-violated')

    assertProblem(
      await patient.call('DELETE', medical, undefined, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assertStatus(await patient.call('DELETE', medical), 204)
    const { items } = assertStatus(await patient.call('GET', `${path()}?status=ARCHIVED`))
    assert.deepEqual(items, [{ ...changed, status: 'ARCHIVED', version: 3 }])
    assert.deepEqual(assertStatus(await patient.call('GET', `${path()}?status=ACTIVE`)).items, [])
    assert.deepEqual(assertProblem(await patient.call('PUT', medical, change), 422, 'rule-violated'), [
      'archived',
    ])
    const audit = await readAudit(patient.ehrId)
    for (const action of ['create', 'read', 'update', 'query']) {
      assert.ok(audit.includes(`${action} plan.participants done`), action)
    }
  })

  it('see their plan at once, EHR records without a plan, and nothing of another plan', async () => {
    const goalId = await createGoal(patient, planId)
    const otherPlan = await createPlan(patient)
    assertProblem(await nurse.call('GET', planPath()), 404, 'not-found')
    assert.equal((await classesFor(nurse).get('Goal', goalId)).status, 404)
    await add(nurse)
    assertStatus(await nurse.call('GET', planPath()))
    await classesFor(nurse).get('Goal', goalId).expect(200)
    await classesFor(nurse).get('Ehr', patient.ehrId).expect(200)
    const plans = assertStatus(await nurse.call('GET', `/med/${patient.ehrId}/careplan`)).items
    assert.deepEqual(
      plans.map(({ id }: { id: string }) => id),
      [planId],
    )
    assertProblem(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${otherPlan}`), 404, 'not-found')
    assertProblem(await nurse.call('GET', path(otherPlan)), 404, 'not-found')
    assert.equal((await classesFor(nurse).get('CarePlan', otherPlan)).status, 404)
  })

  it('are named to those who manage the plan only, and to nobody in an anonymous plan', async () => {
    const NAME = 'Nurse Bo'
    const [named, manager] = await Promise.all([createPerson({ name: NAME }), createPerson()])
    const added = await add(named, { access: 'WRITE' })
    assert.equal(added.name, NAME)
    await add(manager, { access: 'MANAGE' })
    const ownPath = `${path()}/${added.participationId}`
    for (const [who, name] of [
      [patient, NAME],
      [manager, NAME],
      [named, null],
    ] as const) {
      const [participation] = assertStatus(await who.call('GET', path())).items
      assert.deepEqual([participation.name, assertStatus(await who.call('GET', ownPath)).name], [name, name])
    }
    assert.equal(assertStatus(await patient.call('PUT', ownPath, { access: 'READ' })).name, NAME)
    const plan = assertStatus(await patient.call('GET', planPath()))
    assertStatus(await patient.call('PUT', planPath(), { name: plan.name, anonymous: true }))
    for (const who of [patient, manager])
      assert.deepEqual(
        assertStatus(await who.call('GET', path())).items.map(({ name }: { name: unknown }) => name),
        [null, null],
      )
  })

  it('write with access WRITE, and change participants only with MANAGE', async () => {
    const { participationId } = await add(nurse)
    const goal = { name: 'Walk' }
    const colleague = await createPerson()
    const body = { mvUid: colleague.mvUid, access: 'READ' }
    assertProblem(await nurse.call('POST', `${planPath()}/goal`, goal), 403, 'forbidden')
    assertProblem(await nurse.call('POST', path(), body), 403, 'forbidden')
    const ownPath = `${path()}/${participationId}`
    assertProblem(await nurse.call('PUT', ownPath, { access: 'WRITE' }), 403, 'forbidden')
    assertProblem(await nurse.call('DELETE', ownPath), 403, 'forbidden')
    assertStatus(await nurse.call('GET', path()))

    assertStatus(await patient.call('PUT', ownPath, { access: 'WRITE' }))
    assertStatus(await nurse.call('POST', `${planPath()}/goal`, goal), 201)
    await classesFor(nurse)
      .post('Goal', { ehrId: patient.ehrId, carePlanId: planId, ...goal })
      .expect(201)
    assertProblem(await nurse.call('POST', path(), body), 403, 'forbidden')
    assertProblem(await nurse.call('PUT', ownPath, { access: 'MANAGE' }), 403, 'forbidden')

    assertStatus(await patient.call('PUT', ownPath, { access: 'MANAGE' }))
    assertStatus(await nurse.call('POST', `${planPath()}/goal`, goal), 201)
    await classesFor(nurse).put('CarePlan', planId, { name: 'Other' }).expect(200)
    const added = assertStatus(await nurse.call('POST', path(), body), 201).participationId
    assertStatus(await colleague.call('GET', planPath()))
    assertStatus(await nurse.call('PUT', `${path()}/${added}`, { access: 'WRITE' }))
    assertStatus(await nurse.call('DELETE', `${path()}/${added}`), 204)
    assertProblem(await colleague.call('GET', planPath()), 404, 'not-found')
    assertProblem(await nurse.call('POST', `/ehr/${patient.ehrId}/careplan`, { name: 'x' }), 403, 'forbidden')
    assertProblem(await nurse.call('DELETE', `/med/ehr/${patient.ehrId}`), 403, 'forbidden')

    assertStatus(await nurse.call('PUT', ownPath, { access: 'WRITE' }))
    assertStatus(await nurse.call('POST', `${planPath()}/goal`, goal), 201)
    assertProblem(await nurse.call('POST', path(), body), 403, 'forbidden')
    assertStatus(await patient.call('PUT', ownPath, { access: 'READ' }))
    assertProblem(await nurse.call('POST', `${planPath()}/goal`, goal), 403, 'forbidden')
  })

  it('have no access after they are archived, and may be added again', async () => {
    const { participationId } = await add(nurse, { access: 'WRITE' })
    assertStatus(await nurse.call('GET', planPath()))
    await classesFor(nurse).get('CarePlan', planId).expect(200)
    assertStatus(await patient.call('DELETE', `${path()}/${participationId}`), 204)
    assertProblem(await nurse.call('GET', planPath()), 404, 'not-found')
    assert.equal((await classesFor(nurse).get('CarePlan', planId)).status, 404)
    assert.equal(assertStatus(await patient.call('GET', path())).items.length, 1)
    await add(nurse)
    assertStatus(await nurse.call('GET', planPath()))
    assert.equal(assertStatus(await patient.call('GET', `${path()}?count=true`)).page.total, 2)
  })

  it('have access from the start to the end of their participation', async () => {
    const { participationId } = await add(nurse, { start: timeOf(2500) })
    assertProblem(await nurse.call('GET', planPath()), 404, 'not-found')
    await waitUntil(async () => (await nurse.call('GET', planPath())).status === 200)
    await classesFor(nurse).get('CarePlan', planId).expect(200)
    assertStatus(
      await patient.call('PUT', `${path()}/${participationId}`, { access: 'READ', end: timeOf(1000) }),
    )
    await waitUntil(async () => (await nurse.call('GET', planPath())).status === 404)
    assert.equal((await classesFor(nurse).get('CarePlan', planId)).status, 404)
    const participation = assertStatus(await patient.call('GET', `${path()}/${participationId}`))
    assert.deepEqual([participation.status, participation.version], ['ACTIVE', 2])
    assertStatus(await patient.call('PUT', `${path()}/${participationId}`, { access: 'READ' }))
    assertStatus(await nurse.call('GET', planPath()))
    assertStatus(
      await patient.call('PUT', `${path()}/${participationId}`, {
        access: 'READ',
        end: timeOf(-1000),
        start: timeOf(-9000),
      }),
    )
    assertProblem(await nurse.call('GET', planPath()), 404, 'not-found')
  })

  it('get a mail in their language that reveals nothing about the patient', async () => {
    const colleague = await createPerson()
    assertStatus(await colleague.call('PUT', `/auth/account/${colleague.mvUid}`, { language: 'nl-BE' }))
    await add(colleague, { role: 'Secret role' })
    const mail = await waitForMailAbout(colleague.email, /zorgplan/)
    assert.doesNotMatch(mail.text ?? '', /Secret|blood pressure/i)
    assert.ok(!mail.text?.includes(patient.email) && !mail.text?.includes(patient.ehrId))
  })

  it('are users other than the subject, each once, ordered by time', async () => {
    const codes = async (body: object) =>
      assertProblem(await patient.call('POST', path(), { access: 'READ', ...body }), 422, 'rule-violated')
    assert.deepEqual(await codes({ mvUid: patient.mvUid }), ['subject'])
    const backwards = { start: timeOf(2000), end: timeOf(1000) }
    assert.deepEqual(await codes({ mvUid: 'nobody1234', ...backwards }), ['order', 'user'])
    assert.deepEqual(await codes({ mvUid: nurse.mvUid, ...backwards }), ['order'])
    assert.deepEqual(await codes({ mvUid: patient.mvUid, ...backwards }), ['order', 'subject'])
    const { participationId } = await add(nurse)
    assert.deepEqual(await codes({ mvUid: nurse.mvUid }), ['twice'])
    const wrong = await patient.call('PUT', `${path()}/${participationId}`, {
      access: 'READ',
      end: timeOf(-60_000),
    })
    assert.deepEqual(assertProblem(wrong, 422, 'rule-violated'), ['order'])
    assertProblem(
      await patient.call('POST', path(), { mvUid: { $ne: '' }, access: 'ALL' }),
      400,
      'invalid-input',
    )
    assertStatus(await patient.call('GET', planPath()))
  })

  it('have one participation at a time, also when an old one is changed', async () => {
    const old = await add(nurse, { start: timeOf(-2000), end: timeOf(-1000) })
    const { participationId } = await add(nurse)
    const change = (id: string, body: object) =>
      patient.call('PUT', `${path()}/${id}`, { access: 'WRITE', ...body })
    const answer = await change(old.participationId, { end: null, mvUid: 'other' })
    assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), ['fixed', 'twice'])
    assert.deepEqual(placesOfViolations(answer), ['body.mvUid', 'body.mvUid'])
    assertStatus(await change(old.participationId, { end: timeOf(-500) }))
    assertStatus(await patient.call('DELETE', `${path()}/${participationId}`), 204)
    assertProblem(await nurse.call('GET', planPath()), 404, 'not-found')
    assertStatus(await change(old.participationId, { end: null }))
    assertStatus(await nurse.call('GET', planPath()))
  })

  it('are added once by two concurrent requests', async () => {
    const body = { mvUid: nurse.mvUid, access: 'READ' }
    const answers = await Promise.all([1, 2, 3].map(() => patient.call('POST', path(), body)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422, 422])
    const key = { 'idempotency-key': crypto.randomUUID() }
    const other = { mvUid: (await createPerson()).mvUid, access: 'READ' }
    const firstAnswer = await patient.call('POST', path(), other, key)
    assert.deepEqual((await patient.call('POST', path(), other, key)).body, assertStatus(firstAnswer, 201))
  })

  it('are archived by forty concurrent requests, which all get an answer', async () => {
    const { participationId } = await add(nurse)
    const removals = Array.from({ length: 40 }, () => patient.call('DELETE', `${path()}/${participationId}`))
    for (const answer of await Promise.all(removals)) assertStatus(answer, 204)
    const archived = assertStatus(await patient.call('GET', `${path()}/${participationId}`))
    assert.deepEqual([archived.status, archived.version], ['ARCHIVED', 2])
  })

  it('are hidden from strangers, who also cannot find out if a user exists', async () => {
    const { participationId } = await add(nurse)
    const stranger = await createPatient()
    const admin = await createAdmin()
    for (const person of [stranger, admin]) {
      for (const mvUid of [nurse.mvUid, 'nobody1234']) {
        assertProblem(await person.call('POST', path(), { mvUid, access: 'READ' }), 404, 'not-found')
      }
      assertProblem(await person.call('GET', path()), 404, 'not-found')
      assertProblem(await person.call('DELETE', `${path()}/${participationId}`), 404, 'not-found')
    }
    const elsewhere = `/ehr/${stranger.ehrId}/careplan/${await createPlan(stranger)}/participant`
    assertProblem(await patient.call('GET', `${elsewhere}/${participationId}`), 404, 'not-found')
    assertProblem(await stranger.call('GET', `${elsewhere}/${participationId}`), 404, 'not-found')
    const otherPlan = await createPlan(patient)
    assertProblem(await patient.call('GET', `${path(otherPlan)}/${participationId}`), 404, 'not-found')
    assert.equal((await call('GET', path())).status, 401)
  })

  it('lose their access with their plan', async () => {
    await add(nurse)
    await classesFor(patient).delete('CarePlan', planId).expect(200)
    const { db } = service
    assertProblem(await nurse.call('GET', path()), 404, 'not-found')
    const rows = { owningId: `plan-${planId}-read` }
    assert.equal(await db.collection('_Join:users:_Role').countDocuments(rows as object), 0)
  })
})
