import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { freePort } from '../../harness/service/port.ts'
import { apiKeys, config, request, service } from '../../harness/service/service.ts'
import { waitFor } from '../../harness/wait.ts'

/** The headers of Parse Dashboard behind a proxy that adds the operator's name. */
const asOperator = { 'X-Operator': 'alice' }
const body = (method: string, more: object = {}) => ({
  _method: method,
  _ApplicationId: config.applicationId,
  _MasterKey: config.readOnlyMasterKey,
  ...more,
})
const send = (
  path: string,
  method = 'GET',
  more: object = {},
  headers: Record<string, string> = asOperator,
) =>
  request()
    .post(`/1${path}`)
    .set({ 'Content-Type': 'text/plain', ...headers })
    .send(JSON.stringify(body(method, more)))

describe('Parse Dashboard, with the READ_ONLY_MASTER_KEY', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })

  it("learns the server's features, and the rights that it needs to show any objects", async () => {
    const { status, body } = await send('/serverInfo')
    assert.equal(status, 200)
    assert.match(body.parseServerVersion, /^9\./)
    const { addField, removeField, addClass, removeClass, ...more } = body.features.schemas
    assert.ok(addField && removeField && addClass && removeClass)
    assert.ok(Object.keys(more).length > 0 && Object.values(more).every((isOffered) => !isOffered))
    assert.deepEqual(body.features.globalConfig, { create: false, read: true, update: false, delete: false })
    const schemas = await send('/schemas')
    const names = schemas.body.results.map(({ className }: { className: string }) => className)
    assert.ok(names.includes('CarePlan') && names.includes('_User') && !names.includes('_Session'))
    assert.equal((await send('/schemas/CarePlan')).body.className, 'CarePlan')
    assert.deepEqual((await send('/config')).body, { params: {} })
  })

  it("reads objects; each read is audited under the operator's name", async () => {
    const { body } = await send('/classes/CarePlan', 'GET', { where: { objectId: planId }, limit: 1 })
    assert.equal(body.results[0].objectId, planId)
    const answer = await send('/classes/CarePlan', 'GET', {
      where: { objectId: planId },
      limit: 0,
      count: 1,
    })
    assert.equal(answer.body.count, 1)
    const entries = await service.db.collection('audit.entries').find({ ehrId: patient.ehrId }).toArray()
    const ofOperator = entries.filter(({ userId }) => userId === 'operator alice')
    assert.ok(ofOperator.some(({ action, ids }) => action === 'query' && ids.includes(planId)))
  })

  it('is refused without a name, and told how to send one', async () => {
    for (const headers of [{}, { 'X-Operator': ' ' }, { 'X-Operator': '<b>' }]) {
      const { status, body } = await send('/classes/CarePlan', 'GET', {}, headers)
      assert.deepEqual([status, body.code], [403, 119])
      assert.match(body.error, /X-Operator/)
    }
  })

  it('gets the name from the proxy that docs/parse-dashboard.md starts', async function () {
    if (!existsSync('/usr/bin/caddy')) {
      process.stderr.write('Caddy is not installed (/usr/bin/caddy): its command is not tried\n')
      return this.skip()
    }
    const page = readFileSync('docs/parse-dashboard.md', 'utf8')
    const [, block = ''] = /^ {3}```sh\n( {3}caddy [\s\S]*?)^ {3}```/m.exec(page) ?? []
    const port = await freePort()
    const command = block
      .replaceAll(/^ {3}/gm, '')
      .replace('127.0.0.1:1337', new URL(service.url).host)
      .replace('localhost:4041', `localhost:${port}`)
    const env = { PATH: process.env.PATH, HOME: mkdtempSync(join(tmpdir(), 'caddy-')) }
    const proxy = spawn('sh', ['-c', `exec ${command}`], { env, stdio: 'ignore' })
    try {
      const read = () =>
        fetch(`http://localhost:${port}/1/classes/CarePlan/${planId}`, {
          method: 'POST',
          headers: { 'Content-Type': 'text/plain' },
          body: JSON.stringify(body('GET')),
        })
      const answer = await waitFor(() => read().catch(() => undefined), `Caddy: ${command}`)
      assert.equal(answer.status, 200)
      const userId = 'operator alice@example.org'
      assert.ok(await service.db.collection('audit.entries').findOne({ ehrId: patient.ehrId, userId }))
    } finally {
      proxy.kill()
      await once(proxy, 'exit')
    }
  })

  it('cannot change anything', async () => {
    for (const [path, method, more] of [
      [`/classes/CarePlan/${planId}`, 'PUT', { name: 'x' }],
      [`/classes/CarePlan/${planId}`, 'DELETE', {}],
      ['/classes/CarePlan', 'POST', {}],
      ['/schemas/Prescription', 'POST', { className: 'Prescription' }],
      ['/config', 'PUT', { params: { a: 1 } }],
      ['/functions/bmi', 'POST', {}],
      ['/batch', 'POST', { requests: [] }],
      [`/users/${patient.mvUid}`, 'PUT', { name: 'x' }],
      ['/aggregate/CarePlan', 'GET', {}],
      ['/classes/_Session', 'GET', {}],
    ] as const) {
      const { status, body } = await send(path, method, more)
      assert.ok(status === 403 || status === 400, `${method} ${path}: ${status}`)
      assert.equal(body.code, 119)
    }
    assert.equal((await service.db.listCollections({ name: 'Prescription' }).toArray()).length, 0)
  })

  it('gets nothing with another key, and the master key creates no classes', async () => {
    for (const key of [config.masterKey, 'wrong']) {
      const headers = { ...apiKeys(), 'X-Parse-Master-Key': key, ...asOperator }
      for (const path of ['/1/serverInfo', '/1/schemas', '/1/config'])
        assert.equal((await request().get(path).set(headers)).body.code, 119, path)
      assert.equal(
        (await request().post('/1/classes/Prescription').set(headers).send({})).status >= 400,
        true,
      )
    }
    assert.equal((await service.db.listCollections({ name: 'Prescription' }).toArray()).length, 0)
  })
})
