import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { config, findStartRefusal } from '../../harness/service/service.ts'
import { type ServiceProcess, startProcess, stopProcess } from '../../harness/service/service-process.ts'
import { waitFor } from '../../harness/wait.ts'

describe('the open test environment', function suite() {
  this.timeout(60_000)
  let open: ServiceProcess
  let keys: Record<string, string>

  before(async () => {
    open = await startProcess({}, '--open')
    await open.ready
    const { applicationId, restApiKey } = JSON.parse(readFileSync(join(open.dataDir, 'keys.json'), 'utf8'))
    keys = { 'X-Parse-Application-Id': applicationId, 'X-Parse-REST-API-Key': restApiKey }
  })
  after(() => stopProcess(open))

  const send = async (
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = keys,
  ) => {
    const answer = await fetch(`${open.url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const json = (await answer.json()) as Record<string, never>
    return { status: answer.status, body: json, environment: answer.headers.get('x-environment') }
  }

  it('reports at the start and in every response that it is open', async () => {
    assert.match(open.output(), /OPEN TEST ENVIRONMENT/)
    assert.equal((await send('GET', '/health/live')).environment, 'open-test')
    assert.equal((await send('GET', '/1/classes/Anything')).environment, 'open-test')
  })

  it('requires no session and validates nothing; classes are created on first use', async () => {
    const created = await send('POST', '/1/classes/BloodPressure', { systolic: 'very high' })
    assert.equal(created.status, 201)
    const { objectId } = created.body
    assert.equal((await send('GET', `/1/classes/BloodPressure/${objectId}`)).status, 200)
    assert.equal((await send('PUT', `/1/classes/BloodPressure/${objectId}`, { note: 1 })).status, 200)
    assert.equal((await send('POST', '/1/classes/AnythingElse', { any: { thing: [1] } })).status, 201)
    const listed = await send('GET', '/1/classes/AnythingElse?count=1&limit=0')
    assert.deepEqual(listed.body, { results: [], count: 1 })
    assert.equal((await send('DELETE', `/1/classes/BloodPressure/${objectId}`)).status, 200)
  })

  it('requires the application id and the key', async () => {
    assert.equal((await send('GET', '/1/classes/Anything', undefined, {})).status, 403)
    const wrong = { ...keys, 'X-Parse-REST-API-Key': 'wrong' }
    assert.equal((await send('POST', '/1/classes/Anything', {}, wrong)).status, 403)
  })

  it('refuses lists that would overload it', async () => {
    for (const query of ['limit=abc', 'limit=-1', `where=${encodeURIComponent('{"$where":"1"}')}`])
      assert.equal((await send('GET', `/1/classes/Anything?${query}`)).status, 400)
  })

  it('documents only its own operations', async () => {
    const { paths } = (await send('GET', '/openapi.json')).body
    const described = Object.keys(paths ?? {})
    for (const path of ['/1/classes/{className}', '/1/users', '/functions/bmi', '/health/ready'])
      assert.ok(described.includes(path), path)
    for (const path of described)
      assert.match(path, /^\/((1|functions|health|docs)\/.*|docs|openapi\.json)?$/, path)
    assert.doesNotMatch(described.join(' '), /CarePlan|_User/)
    const page = await fetch(`${open.url}/?lang=nl`)
    assert.match(await page.text(), /open testomgeving/)
  })

  it('signs up and logs in at once', async () => {
    const account = { username: 'ann', password: 'x' }
    const signUp = await send('POST', '/1/users', account)
    assert.equal(signUp.status, 201, JSON.stringify(signUp.body))
    const login = await send('POST', '/Login', account)
    assert.equal(login.status, 200)
    assert.match(login.body.sessionToken ?? '', /^r:/)
  })

  it('sends mails whose links work', async () => {
    const email = 'bob@example.org'
    await send('POST', '/1/users', { username: 'bob', email, password: 'x' })
    assert.equal((await send('POST', '/1/requestPasswordReset', { email })).status, 200)
    const page = await fetch(await waitFor(() => /"link":"([^"]+)"/.exec(open.output())?.[1]))
    assert.match(await page.text(), /Reset Your Password/)
  })

  it('calculates like the main service', async () => {
    const { status } = await send('POST', '/functions/bmi', {
      weight: 70,
      weightUnit: 'kg',
      height: 175,
      heightUnit: 'cm',
    })
    assert.equal(status, 200)
  })

  it('never shares a database with the main service', async () => {
    assert.match(
      await findStartRefusal({ MONGODB_URI: config.mongodbUri }, true),
      /database of the main service/,
    )
    await stopProcess(open)
    assert.match(await findStartRefusal({ DATA_DIR: open.dataDir }), /database of the open-test service/)
  })
})
