import assert from 'node:assert/strict'
import { newSdk } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { keys, request } from '../../harness/service/service.ts'

describe('what the class family does not offer', () => {
  let user: Person
  before(async () => {
    user = await newPerson()
  })
  const headers = () => ({ ...keys(), 'X-Parse-Session-Token': user.sessionToken })

  for (const [method, path, instead] of [
    ['get', '/1/config', '/careplan/{careplanId}/settings'],
    ['post', '/1/roles', 'participants of care plans'],
    ['get', '/1/classes/_Role', 'participants of care plans'],
    ['post', '/1/installations', 'notified by mail'],
    ['get', '/1/schemas', '/openapi.json'],
    ['get', '/1/aggregate/CarePlan', '/med/aql'],
    ['get', '/1/sessions', '/auth/sessions'],
    ['post', '/1/files/photo.png', '/profile/{mvUid}/picture'],
    ['post', '/1/graphql', '/openapi.json'],
    ['get', '/1/serverInfo', 'READ_ONLY_MASTER_KEY'],
    ['get', '/1/classes/Medication', 'There is no class Medication. There are _User, Ehr, CarePlan, Goal,'],
  ] as const)
    it(`${method.toUpperCase()} ${path} says what there is instead`, async () => {
      const { status, body } = await request()[method](path).set(headers())
      assert.equal(status, 400)
      assert.equal(body.code, 119)
      assert.ok(body.error.includes(instead), body.error)
    })

  it('says the same in a batch, and of a transaction its code', async () => {
    const batch = (body: object) => request().post('/1/batch').set(headers()).send(body)
    const roles = await batch({ requests: [{ method: 'GET', path: '/1/roles' }] })
    assert.deepEqual([roles.status, roles.body.code], [400, 119])
    assert.match(roles.body.error, /^Roles are not offered/)
    const { status, body } = await batch({ transaction: true, requests: [] })
    assert.deepEqual([status, body.code], [400, 107])
    assert.match(body.error, /transaction/)
  })

  it('tells the JavaScript SDK, too', async () => {
    const Parse = newSdk()
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error) => error,
      )
    assert.match((await refusal(Parse.Config.get())).message, /^Parse Config is not offered/)
    const session = { sessionToken: user.sessionToken }
    const together = [
      new Parse.Object('CarePlan', { name: 'x' }),
      new Parse.Object('CarePlan', { name: 'y' }),
    ]
    // It collects the errors of all objects, each with a code of its own making.
    const [error] = await refusal(Parse.Object.saveAll(together, { ...session, transaction: true }))
    assert.match(error.message, /transaction/)
  })
})
