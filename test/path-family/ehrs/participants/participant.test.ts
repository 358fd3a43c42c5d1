import assert from 'node:assert/strict'
import { auditOf, newGoal, newPatient, newPlan, type Patient } from '../../../harness/care/patients.ts'
import { classesOf } from '../../../harness/clients/class-client.ts'
import { placesIn } from '../../../harness/clients/named.ts'
import { call, ok, refused } from '../../../harness/clients/path-client.ts'
import { mailAbout } from '../../../harness/people/mail.ts'
import { newAdmin, newPerson, type Person } from '../../../harness/people/people.ts'
import { keys, service } from '../../../harness/service/service.ts'
import { until } from '../../../harness/until.ts'

/** The class family, as a person who logged in to the path family sees it. */
const classesFor = ({ sessionToken }: Person) =>
  classesOf({ headers: { ...keys(), 'X-Parse-Session-Token': sessionToken } })

const at = (ms: number): string => new Date(Date.now() + ms).toISOString()

describe('participants', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([newPatient(), newPerson()])
  })
  beforeEach(async () => {
    planId = await newPlan(patient)
  })

  const path = (of = planId) => `/ehr/${patient.ehrId}/careplan/${of}/participant`
  const add = async (person: Person, more: object = {}) =>
    ok(await patient.call('POST', path(), { mvUid: person.mvUid, access: 'READ', ...more }), 201)
  const planPath = () => `/ehr/${patient.ehrId}/careplan/${planId}`

  it('are added, shown, changed and archived, alike below both prefixes', async () => {
    const body = { mvUid: nurse.mvUid, role: 'Diabetes nurse', access: 'WRITE' }
    const added = await patient.call('POST', path(), body)
    const { participationId, start, ...rest } = ok(added, 201)
    assert.deepEqual(rest, { ...body, end: null, status: 'ACTIVE', version: 1 })
    assert.ok(Math.abs(Date.parse(start) - Date.now()) < 10_000)
    assert.equal(added.headers.get('location'), `${path()}/${participationId}`)
    const medical = `/med/${patient.ehrId}/careplan/${planId}/participant/${participationId}`
    const got = await nurse.call('GET', medical)
    assert.deepEqual(ok(got), added.body)
    assert.equal(got.etag, '"1"')

    const change = { participationId, mvUid: nurse.mvUid, access: 'READ' }
    const changed = ok(await patient.call('PUT', medical, change, { 'if-match': '"1"' }))
    assert.deepEqual(changed, { ...added.body, role: null, access: 'READ', version: 2 })
    refused(await patient.call('PUT', medical, change, { 'if-match': '"1"' }), 412, 'precondition-failed')
    refused(await patient.call('PUT', medical, { ...change, participationId: 'other' }), 400, 'id-mismatch')
    refused(await patient.call('PUT', medical, { ...change, mvUid: 'other' }), 422, 'rule-violated')

    refused(
      await patient.call('DELETE', medical, undefined, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    ok(await patient.call('DELETE', medical), 204)
    const { items } = ok(await patient.call('GET', `${path()}?status=ARCHIVED`))
    assert.deepEqual(items, [{ ...changed, status: 'ARCHIVED', version: 3 }])
    assert.deepEqual(ok(await patient.call('GET', `${path()}?status=ACTIVE`)).items, [])
    assert.deepEqual(refused(await patient.call('PUT', medical, change), 422, 'rule-violated'), ['archived'])
    const audit = await auditOf(patient.ehrId)
    for (const action of ['create', 'read', 'update', 'query']) {
      assert.ok(audit.includes(`${action} plan.participants done`), action)
    }
  })

  it('see their plan at once, of the EHR what belongs to no plan, and nothing of another plan', async () => {
    const goalId = await newGoal(patient, planId)
    const otherPlan = await newPlan(patient)
    refused(await nurse.call('GET', planPath()), 404, 'not-found')
    assert.equal((await classesFor(nurse).get('Goal', goalId)).status, 404)
    await add(nurse)
    ok(await nurse.call('GET', planPath()))
    await classesFor(nurse).get('Goal', goalId).expect(200)
    await classesFor(nurse).get('Ehr', patient.ehrId).expect(200)
    const listed = ok(await nurse.call('GET', `/med/${patient.ehrId}/careplan`)).items
    assert.deepEqual(
      listed.map(({ id }: { id: string }) => id),
      [planId],
    )
    refused(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${otherPlan}`), 404, 'not-found')
    refused(await nurse.call('GET', path(otherPlan)), 404, 'not-found')
    assert.equal((await classesFor(nurse).get('CarePlan', otherPlan)).status, 404)
  })

  it('write when they may, and say who takes part only when they manage the plan', async () => {
    const { participationId } = await add(nurse)
    const goal = { name: 'Walk' }
    const colleague = await newPerson()
    const body = { mvUid: colleague.mvUid, access: 'READ' }
    refused(await nurse.call('POST', `${planPath()}/goal`, goal), 403, 'forbidden')
    refused(await nurse.call('POST', path(), body), 403, 'forbidden')
    const own = `${path()}/${participationId}`
    refused(await nurse.call('PUT', own, { access: 'WRITE' }), 403, 'forbidden')
    refused(await nurse.call('DELETE', own), 403, 'forbidden')
    ok(await nurse.call('GET', path()))

    ok(await patient.call('PUT', own, { access: 'WRITE' }))
    ok(await nurse.call('POST', `${planPath()}/goal`, goal), 201)
    await classesFor(nurse)
      .post('Goal', { ehrId: patient.ehrId, carePlanId: planId, ...goal })
      .expect(201)
    refused(await nurse.call('POST', path(), body), 403, 'forbidden')
    refused(await nurse.call('PUT', own, { access: 'MANAGE' }), 403, 'forbidden')

    ok(await patient.call('PUT', own, { access: 'MANAGE' }))
    ok(await nurse.call('POST', `${planPath()}/goal`, goal), 201)
    await classesFor(nurse).put('CarePlan', planId, { name: 'Other' }).expect(200)
    const added = ok(await nurse.call('POST', path(), body), 201).participationId
    ok(await colleague.call('GET', planPath()))
    ok(await nurse.call('PUT', `${path()}/${added}`, { access: 'WRITE' }))
    ok(await nurse.call('DELETE', `${path()}/${added}`), 204)
    refused(await colleague.call('GET', planPath()), 404, 'not-found')
    refused(await nurse.call('POST', `/ehr/${patient.ehrId}/careplan`, { name: 'x' }), 403, 'forbidden')
    refused(await nurse.call('DELETE', `/med/ehr/${patient.ehrId}`), 403, 'forbidden')

    ok(await nurse.call('PUT', own, { access: 'WRITE' }))
    ok(await nurse.call('POST', `${planPath()}/goal`, goal), 201)
    refused(await nurse.call('POST', path(), body), 403, 'forbidden')
    ok(await patient.call('PUT', own, { access: 'READ' }))
    refused(await nurse.call('POST', `${planPath()}/goal`, goal), 403, 'forbidden')
  })

  it('have no access once they are archived, and may be added again', async () => {
    const { participationId } = await add(nurse, { access: 'WRITE' })
    ok(await nurse.call('GET', planPath()))
    await classesFor(nurse).get('CarePlan', planId).expect(200)
    ok(await patient.call('DELETE', `${path()}/${participationId}`), 204)
    refused(await nurse.call('GET', planPath()), 404, 'not-found')
    assert.equal((await classesFor(nurse).get('CarePlan', planId)).status, 404)
    assert.equal(ok(await patient.call('GET', path())).items.length, 1)
    await add(nurse)
    ok(await nurse.call('GET', planPath()))
    assert.equal(ok(await patient.call('GET', `${path()}?count=true`)).page.total, 2)
  })

  it('have access from the start to the end of their participation', async () => {
    const { participationId } = await add(nurse, { start: at(2500) })
    refused(await nurse.call('GET', planPath()), 404, 'not-found')
    await until(async () => (await nurse.call('GET', planPath())).status === 200)
    await classesFor(nurse).get('CarePlan', planId).expect(200)
    ok(await patient.call('PUT', `${path()}/${participationId}`, { access: 'READ', end: at(1000) }))
    await until(async () => (await nurse.call('GET', planPath())).status === 404)
    assert.equal((await classesFor(nurse).get('CarePlan', planId)).status, 404)
    const kept = ok(await patient.call('GET', `${path()}/${participationId}`))
    assert.deepEqual([kept.status, kept.version], ['ACTIVE', 2])
    ok(await patient.call('PUT', `${path()}/${participationId}`, { access: 'READ' }))
    ok(await nurse.call('GET', planPath()))
    ok(
      await patient.call('PUT', `${path()}/${participationId}`, {
        access: 'READ',
        end: at(-1000),
        start: at(-9000),
      }),
    )
    refused(await nurse.call('GET', planPath()), 404, 'not-found')
  })

  it('get a mail in their language that tells nothing about the patient', async () => {
    const colleague = await newPerson()
    ok(await colleague.call('PUT', `/auth/account/${colleague.mvUid}`, { language: 'nl-BE' }))
    await add(colleague, { role: 'Secret role' })
    const mail = await mailAbout(colleague.email, /zorgplan/)
    assert.doesNotMatch(mail.text ?? '', /Secret|blood pressure/i)
    assert.ok(!mail.text?.includes(patient.email) && !mail.text?.includes(patient.ehrId))
  })

  it('are users other than the subject, each once, in an order of time', async () => {
    const codes = async (body: object) =>
      refused(await patient.call('POST', path(), { access: 'READ', ...body }), 422, 'rule-violated')
    assert.deepEqual(await codes({ mvUid: patient.mvUid }), ['subject'])
    const backwards = { start: at(2000), end: at(1000) }
    assert.deepEqual(await codes({ mvUid: 'nobody1234', ...backwards }), ['order', 'user'])
    assert.deepEqual(await codes({ mvUid: nurse.mvUid, ...backwards }), ['order'])
    assert.deepEqual(await codes({ mvUid: patient.mvUid, ...backwards }), ['order', 'subject'])
    const { participationId } = await add(nurse)
    assert.deepEqual(await codes({ mvUid: nurse.mvUid }), ['twice'])
    const wrong = await patient.call('PUT', `${path()}/${participationId}`, {
      access: 'READ',
      end: at(-60_000),
    })
    assert.deepEqual(refused(wrong, 422, 'rule-violated'), ['order'])
    refused(await patient.call('POST', path(), { mvUid: { $ne: '' }, access: 'ALL' }), 400, 'invalid-input')
    ok(await patient.call('GET', planPath()))
  })

  it('take part by one participation at a time, also when an old one is changed', async () => {
    const old = await add(nurse, { start: at(-2000), end: at(-1000) })
    const { participationId } = await add(nurse)
    const change = (id: string, body: object) =>
      patient.call('PUT', `${path()}/${id}`, { access: 'WRITE', ...body })
    const answer = await change(old.participationId, { end: null, mvUid: 'other' })
    assert.deepEqual(refused(answer, 422, 'rule-violated'), ['fixed', 'twice'])
    assert.deepEqual(placesIn(answer), ['body.mvUid', 'body.mvUid'])
    ok(await change(old.participationId, { end: at(-500) }))
    ok(await patient.call('DELETE', `${path()}/${participationId}`), 204)
    refused(await nurse.call('GET', planPath()), 404, 'not-found')
    ok(await change(old.participationId, { end: null }))
    ok(await nurse.call('GET', planPath()))
  })

  it('are added once by two that do so at the same instant', async () => {
    const body = { mvUid: nurse.mvUid, access: 'READ' }
    const answers = await Promise.all([1, 2, 3].map(() => patient.call('POST', path(), body)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422, 422])
    const key = { 'idempotency-key': crypto.randomUUID() }
    const other = { mvUid: (await newPerson()).mvUid, access: 'READ' }
    const first = await patient.call('POST', path(), other, key)
    assert.deepEqual((await patient.call('POST', path(), other, key)).body, ok(first, 201))
  })

  it('are archived by forty at once, all of whom are answered', async () => {
    const { participationId } = await add(nurse)
    const all = Array.from({ length: 40 }, () => patient.call('DELETE', `${path()}/${participationId}`))
    for (const answer of await Promise.all(all)) ok(answer, 204)
  })

  it('are not told about to strangers, nor whether a user exists', async () => {
    const { participationId } = await add(nurse)
    const stranger = await newPatient()
    const admin = await newAdmin()
    for (const person of [stranger, admin]) {
      for (const mvUid of [nurse.mvUid, 'nobody1234']) {
        refused(await person.call('POST', path(), { mvUid, access: 'READ' }), 404, 'not-found')
      }
      refused(await person.call('GET', path()), 404, 'not-found')
      refused(await person.call('DELETE', `${path()}/${participationId}`), 404, 'not-found')
    }
    const elsewhere = `/ehr/${stranger.ehrId}/careplan/${await newPlan(stranger)}/participant`
    refused(await patient.call('GET', `${elsewhere}/${participationId}`), 404, 'not-found')
    refused(await stranger.call('GET', `${elsewhere}/${participationId}`), 404, 'not-found')
    const otherPlan = await newPlan(patient)
    refused(await patient.call('GET', `${path(otherPlan)}/${participationId}`), 404, 'not-found')
    assert.equal((await call('GET', path())).status, 401)
  })

  it('go with their plan', async () => {
    await add(nurse)
    await classesFor(patient).delete('CarePlan', planId).expect(200)
    const { db } = service
    assert.equal(await db.collection('plan.participants').countDocuments({ carePlanId: planId }), 0)
    const rows = { owningId: `plan-${planId}-read` }
    assert.equal(await db.collection('_Join:users:_Role').countDocuments(rows as object), 0)
  })
})
