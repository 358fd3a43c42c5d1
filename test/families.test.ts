import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import {
  agree,
  byClass,
  createByClass,
  createByPath,
  differing,
  expectedOf,
  type Json,
  KIND_NAMES,
  kinds,
  newPlace,
  type Place,
  pathOf,
  readByPath,
  tellsVersion,
} from './family-kinds.ts'
import { createPatient, createPlan, type Patient } from './harness/care/patients.ts'
import { assertError, parseDate } from './harness/clients/class-client.ts'
import { assertProblem, assertStatus } from './harness/clients/path-client.ts'
import { service } from './harness/service/service.ts'

describe('both families', () => {
  let patient: Patient
  let place: Place
  let stranger: Patient
  before(async () => {
    ;[{ patient, place }, stranger] = await Promise.all([newPlace(), createPatient()])
  })

  const changesOf = (name: string, ehrId: string, id: string): Promise<Document[]> => {
    const ofRecord = { _id: { $regex: `^${ehrId}/${name}/${id}/` } as never }
    return service.db.collection('history.changes').find(ofRecord).sort({ _id: 1 }).toArray()
  }

  /** The history of a record: user, version and action of each change. */
  const historyOf = async (name: string, ehrId: string, id: string): Promise<unknown[]> =>
    (await changesOf(name, ehrId, id)).map(
      ({ version, action, application }) => `${version} ${action} ${application}`,
    )

  for (const name of KIND_NAMES) {
    const { change, history } = kinds[name]
    const expectedVersion = (version: number) => (tellsVersion(name) ? version : kinds[name].body.version)
    const ehrOf = (id: string) => (name === 'Ehr' ? id : place.ehrId)

    describe(`share the ${name}, which`, () => {
      it('is read as the path family created it', async () => {
        const created = await createByPath(patient, name, place)
        const id = String(created.id)
        const { body } = await byClass(patient).get(name, id).expect(200)
        agree(name, created, body)
        agree(name, (await readByPath(patient, name, place, id)).resource, body)
        const expected: Json = { ...kinds[name].object(place), ...differing(id), version: 1 }
        for (const [field, value] of Object.entries(expected)) assert.deepEqual(body[field], value, field)
        assertError(await byClass(stranger).get(name, id), 101)
      })

      it('is read as the class family created it', async () => {
        const object = await createByClass(patient, name, place)
        const id = String(object.objectId)
        const { resource } = await readByPath(patient, name, place, id)
        agree(name, resource, object)
        const expected: Json = { ...expectedOf(name, id), version: expectedVersion(1) }
        for (const [field, value] of Object.entries(expected))
          assert.deepEqual(resource?.[field], value, field)
        assert.equal((await readByPath(stranger, name, place, id)).resource, undefined)
      })

      if (change)
        it('is updated in turn: neither overwrites versions that it has not seen', async () => {
          const id = String((await createByPath(patient, name, place)).id)
          const { put, get } = byClass(patient)
          const stale = (await get(name, id).expect(200)).body
          const read = await readByPath(patient, name, place, id)
          const { body } = await put(name, id, change).expect(200)
          assert.equal(body.version, 2)
          const { resource, etag } = await readByPath(patient, name, place, id)
          agree(name, resource, body)
          const replace = (ifMatch: string) =>
            patient.call('PUT', pathOf(name, place, id), expectedOf(name, id), { 'if-match': ifMatch })
          const outdated = await replace(read.etag ?? '"1"')
          assertProblem(outdated, 412, 'precondition-failed')
          assert.equal(outdated.etag, '"2"')
          agree(name, assertStatus(await replace(etag ?? '"2"')), (await get(name, id).expect(200)).body)
          assertError(await put(name, id, { ...stale, ...change }), 142, /version cannot be changed/)
          const { body: now } = await get(name, id).expect(200)
          assert.equal(now.version, 3)
          await put(name, id, { ...now, ...change }).expect(200)
          const after = await readByPath(patient, name, place, id)
          assert.equal(after.resource?.version, expectedVersion(4))
          if (etag !== undefined) {
            const unless = (value = '') =>
              patient.call('GET', pathOf(name, place, id), undefined, { 'if-none-match': value })
            assert.deepEqual([(await unless(etag)).status, (await unless(after.etag)).status], [200, 304])
          }
        })

      if (change)
        it('is changed concurrently, with each change in its history', async () => {
          const id = String((await createByPath(patient, name, place)).id)
          // A change to the same value makes no version.
          const changeTo = (value: string) =>
            Object.fromEntries(Object.keys(change).map((field) => [field, value]))
          const writers = Array.from({ length: 4 }, (_, i) => [
            byClass(patient)
              .put(name, id, changeTo(`changed ${i}`))
              .expect(200),
            patient
              .call('PUT', pathOf(name, place, id), expectedOf(name, id))
              .then((answer) => assertStatus(answer)),
          ])
          await Promise.all(writers.flat())
          const rows = await changesOf(name, ehrOf(id), id)
          assert.deepEqual(
            rows.map(({ version, before }) => [version, before?.version ?? 0]),
            Array.from({ length: 9 }, (_, i) => [i + 1, i]),
          )
        })

      it('has one history', async () => {
        const byPath = String((await createByPath(patient, name, place)).id)
        const object = String((await createByClass(patient, name, place)).objectId)
        for (const id of [byPath, object])
          await byClass(patient)
            .put(name, id, change ?? { version: 1 })
            .expect(200)
        const changes = change ? ['2 update class family', '3 update path family'] : []
        for (const [id, family] of [
          [byPath, 'path family'],
          [object, 'class family'],
        ] as const) {
          if (change) assertStatus(await patient.call('PUT', pathOf(name, place, id), expectedOf(name, id)))
          assert.deepEqual(await historyOf(name, ehrOf(id), id), [`1 create ${family}`, ...changes])
          if (!history) continue
          const { items } = assertStatus(await patient.call('GET', `${pathOf(name, place, id)}/history`))
          assert.deepEqual(
            items.map(({ version, changed, before }: Json) => [version, changed, (before as Json)?.version]),
            [
              [3, Object.keys(change ?? {}), expectedVersion(2)],
              [2, Object.keys(change ?? {}), expectedVersion(1)],
              [1, [], undefined],
            ],
          )
        }
      })
    })
  }

  it('keep the time of day that only one of them shows', async () => {
    const object = { name: 'x', ehrId: patient.ehrId, actualStartDate: parseDate('2026-01-02T15:04:05.678Z') }
    const { objectId } = (await byClass(patient).post('CarePlan', object).expect(201)).body
    const plan = assertStatus(await patient.call('GET', `careplan/${objectId}`))
    assert.equal(plan.actualStartDate, '2026-01-02')
    const body = { name: 'y', actualStartDate: plan.actualStartDate }
    assertStatus(await patient.call('PUT', `careplan/${objectId}`, body))
    const after = (await byClass(patient).get('CarePlan', objectId).expect(200)).body
    assert.deepEqual([after.name, after.actualStartDate], ['y', object.actualStartDate])
  })

  it('write into an EHR that the other one created', async () => {
    const { id } = await createByPath(patient, 'Ehr', place)
    await byClass(patient).post('CarePlan', { ehrId: id, name: 'x' }).expect(201)
    const { objectId } = await createByClass(patient, 'Ehr', place)
    assertStatus(await patient.call('POST', `/ehr/${objectId}/careplan`, { name: 'x' }), 201)
  })

  it('obey the same rules', async () => {
    const closed = await createPlan(patient)
    assertStatus(await patient.call('POST', `careplan/${closed}/close`, {}))
    const goal = { ehrId: patient.ehrId, carePlanId: closed, name: 'x' }
    assertError(await byClass(patient).post('Goal', goal), 142, 'carePlanId must not be a closed care plan')
    assertProblem(await patient.call('POST', `careplan/${closed}/goal`, { name: 'x' }), 422, 'rule-violated')
    const plan = await createPlan(patient, { language: 'en' })
    assertError(
      await byClass(patient).put('CarePlan', plan, { language: 'nl' }),
      142,
      'language cannot be changed',
    )
    assertProblem(
      await patient.call('PUT', `careplan/${plan}`, { name: 'x', language: 'nl' }),
      422,
      'rule-violated',
    )
  })

  it('change the ETag of a plan when the class family changes a goal of it', async () => {
    const look = async () => (await patient.call('GET', `careplan/${place.carePlanId}`)).etag
    const before = await look()
    await byClass(patient).put('Goal', place.goalId, { notes: 'by class' }).expect(200)
    assert.notEqual(await look(), before)
  })
})
