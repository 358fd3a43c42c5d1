import assert from 'node:assert/strict'
import { newId } from '../../records/store/documents/ids.ts'
import { newPatient, newPlan, type Patient } from '../harness/care/patients.ts'
import { assertError, classesOf } from '../harness/clients/class-client.ts'
import { type Answer, ok, refused } from '../harness/clients/path-client.ts'
import { newPerson, type Person } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'

/** Makes an EHR about somebody in their name: to be found in their lists, and to read what they write in it. */
describe('attack: an EHR planted on somebody', () => {
  let victim: Patient
  let planter: Person
  /** The EHRs planted, one by each family, with a plan in each. */
  const planted: { ehrId: string; carePlanId: string }[] = []
  before(async () => {
    ;[victim, planter] = await Promise.all([newPatient(), newPerson()])
    const byPath = ok(await planter.call('POST', '/ehr', { subjectId: victim.mvUid }), 201).id
    const { body } = await classesOf(planter).post('Ehr', { subjectId: victim.mvUid }).expect(201)
    for (const ehrId of [byPath, body.objectId]) {
      const plan = await planter.call('POST', `/ehr/${ehrId}/careplan`, { name: 'Bait' })
      planted.push({ ehrId, carePlanId: ok(plan, 201).id })
    }
  })

  it('is in none of their lists but the one of what waits for them, and hides nothing of their own', async () => {
    for (const path of ['/ehr', '/med/ehr'])
      assert.deepEqual(
        ok(await victim.call('GET', path)).items.map(({ id }: { id: string }) => id),
        [victim.ehrId],
      )
    const { body } = await classesOf(victim).list('Ehr').expect(200)
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
    const pending = ok(await victim.call('GET', '/ehr/pending')).items
    assert.deepEqual(
      pending.map(({ id }: { id: string }) => id).sort(),
      planted.map(({ ehrId }) => ehrId).sort(),
    )
    for (const one of pending) assert.deepEqual([one.creatorId, one.pending], [planter.mvUid, true])
  })

  it('lets them neither read nor write what is in it, unless they agree', async () => {
    for (const { ehrId, carePlanId } of planted) {
      refused(await victim.call('GET', `/ehr/${ehrId}/careplan`), 404, 'not-found')
      refused(await victim.call('POST', `/ehr/${ehrId}/careplan`, { name: 'x' }), 404, 'not-found')
      refused(await victim.call('GET', `/med/${ehrId}/careplan/${carePlanId}`), 404, 'not-found')
      refused(await victim.call('GET', `/ehr/${ehrId}/audit`), 404, 'not-found')
      assertError(await classesOf(victim).get('CarePlan', carePlanId), 101)
      assertError(await classesOf(victim).post('CarePlan', { ehrId, name: 'x' }), 101)
      assert.deepEqual((await classesOf(victim).list('CarePlan', { ehrId }).expect(200)).body.results, [])
    }
  })

  it('shows the planter nothing of what they have', async () => {
    const planId = await newPlan(victim)
    refused(await planter.call('GET', `/ehr/${victim.ehrId}/careplan/${planId}`), 404, 'not-found')
    assertError(await classesOf(planter).get('CarePlan', planId), 101)
  })

  it('lets no accomplice in, neither by taking part nor by agreeing for them', async () => {
    const accomplice = await newPerson()
    for (const { ehrId, carePlanId } of planted) {
      const participant = { mvUid: accomplice.mvUid, access: 'MANAGE' }
      const added = await planter.call(
        'POST',
        `/ehr/${ehrId}/careplan/${carePlanId}/participant`,
        participant,
      )
      assert.deepEqual(refused(added, 422, 'rule-violated'), ['pending'])
      refused(await planter.call('POST', `/ehr/${ehrId}/accept`), 403, 'forbidden')
      refused(await accomplice.call('POST', `/ehr/${ehrId}/accept`), 404, 'not-found')
      refused(await accomplice.call('DELETE', `/med/ehr/${ehrId}`), 404, 'not-found')
      assert.deepEqual(ok(await accomplice.call('GET', '/ehr/pending')).items, [])
      for (const change of [{ pending: false }, { creatorId: accomplice.mvUid }])
        assertError(await classesOf(planter).put('Ehr', ehrId, change), 142)
    }
    const named = { subjectId: victim.mvUid, pending: false }
    assertError(await classesOf(planter).post('Ehr', named), 142, /pending/)
    refused(await planter.call('POST', '/ehr', named), 400, 'invalid-input')
  })

  it('tells nobody whether an id is a user’s', async () => {
    const shapeOf = ({ status, body }: Answer) => [status, { ...body, id: '', subjectId: '', createdAt: '' }]
    const [user, nobody] = [victim.mvUid, newId()]
    const [one, other] = [
      await planter.call('POST', '/ehr', { subjectId: user }),
      await planter.call('POST', '/ehr', { subjectId: nobody }),
    ]
    assert.deepEqual(shapeOf(one), shapeOf(other))
    for (const { body } of [one, other]) {
      const plan = ok(await planter.call('POST', `/ehr/${body.id}/careplan`, { name: 'x' }), 201).id
      const participant = { mvUid: victim.mvUid, access: 'READ' }
      const added = await planter.call('POST', `/ehr/${body.id}/careplan/${plan}/participant`, participant)
      assert.ok(refused(added, 422, 'rule-violated').includes('pending'))
    }
  })
})
