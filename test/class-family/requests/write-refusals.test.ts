import assert from 'node:assert/strict'
import { byClass, createByClass, KIND_NAMES, kinds, newPlace, type Place } from '../../family-kinds.ts'
import type { Patient } from '../../harness/care/patients.ts'
import { assertError } from '../../harness/clients/class-client.ts'
import { createPerson } from '../../harness/people/people.ts'
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
    it(`an ACL of ${name} other than its own, and a PUT without properties`, async () => {
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
      for (const body of [{}, undefined])
        assertError(
          await put(name, id, body as never),
          107,
          /^The body must be a JSON object with the properties/,
        )
      const [part] = (await batch([{ method: 'PUT', path: `/1/classes/${name}/${id}` }])).body
      assert.equal(part.error.code, 107)
      assert.match(part.error.error, /^The body must be a JSON object with the properties/)
      assert.deepEqual((await get(name, id)).body, before)
    })

  it('accept an object that is sent back whole', async () => {
    const { put, get } = byClass(patient)
    const { objectId: id } = (await createByClass(patient, 'Goal', place)) as { objectId: string }
    const { body: before } = await get('Goal', id)
    await put('Goal', id, { ...before, notes: 'changed' }).expect(200)
    const { body } = await get('Goal', id)
    const [{ notes, version, updatedAt, ...rest }, { notes: _, version: former, updatedAt: __, ...same }] = [
      body,
      before,
    ]
    assert.deepEqual([notes, version, rest], ['changed', former + 1, same])
  })

  it('the ACL of an account, a malformed one, and times of a new object', async () => {
    const { put, post } = byClass(patient)
    const own = 'ACL must not be set by clients: only you can read your account'
    assertError(await put('_User', patient.mvUid, { ACL: PUBLIC_ACL }), 123, own)
    for (const ACL of [null, 5, [], { x: 1 }, { x: { write: 1 } }, { __op: 'Delete' }])
      assertError(await put('Ehr', place.ehrId, { ACL }), 123, /^ACL must be \{/)
    const goal = { ...kinds.Goal.object(place), createdAt: '2026-01-01T00:00:00.000Z' }
    assertError(await post('Goal', goal), 142, 'createdAt must not be set by clients')
  })

  it('a PUT of an account without properties', async () => {
    for (const body of [{}, undefined])
      for (const path of ['users', 'classes/_User']) {
        const answer = await request().put(`/1/${path}/${patient.mvUid}`).set(headers()).send(body)
        assertError(answer, 107, /^The body must be a JSON object with the properties/)
      }
  })

  it('unknown properties and parameters by name', async () => {
    const send = (path: string, body: object) => request().post(path).set(headers()).send(body)
    assertError(await send('/1/classes/Goal?nmae=1', {}), 102, '"nmae" is not a parameter of this request')
    assertError(
      await send('/1/batch?nmae=1', { requests: [] }),
      102,
      '"nmae" is not a parameter of this request',
    )
    assertError(await send('/1/batch', { requests: [], nmae: 1 }), 107, 'a batch has no property nmae')
    const part = { method: 'GET', path: '/1/classes/Goal', nmae: 1 }
    assertError(await send('/1/batch', { requests: [part] }), 107, 'a batched request has no property nmae')
    const { email } = patient
    for (const [path, body] of [
      ['/1/requestPasswordReset', { email, nmae: 1 }],
      ['/1/verificationEmailRequest', { email, nmae: 1 }],
    ] as const)
      assertError(await send(path, body), 142, 'nmae is not a known property')
  })

  it('each with a reason', async () => {
    const stranger = await createPerson()
    const { put, post } = byClass(patient)
    const own = 'You can only change and delete your own account'
    assertError(await put('_User', stranger.mvUid, { name: 'x' }), 206, own)
    assertError(await request().delete(`/1/users/${stranger.mvUid}`).set(headers()), 206, own)
    for (const name of ['ChatTopic', 'ChatMessage']) {
      const about = new RegExp(`^${name} objects can only be read: .* at /chat/`)
      assertError(await post(name, { text: 'x' }), 119, about)
      assertError(await put(name, 'abcdefghij', { text: 'x' }), 119, about)
      assertError(await request().delete(`/1/classes/${name}/x`).set(headers()), 119, about)
    }
    for (const [method, path, reason] of [
      ['get', '/1/verifyPassword?username=x', /^Passwords are only checked by a login/],
      ['post', '/1/events/AppOpened', /^Analytics are not offered/],
      ['post', '/1/jobs/x', /^Background jobs are not offered/],
      ['get', '/1/hooks/functions', /^Webhooks are not offered/],
      ['post', '/1/loginAs', /^A login as another user is not offered/],
      ['delete', '/1/purge/Goal', /^Classes are not emptied at once/],
      ['get', '/1/nonsense/x', /^\/nonsense\/x is not offered/],
      ['post', '/1/USERS', /^\/USERS is not offered/],
      ['get', '/1/Classes/Goal', /^\/Classes\/Goal is not offered/],
    ] as const) {
      assertError(await request()[method](path).set(headers()), 119, reason)
    }
    assertError(await request().put('/1/classes/Goal').set(headers()), 101, 'There is no PUT /1/classes/Goal')
  })
})
