import assert from 'node:assert/strict'
import type { TObject } from '@sinclair/typebox'
import sharp from 'sharp'
import { exampleOf } from '../../../../path-api/documentation/example.ts'
import { type Operation, pathParameterNames } from '../../../../path-api/operation/operation.ts'
import { operationTable } from '../../../../path-api/operation-table.ts'
import { FormBody, RawBody } from '../../../../path-api/reply/body-media.ts'
import { CLASS_NAMES, classKindOf, isClassName } from '../../../../records/kinds.ts'
import { byClass } from '../../../family-kinds.ts'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../../harness/care/patients.ts'
import { exampleObject, parentIdsOf, withOtherKey } from '../../../harness/care/samples/examples.ts'
import { isSampled } from '../../../harness/care/samples/kinds-of-each-shape.ts'
import { assertError } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import { waitForMailAbout } from '../../../harness/mail/mail.ts'
import { createPerson, nameProfile, type Person } from '../../../harness/people/people.ts'
import { beforeFirstCommand } from '../../../harness/service/database-commands.ts'
import { bySize } from '../../../harness/test-size.ts'

type Ids = Record<string, string>
type Body = Record<string, unknown>

const NAME = 'Zebedee Quillfeather'

const operations = operationTable
  .filter(({ path, access }) => /^\/(ehr|med|profile|data|chat)\b/.test(path) && access !== 'public')
  .filter(isSampled)
  // This operation ends the session.
  .filter(({ id }) => id !== 'leaveAccesses')
  // Deleted or closed records show nothing, so these operations come last.
  .sort((one, other) => rank(one) - rank(other))

function rank({ method, path }: Operation): number {
  return path.endsWith('/close') ? 4 : ['get', 'post', 'put', 'delete'].indexOf(method)
}

describe('an anonymous care plan', function suite() {
  this.timeout(bySize(30_000, 120_000))
  let patient: Patient
  let nurse: Person
  let picture: Buffer
  const ids: Ids = { guidelineId: 'asthma' }
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const profile = { name: { displayName: NAME } }
    assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, profile))
    const black = sharp({ create: { width: 8, height: 8, channels: 3, background: 'black' } })
    const png = { 'content-type': 'image/png' }
    const path = `/profile/${patient.mvUid}/picture`
    assertStatus(await patient.call('POST', path, await black.png().toBuffer(), png), 201)
    picture = assertStatus(await patient.call('GET', path))
    const careplanId = await createPlan(patient, { anonymous: true })
    const goalId = await createGoal(patient, careplanId)
    const taskId = await createTask(patient, careplanId, goalId)
    const participant = { mvUid: nurse.mvUid, access: 'MANAGE' }
    const { participationId } = assertStatus(
      await patient.call('POST', `careplan/${careplanId}/participant`, participant),
      201,
    )
    Object.assign(ids, { ehrId: patient.ehrId, careplanId, carePlanId: careplanId, ownerId: careplanId })
    Object.assign(ids, { goalId, taskId, participationId, connectionMvUid: patient.mvUid })
  })

  function assertUnnamed(answer: unknown, about: string): void {
    const text = Buffer.isBuffer(answer) ? answer.toString('latin1') : JSON.stringify(answer)
    for (const secret of [
      NAME,
      'Quillfeather',
      patient.email,
      picture.toString('latin1'),
      picture.toString('base64'),
    ])
      assert.ok(!text.includes(secret), `${about}: ${text.slice(0, 500)}`)
  }

  /** The ids for an operation; the patient creates records that do not exist yet. */
  async function idsFor({ kind, path }: Operation): Promise<Ids> {
    const ownId = pathParameterNames(path).find((name) => !(name in ids) && name !== 'mvUid')
    if (ownId === undefined || !isClassName(kind)) return ids
    const object: Body = withOtherKey(kind, { ...parentIdsOf(kind, ids), ...exampleObject(kind) })
    const { objectId } = (await byClass(patient).post(kind, object).expect(201)).body
    return { ...ids, [ownId]: ownId in object ? encodeURIComponent(String(object[ownId])) : objectId }
  }

  function bodyOf({ body, path }: Operation): unknown {
    if (body === undefined || body instanceof RawBody || body instanceof FormBody) return undefined
    const {
      id: _,
      participationId: __,
      substance: ___,
      participants: ____,
      status: _____,
      ...example
    } = exampleOf(body as TObject) as Body
    if ('carePlanId' in example) example.carePlanId = ids.carePlanId
    if ('anonymous' in example) example.anonymous = true
    return path.includes('/network') ? { mvUid: patient.mvUid } : example
  }

  it('names nobody in a history to a participant, and everybody to the subject', async () => {
    const path = `/med/${ids.ehrId}/careplan/${ids.careplanId}/history`
    for (const [who, name] of [
      [nurse, null],
      [patient, NAME],
    ] as const) {
      const [oldest] = assertStatus(await who.call('GET', path)).items.toReversed()
      assert.deepEqual([oldest.userId, oldest.userName], [patient.mvUid, name])
    }
  })

  it('names its subject in no response to a participant', async () => {
    const operationIds = new Set<string>()
    for (const operation of operations)
      for (const mvUid of operation.path.includes('{mvUid}') ? [patient.mvUid, nurse.mvUid] : ['']) {
        // The nurse must keep the account and its picture, since nobody else has them.
        if (mvUid === nurse.mvUid && operation.method === 'delete') continue
        const allIds: Ids = { ...(await idsFor(operation)), mvUid }
        const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => allIds[name] ?? 'x')
        const method = operation.method.toUpperCase()
        const { status, body, headers } = await nurse.call(method, path, bodyOf(operation))
        assert.ok(status < 500, `${operation.id}: ${status}`)
        assertUnnamed([body, [...headers]], operation.id)
        if (Buffer.isBuffer(body)) assertUnnamed(body, operation.id)
        if (status < 300) operationIds.add(operation.id)
      }
    for (const id of ['listEhrs', 'listCarePlans', 'getCarePlan', 'listCarePlanChanges', 'listEvents'])
      assert.ok(operationIds.has(id), id)
    assert.ok(operationIds.size > bySize(40, 70), String(operationIds.size))
  })

  it('names its subject in no object of the class family', async () => {
    const { list, get } = byClass(nurse)
    for (const name of CLASS_NAMES) {
      const { results } = (await list(name, {}).expect(200)).body
      assertUnnamed(results, name)
      if (results[0]) assertUnnamed((await get(name, results[0].objectId).expect(200)).body, name)
    }
    assertError(await get('_User', patient.mvUid), 101)
  })

  it('shows in no ACL who its subject is, and takes back what it shows', async () => {
    const { list, put, batch } = byClass(nurse)
    const assertNobody = ({ ACL, objectId, className }: Body) => {
      const names = Object.keys(ACL as object)
      assert.ok(
        names.every((name) => name.startsWith('role:') || name === nurse.mvUid),
        `${className} ${objectId} ${names}`,
      )
    }
    for (const name of CLASS_NAMES) {
      const { results } = (await list(name, {}).expect(200)).body
      for (const object of results) assertNobody(object)
      if (!results[0] || name === 'Ehr' || classKindOf(name).readOnly) continue
      const { objectId } = results[0]
      assertNobody((await put(name, objectId, results[0]).expect(200)).body)
      const [{ success }] = (
        await batch([{ method: 'PUT', path: `/1/classes/${name}/${objectId}`, body: results[0] }])
      ).body
      assertNobody(success)
    }
    const { body } = await byClass(patient).get('CarePlan', String(ids.careplanId)).expect(200)
    assert.ok(body.ACL[patient.mvUid].write, 'users see their own rights')
  })

  it('names its subject in no mail', async () => {
    const mail = await waitForMailAbout(nurse.email, /care plan/i)
    assertUnnamed([mail.subject, mail.text, mail.html, mail.from], 'mail')
  })

  it('does not show a manager which user is its subject, who keeps all rights', async () => {
    const [other, manager] = await Promise.all([createPerson(), createPerson()])
    const plan = `/ehr/${patient.ehrId}/careplan/${await createPlan(patient, { anonymous: true })}`
    const terms = { mvUid: manager.mvUid, access: 'MANAGE' }
    assertStatus(await patient.call('POST', `${plan}/participant`, terms), 201)
    const add = ({ mvUid }: Person) =>
      manager.call('POST', `${plan}/participant`, { mvUid, access: 'WRITE', role: 'Nurse' })
    const answersAbout = async (person: Person) => {
      const { body: participation, status } = await add(person)
      const rules = { escalation: { afterMinutes: 30, participants: [person.mvUid] } }
      const escalation = await manager.call('PUT', `${plan}/alert-rules`, rules)
      const again = assertProblem(await add(person), 422, 'rule-violated')
      const colleagues = assertStatus(await manager.call('GET', '/worklist/colleague')).items
      const isColleague = colleagues.some(({ mvUid }: { mvUid: string }) => mvUid === person.mvUid)
      const { participationId, mvUid: _, start: __, ...fields } = participation
      const end = await manager.call('DELETE', `${plan}/participant/${participationId}`)
      return { fields, statuses: [status, escalation.status, end.status], again, isColleague }
    }
    assert.deepEqual(await answersAbout(patient), await answersAbout(other))
    assertStatus(await add(patient), 201)
    assert.equal(assertStatus(await patient.call('GET', `/ehr/${patient.ehrId}/patient`)).name, NAME)
    const { name } = assertStatus(await patient.call('GET', plan))
    for (const anonymous of [false, true]) assertStatus(await patient.call('PUT', plan, { name, anonymous }))
  })

  it('does not show the name of its subject as that of a participant of another plan', async () => {
    const own = await createPatient()
    const terms = { mvUid: own.mvUid, access: 'READ' }
    const path = `careplan/${await createPlan(patient, { anonymous: true })}/participant`
    assertStatus(await patient.call('POST', path, terms), 201)
    const ownPath = `careplan/${await createPlan(own)}/participant`
    const namedPerson = await createPerson()
    await nameProfile(namedPerson, 'Ann Smith')
    for (const { mvUid, name } of [
      { mvUid: namedPerson.mvUid, name: 'Ann Smith' },
      { mvUid: patient.mvUid, name: null },
    ]) {
      const participation = assertStatus(await own.call('POST', ownPath, { mvUid, access: 'READ' }), 201)
      const read = assertStatus(await own.call('GET', `${ownPath}/${participation.participationId}`))
      assert.deepEqual([participation.name, read.name], [name, name])
    }
    const { items } = assertStatus(await own.call('GET', ownPath))
    assert.deepEqual(
      items.map((one: { name: string | null }) => one.name),
      ['Ann Smith', null],
    )
  })

  it('does not show the name of its subject as that of a colleague in another plan', async () => {
    const [owner, colleague] = await Promise.all([createPatient(), createPerson()])
    const anonymousPath = `careplan/${await createPlan(patient, { anonymous: true })}/participant`
    const body = { mvUid: colleague.mvUid, access: 'WRITE' }
    assertStatus(await patient.call('POST', anonymousPath, body), 201)
    const path = `/ehr/${owner.ehrId}/careplan/${await createPlan(owner)}/participant`
    assertStatus(await owner.call('POST', path, { ...body, access: 'MANAGE' }), 201)
    assertStatus(await colleague.call('POST', path, { mvUid: patient.mvUid, access: 'WRITE' }), 201)
    const colleagues = await colleague.call('GET', '/worklist/colleague')
    assert.deepEqual(assertStatus(colleagues).items, [
      { mvUid: patient.mvUid, name: null, carePlans: 1, ofCarePlans: 2 },
    ])
  })

  describe('about a person without an account', () => {
    let keeper: Person
    let ehrId: string
    let planId: string
    before(async () => {
      keeper = await createPerson()
      nurse = await createPerson()
      ehrId = assertStatus(await keeper.call('POST', '/ehr', { subjectId: NAME }), 201).id
      planId = assertStatus(
        await keeper.call('POST', `/ehr/${ehrId}/careplan`, { name: 'x', anonymous: true }),
        201,
      ).id
      const body = { mvUid: nurse.mvUid, access: 'WRITE' }
      assertStatus(await keeper.call('POST', `/ehr/${ehrId}/careplan/${planId}/participant`, body), 201)
    })

    const findEhr = async (who: Person) =>
      assertStatus(await who.call('GET', '/ehr')).items.find(({ id }: { id: string }) => id === ehrId)

    it('hides the reference to that person, in either family', async () => {
      assert.deepEqual([(await findEhr(nurse)).subjectId, (await findEhr(keeper)).subjectId], [null, NAME])
      const { list, get } = byClass(nurse)
      assertUnnamed((await list('Ehr', {}).expect(200)).body, 'list')
      const { body } = await get('Ehr', ehrId).expect(200)
      assert.deepEqual([body.objectId, body.subjectId], [ehrId, undefined])
      assert.equal((await byClass(keeper).get('Ehr', ehrId).expect(200)).body.subjectId, NAME)
    })

    it('hides it from requests during which the plan is deleted', async () => {
      const doors: Record<string, (id: string) => PromiseLike<{ status: number; body: unknown }>> = {
        list: () => nurse.call('GET', '/ehr'),
        card: (id) => nurse.call('GET', `/ehr/${id}/patient`),
        'list of objects': () => byClass(nurse).list('Ehr', {}),
        object: (id) => byClass(nurse).get('Ehr', id),
        patient: (id) => nurse.call('GET', `/fhir/R4/Patient/${id}`),
        status: (id) => nurse.call('GET', `/openehr/v1/ehr/${id}/ehr_status`),
      }
      for (const [door, read] of Object.entries(doors)) {
        const { id } = assertStatus(await keeper.call('POST', '/ehr', { subjectId: NAME }), 201)
        const plans = `/ehr/${id}/careplan`
        const plan = assertStatus(await keeper.call('POST', plans, { name: 'x', anonymous: true }), 201)
        const terms = { mvUid: nurse.mvUid, access: 'READ' }
        assertStatus(await keeper.call('POST', `${plans}/${plan.id}/participant`, terms), 201)
        await beforeFirstCommand(
          ({ find, filter }) =>
            find === 'Ehr'
              ? /object/.test(door)
              : find === 'CarePlan' && JSON.stringify(filter).includes(plan.id),
          () => keeper.call('DELETE', `${plans}/${plan.id}`),
          async () => assertUnnamed((await read(id)).body, door),
        )
      }
    })

    it('does not reveal it to queries that guess', async () => {
      const { list } = byClass(nurse)
      const countFound = async (where: Body, more: Body = {}) =>
        (await list('Ehr', where, more).expect(200)).body.results.length
      assert.equal(await countFound({ objectId: ehrId }), 1)
      for (const where of [
        { subjectId: NAME },
        { subjectId: { $regex: '^Zeb' } },
        { $or: [{ objectId: 'none' }, { objectId: ehrId, subjectId: { $gt: 'A' } }] },
        { objectId: ehrId, subjectId: { $ne: 'x' } },
      ])
        assert.equal(await countFound(where), 0, JSON.stringify(where))
      assert.equal(await countFound({ objectId: ehrId }, { order: 'subjectId' }), 0)
      assert.equal(await countFound({ objectId: ehrId }, { distinct: 'subjectId' }), 0)
      const plans = {
        ehrId: { $select: { key: 'objectId', query: { className: 'Ehr', where: { subjectId: NAME } } } },
      }
      assert.deepEqual((await list('CarePlan', plans).expect(200)).body.results, [])
      const byName = { name: { $select: { key: 'subjectId', query: { className: 'Ehr', where: {} } } } }
      await byClass(keeper).put('CarePlan', planId, { name: NAME }).expect(200)
      assert.deepEqual((await list('CarePlan', byName).expect(200)).body.results, [])
      await byClass(keeper).put('CarePlan', planId, { name: 'x' }).expect(200)
    })

    it('is made a named one by writers of the EHR, not by participants', async () => {
      const path = `/ehr/${ehrId}/careplan/${planId}`
      assertStatus(await nurse.call('PUT', path, { name: 'y', anonymous: true }))
      assertProblem(await nurse.call('PUT', path, { name: 'z' }), 422, 'rule-violated')
      assertError(
        await byClass(nurse).put('CarePlan', planId, { anonymous: false }),
        142,
        /^anonymous must stay true/,
      )
      assertError(
        await byClass(nurse).put('CarePlan', planId, { anonymous: null }),
        142,
        /^anonymous must stay true/,
      )
      assertStatus(await keeper.call('PUT', path, { name: 'z' }))
      assert.equal((await findEhr(nurse)).subjectId, NAME)
      assertStatus(await keeper.call('PUT', path, { name: 'z', anonymous: true }))
      const { version } = assertStatus(await keeper.call('GET', path))
      assertProblem(
        await nurse.call('POST', `${path}/restore`, { version: version - 1 }),
        422,
        'rule-violated',
      )
      assert.equal((await findEhr(nurse)).subjectId, null)
    })

    it('does not hide the subject from a participant of a named plan, too', async () => {
      const other = assertStatus(
        await keeper.call('POST', `/ehr/${ehrId}/careplan`, { name: 'named' }),
        201,
      ).id
      const body = { mvUid: nurse.mvUid, access: 'READ' }
      assertStatus(await keeper.call('POST', `/ehr/${ehrId}/careplan/${other}/participant`, body), 201)
      assert.equal((await findEhr(nurse)).subjectId, NAME)
      assert.equal((await byClass(nurse).get('Ehr', ehrId).expect(200)).body.subjectId, NAME)
    })
  })
})
