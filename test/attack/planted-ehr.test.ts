import assert from 'node:assert/strict'
import { newId } from '../../records/store/documents/ids.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { assertError, createClassClient } from '../harness/clients/class-client.ts'
import { type Answer, assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'

/**
 * Creates an EHR about the victim in their name, to appear in their lists and to read their entries in it.
 */
describe('attack: an EHR planted on a victim', () => {
  let victim: Patient
  let planter: Person
  /** The planted EHRs: one by each family, with a plan in each. */
  const planted: { ehrId: string; carePlanId: string }[] = []
  before(async () => {
    ;[victim, planter] = await Promise.all([createPatient(), createPerson()])
    const byPath = assertStatus(await planter.call('POST', '/ehr', { subjectId: victim.mvUid }), 201).id
    const { body } = await createClassClient(planter).post('Ehr', { subjectId: victim.mvUid }).expect(201)
    for (const ehrId of [byPath, body.objectId]) {
      const plan = await planter.call('POST', `/ehr/${ehrId}/careplan`, { name: 'Bait' })
      planted.push({ ehrId, carePlanId: assertStatus(plan, 201).id })
    }
  })

  it('appears in no list of the victim except the one of pending EHRs, and hides nothing of theirs', async () => {
    for (const path of ['/ehr', '/med/ehr'])
      assert.deepEqual(
        assertStatus(await victim.call('GET', path)).items.map(({ id }: { id: string }) => id),
        [victim.ehrId],
      )
    const { body } = await createClassClient(victim).list('Ehr').expect(200)
    assert.deepEqual(
      body.results.map(({ objectId }: { objectId: string }) => objectId),
      [victim.ehrId],
    )
    const page = await request()
      .get('/ehr/audit?own=true')
      .set('Authorization', `Bearer ${victim.authToken}`)
      .expect(200)
    assert.ok(page.text.includes(victim.ehrId))
    for (const { ehrId } of planted) assert.ok(!page.text.includes(ehrId))
    const pending = assertStatus(await victim.call('GET', '/ehr/pending')).items
    assert.deepEqual(
      pending.map(({ id }: { id: string }) => id).sort(),
      planted.map(({ ehrId }) => ehrId).sort(),
    )
    for (const one of pending) assert.deepEqual([one.creatorId, one.pending], [planter.mvUid, true])
  })

  it('can be neither read nor written by the victim until they agree', async () => {
    for (const { ehrId, carePlanId } of planted) {
      assertProblem(await victim.call('GET', `/ehr/${ehrId}/careplan`), 404, 'not-found')
      assertProblem(await victim.call('POST', `/ehr/${ehrId}/careplan`, { name: 'x' }), 404, 'not-found')
      assertProblem(await victim.call('GET', `/med/${ehrId}/careplan/${carePlanId}`), 404, 'not-found')
      assertProblem(await victim.call('GET', `/ehr/${ehrId}/audit`), 404, 'not-found')
      assertError(await createClassClient(victim).get('CarePlan', carePlanId), 101)
      assertError(await createClassClient(victim).post('CarePlan', { ehrId, name: 'x' }), 101)
      assert.deepEqual(
        (await createClassClient(victim).list('CarePlan', { ehrId }).expect(200)).body.results,
        [],
      )
    }
  })

  it("shows the attacker nothing of the victim's data", async () => {
    const planId = await createPlan(victim)
    assertProblem(await planter.call('GET', `/ehr/${victim.ehrId}/careplan/${planId}`), 404, 'not-found')
    assertError(await createClassClient(planter).get('CarePlan', planId), 101)
  })

  it('admits no accomplice, neither as a participant nor by agreeing for the victim', async () => {
    const accomplice = await createPerson()
    for (const { ehrId, carePlanId } of planted) {
      const participant = { mvUid: accomplice.mvUid, access: 'MANAGE' }
      const added = await planter.call(
        'POST',
        `/ehr/${ehrId}/careplan/${carePlanId}/participant`,
        participant,
      )
      assert.deepEqual(assertProblem(added, 422, 'rule-violated'), ['pending'])
      assertProblem(await planter.call('POST', `/ehr/${ehrId}/accept`), 403, 'forbidden')
      assertProblem(await accomplice.call('POST', `/ehr/${ehrId}/accept`), 404, 'not-found')
      assertProblem(await accomplice.call('DELETE', `/med/ehr/${ehrId}`), 404, 'not-found')
      assert.deepEqual(assertStatus(await accomplice.call('GET', '/ehr/pending')).items, [])
      for (const change of [{ pending: false }, { creatorId: accomplice.mvUid }])
        assertError(await createClassClient(planter).put('Ehr', ehrId, change), 142)
    }
    const body = { subjectId: victim.mvUid, pending: false }
    assertError(await createClassClient(planter).post('Ehr', body), 142, /pending/)
    assertProblem(await planter.call('POST', '/ehr', body), 400, 'invalid-input')
  })

  it('reveals to nobody if an id belongs to a user', async () => {
    const shapeOf = ({ status, body }: Answer) => [status, { ...body, id: '', subjectId: '', createdAt: '' }]
    const user = victim.mvUid
    const nobody = newId()
    const one = await planter.call('POST', '/ehr', { subjectId: user })
    const other = await planter.call('POST', '/ehr', { subjectId: nobody })
    assert.deepEqual(shapeOf(one), shapeOf(other))
    for (const { body } of [one, other]) {
      const plan = assertStatus(await planter.call('POST', `/ehr/${body.id}/careplan`, { name: 'x' }), 201).id
      const participant = { mvUid: victim.mvUid, access: 'READ' }
      const added = await planter.call('POST', `/ehr/${body.id}/careplan/${plan}/participant`, participant)
      assert.ok(assertProblem(added, 422, 'rule-violated').includes('pending'))
    }
  })
})
