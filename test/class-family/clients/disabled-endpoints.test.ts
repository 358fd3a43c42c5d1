import assert from 'node:assert/strict'
import { loadSdk } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { apiKeys, request } from '../../harness/service/service.ts'

describe('disabled endpoints of the class family', () => {
  let user: Person
  before(async () => {
    user = await createPerson()
  })
  const headers = () => ({ ...apiKeys(), 'X-Parse-Session-Token': user.sessionToken })

  for (const [method, path, instead] of [
    ['get', '/1/config', '/careplan/{careplanId}/settings'],
    ['post', '/1/roles', 'care-plan participants'],
    ['get', '/1/classes/_Role', 'care-plan participants'],
    ['post', '/1/installations', 'people by mail'],
    ['get', '/1/schemas', '/openapi.json'],
    ['get', '/1/aggregate/CarePlan', '/med/aql'],
    ['get', '/1/sessions', '/auth/sessions'],
    ['post', '/1/files/photo.png', '/profile/{mvUid}/picture'],
    ['post', '/1/graphql', '/openapi.json'],
    ['get', '/1/serverInfo', 'READ_ONLY_MASTER_KEY'],
    ['put', '/1/sessions/me', '/auth/sessions'],
    ['post', '/1/verifyPassword', '/1/login'],
    ['post', '/1/events/AppOpened', 'Analytics is not available.'],
    ['post', '/1/jobs/cleanUp', 'Background jobs are not available.'],
    ['get', '/1/hooks/functions', '/ehr/{ehrId}/changes'],
    ['get', '/1/nothing', 'This endpoint does not exist.'],
    ['put', '/1/classes/ChatTopic/abcdefghij', 'POST /chat/{type}/{id}'],
    ['delete', '/1/classes/ChatMessage/abcdefghij', 'PUT /chat/{type}/{id}/{topicId}/message/{messageId}'],
    [
      'get',
      '/1/classes/Prescription',
      'The class "Prescription" does not exist. The classes are _User, Ehr, CarePlan, Goal,',
    ],
  ] as const)
    it(`name the alternative for ${method.toUpperCase()} ${path}`, async () => {
      const { status, body } = await request()[method](path).set(headers())
      assert.equal(status, 400)
      assert.equal(body.code, 119)
      assert.ok(body.error.includes(instead), body.error)
    })

  it('give the same answer in a batch, and a code for a transaction', async () => {
    const batch = (body: object) => request().post('/1/batch').set(headers()).send(body)
    const roles = await batch({ requests: [{ method: 'GET', path: '/1/roles' }] })
    assert.equal(roles.body[0].error.code, 119)
    assert.match(roles.body[0].error.error, /^Parse roles are not available/)
    const { status, body } = await batch({ transaction: true, requests: [] })
    assert.deepEqual([status, body.code], [400, 107])
    assert.match(body.error, /transaction/)
  })

  it('give the same answer to the JavaScript SDK', async () => {
    const Parse = loadSdk()
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error) => error,
      )
    assert.match((await refusal(Parse.Config.get())).message, /^Parse Config is not available/)
    const session = { sessionToken: user.sessionToken }
    const together = [
      new Parse.Object('CarePlan', { name: 'x' }),
      new Parse.Object('CarePlan', { name: 'y' }),
    ]
    // saveAll collects the errors of all objects under error codes of its own.
    const [error] = await refusal(Parse.Object.saveAll(together, { ...session, transaction: true }))
    assert.match(error.message, /transaction/)
  })
})
