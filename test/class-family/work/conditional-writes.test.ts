import assert from 'node:assert/strict'
import { createGoal, createPatient, type Patient } from '../../harness/care/patients.ts'
import { createExampleChange, exampleObject, parentIdsOf } from '../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { assertError, createClassClient } from '../../harness/clients/class-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { request } from '../../harness/service/service.ts'

const CHANGED = 'The object has changed since it was read. Read it again and retry.'

describe('versions of objects in the class family', () => {
  let patient: Patient
  let plan: string

  before(async () => {
    patient = await createPatient()
  })
  beforeEach(async () => {
    plan = assertStatus(await patient.call('POST', 'careplan', { name: 'first' }), 201).id
  })

  it('are ETags in responses to POST, GET and PUT, as in the path family', async () => {
    const { post, get, put } = createClassClient(patient)
    const created = await post('CarePlan', { ehrId: patient.ehrId, name: 'x' })
      .expect(201)
      .expect('ETag', '"1"')
    const { objectId } = created.body
    await put('CarePlan', objectId, { name: 'y' }).expect(200).expect('ETag', '"2"')
    await get('CarePlan', objectId).expect(200).expect('ETag', '"2"')
    await get('CarePlan', objectId).set('If-None-Match', '"2"').expect(304)
    const { etag } = await patient.call('GET', `careplan/${objectId}`)
    await put('CarePlan', objectId, { name: 'z' }).set('If-Match', etag).expect(200).expect('ETag', '"3"')
    await get('CarePlan', objectId).set('If-None-Match', '"2"').expect(200)
  })

  it('are readable for pages of other origins', async () => {
    const { headers } = await createClassClient(patient).get('CarePlan', plan)
    assert.match(String(headers['access-control-expose-headers']), /\bETag\b/)
    const preflight = await request().options(`/1/classes/CarePlan/${plan}`)
    assert.match(String(preflight.headers['access-control-allow-headers']), /\bIf-Match\b/)
  })

  it('protect an object from changes by those who have not seen them', async () => {
    const { get, put, delete: remove } = createClassClient(patient)
    const { ACL: _, ...stale } = (await get('CarePlan', plan).expect(200)).body
    assertStatus(await patient.call('PUT', `careplan/${plan}`, { name: 'second' }))
    const staleRequests = [
      put('CarePlan', plan, { name: 'third' }).set('If-Match', '"1"'),
      // The whole object repeats the former version.
      put('CarePlan', plan, { ...stale, name: 'third' }).set('If-Match', '"1"'),
      put('CarePlan', plan, { name: 'third' }).set('If-Match', 'W/"2"'),
      put('CarePlan', plan, { name: 'third' }).set('If-Match', '"3", "x"'),
      remove('CarePlan', plan).set('If-Match', '"1"'),
    ]
    for (const answer of await Promise.all(staleRequests)) {
      assert.deepEqual(
        [answer.status, answer.body, answer.headers.etag],
        [412, { code: 412, error: CHANGED }, '"2"'],
      )
    }
    await put('CarePlan', plan, { name: 'third' }).set('If-Match', '"7", "2"').expect(200)
    await remove('CarePlan', plan).set('If-Match', '"3"').expect(200)
    await get('CarePlan', plan).expect(404)
  })

  it('let one of several concurrent updates of a version succeed', async () => {
    const { put } = createClassClient(patient)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        put('CarePlan', plan, { name: `name ${i}` }).set('If-Match', '"1"'),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(412)])
  })

  it('are compared for an EHR, too', async () => {
    const { put, delete: remove } = createClassClient(patient)
    assert.equal((await remove('Ehr', patient.ehrId).set('If-Match', '"9"')).status, 412)
    assert.equal((await put('Ehr', patient.ehrId, { version: 1 }).set('If-Match', '"9"')).status, 412)
  })

  it('are none that * names, for any class', async () => {
    const { post, put, get, delete: remove } = createClassClient(patient)
    const place = { ehrId: patient.ehrId, carePlanId: plan, goalId: await createGoal(patient, plan) }
    for (const name of SAMPLED_KINDS) {
      const { objectId } = (
        await post(name, { ...parentIdsOf(name, place), ...exampleObject(name) }).expect(201)
      ).body
      const { body: before } = await get(name, objectId)
      for (const answer of [
        await put(name, objectId, { ...createExampleChange(name) }).set('If-Match', '*'),
        await remove(name, objectId).set('If-Match', '*'),
      ])
        assert.deepEqual([answer.status, answer.body.code], [428, 107], name)
      assert.deepEqual((await get(name, objectId)).body, before)
    }
  })

  it('tell a stranger nothing', async () => {
    const stranger = createClassClient(await createPerson())
    const answers = [
      stranger.put('CarePlan', plan, { name: 'x' }).set('If-Match', '"9"'),
      stranger.delete('CarePlan', plan).set('If-Match', '"9"'),
    ]
    for (const answer of await Promise.all(answers)) {
      assertError(answer, 101)
      assert.notEqual(answer.headers.etag, '"1"')
    }
  })

  it('are refused where no object has one: in a batch, at creation, for accounts, and as other texts', async () => {
    const { put, post, batch } = createClassClient(patient)
    const update = { method: 'PUT', path: `/1/classes/CarePlan/${plan}`, body: { name: 'x' } }
    const ownUpdate = request().put(`/1/users/${patient.mvUid}`).set(patient.headers).send({ language: 'nl' })
    const answers = [
      batch([update]).set('If-Match', '"1"'),
      post('CarePlan', { ehrId: patient.ehrId, name: 'x' }).set('If-Match', '"1"'),
      ownUpdate.set('If-Match', '"1"'),
    ]
    for (const answer of await Promise.all(answers)) assertError(answer, 107, /^If-Match is available for/)
    assertError(await put('CarePlan', plan, { name: 'x' }).set('If-Match', '1'), 107, /If-Match must be/)
    assertError(await batch([{ ...update, headers: { 'If-Match': '"1"' } }]), 107, /no property "headers"/)
    assert.equal((await createClassClient(patient).get('CarePlan', plan)).body.version, 1)
  })
})
