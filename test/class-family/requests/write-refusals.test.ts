import assert from 'node:assert/strict'
import { byClass, createByClass, KIND_NAMES, kinds, newPlace, type Place } from '../../family-kinds.ts'
import type { Patient } from '../../harness/care/patients.ts'
import { assertError, parseDate } from '../../harness/clients/class-client.ts'
import { apiKeys, request } from '../../harness/service/service.ts'

const PUBLIC_ACL = { '*': { read: true, write: true } }

describe('writes that the class family refuses', () => {
  let patient: Patient
  let place: Place
  before(async () => {
    ;({ patient, place } = await newPlace())
  })
  const headers = () => ({ ...apiKeys(), 'X-Parse-Session-Token': patient.sessionToken })

  for (const name of KIND_NAMES)
    it(`contain an ACL of ${name} other than its own, or no body`, async () => {
      const { put, post, get, batch } = byClass(patient)
      const { objectId: id } = (await createByClass(patient, name, place)) as { objectId: string }
      const { body: before } = await get(name, id).expect(200)
      assertError(
        await put(name, id, { ACL: PUBLIC_ACL }),
        142,
        /^ACL must not be set by clients: permissions/,
      )
      assertError(
        await put(name, id, { ACL: { [patient.mvUid]: { read: true } } }),
        142,
        /^ACL must not be set/,
      )
      const created = { ...kinds[name].object(place), ACL: before.ACL }
      assertError(await post(name, created), 142, /^ACL must not be set by clients: permissions/)
      const parts = [
        { method: 'PUT', path: `/1/classes/${name}/${id}`, body: { ACL: PUBLIC_ACL } },
        { method: 'POST', path: `/1/classes/${name}`, body: { ...created, ACL: PUBLIC_ACL } },
      ]
      for (const { error } of (await batch(parts)).body) {
        assert.equal(error.code, 142)
        assert.match(error.error, /^ACL must not be set by clients: permissions/)
      }
      const withoutBody = await put(name, id, undefined as never)
      assertError(withoutBody, 107, /^The body must be a JSON object with the properties/)
      const part = { method: 'PUT', path: `/1/classes/${name}/${id}` }
      assert.deepEqual((await batch([part])).body, [{ error: withoutBody.body }])
      assert.deepEqual((await get(name, id)).body, before)
    })

  it('are not those of an object that is sent back whole', async () => {
    const { put, get } = byClass(patient)
    const { objectId: id } = (await createByClass(patient, 'Goal', place)) as { objectId: string }
    const { body: before } = await get('Goal', id)
    await put('Goal', id, { ...before, notes: 'changed' }).expect(200)
    const { body } = await get('Goal', id)
    const { notes, version, updatedAt, ...rest } = body
    const { notes: _, version: former, updatedAt: __, ...same } = before
    assert.deepEqual([notes, version, rest], ['changed', former + 1, same])
  })

  it('contain the ACL of an account, a malformed one, or times of a new object', async () => {
    const { put, post } = byClass(patient)
    const ownRefusal = 'ACL must not be set by clients.'
    assertError(await put('_User', patient.mvUid, { ACL: PUBLIC_ACL }), 123, ownRefusal)
    for (const ACL of [null, 5, [], { x: 1 }, { x: { write: 1 } }, { __op: 'Delete' }])
      assertError(await put('Ehr', place.ehrId, { ACL }), 123, /^ACL must have the form \{/)
    const goal = { ...kinds.Goal.object(place), createdAt: '2026-01-01T00:00:00.000Z' }
    assertError(await post('Goal', goal), 142, 'createdAt must not be set by clients')
  })

  it('change the times of an object', async () => {
    const { put, get } = byClass(patient)
    const { objectId: id } = (await createByClass(patient, 'Goal', place)) as { objectId: string }
    const { body: before } = await get('Goal', id)
    const past = '2020-01-01T00:00:00.000Z'
    const times = [past, parseDate(past), 'x', null, { __op: 'Delete' }]
    for (const time of times)
      assertError(
        await put('Goal', id, { createdAt: time, updatedAt: time, notes: 'changed' }),
        142,
        'createdAt cannot be changed; updatedAt cannot be changed',
      )
    assert.deepEqual((await get('Goal', id)).body, before)
    const { createdAt } = before
    await put('Goal', id, { createdAt: parseDate(createdAt), notes: 'changed' }).expect(200)
  })

  it('change the times or the id of an account', async () => {
    const { put, get } = byClass(patient)
    const { body: before } = await get('_User', patient.mvUid)
    for (const time of ['2020-01-01T00:00:00.000Z', 'x', null, { __op: 'Delete' }])
      assertError(
        await put('_User', patient.mvUid, { createdAt: time, updatedAt: time, name: 'changed' }),
        142,
        'createdAt cannot be changed; updatedAt cannot be changed',
      )
    const other = { objectId: 'another', name: 'changed' }
    assertError(await put('_User', patient.mvUid, other), 142, 'objectId cannot be changed')
    assert.deepEqual((await get('_User', patient.mvUid)).body, before)
    const { objectId, createdAt, updatedAt } = before
    const same = { objectId, createdAt: parseDate(createdAt), updatedAt, name: 'changed' }
    await put('_User', patient.mvUid, same).expect(200)
  })

  it('have no body for an account', async () => {
    for (const path of ['users', 'classes/_User']) {
      const answer = await request().put(`/1/${path}/${patient.mvUid}`).set(headers())
      assertError(answer, 107, /^The body must be a JSON object with the properties/)
    }
  })

  it('contain unknown properties or parameters', async () => {
    const send = (path: string, body: object) => request().post(path).set(headers()).send(body)
    assertError(await send('/1/classes/Goal?nmae=1', {}), 102, 'This request has no parameter "nmae".')
    assertError(await send('/1/batch?nmae=1', { requests: [] }), 102, 'This request has no parameter "nmae".')
    assertError(await send('/1/batch', { requests: [], nmae: 1 }), 107, 'A batch has no property "nmae".')
    const part = { method: 'GET', path: '/1/classes/Goal', nmae: 1 }
    assertError(
      await send('/1/batch', { requests: [part] }),
      107,
      'Request 1 of the batch has no property "nmae".',
    )
    const { email } = patient
    for (const [path, body] of [
      ['/1/requestPasswordReset', { email, nmae: 1 }],
      ['/1/verificationEmailRequest', { email, nmae: 1 }],
    ] as const)
      assertError(await send(path, body), 142, 'nmae is not a known property')
  })
})
