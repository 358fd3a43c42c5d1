import assert from 'node:assert/strict'
import { auditOf, letIn, newPatient, newPlan, type Patient } from '../../harness/care/patients.ts'
import { ok, refused } from '../../harness/clients/path-client.ts'
import { newPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('settings of a care plan', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await newPatient()
  })
  beforeEach(async () => {
    planId = await newPlan(patient)
  })
  const path = () => `/med/${patient.ehrId}/careplan/${planId}/settings`

  it('are empty, then saved as a whole, whatever their properties are called', async () => {
    const none = await patient.call('GET', path())
    assert.deepEqual([ok(none), none.etag], [{}, '"0"'])
    const settings = {
      'chart.range': 30,
      $gt: { $ne: 1 },
      '': null,
      'a\nb': [1, { 'x.y': true }],
      constructor: 'c',
    }
    const saved = await patient.call('POST', path(), settings)
    assert.deepEqual([ok(saved), saved.etag], [settings, '"1"'])
    assert.deepEqual(ok(await patient.call('GET', path())), settings)
    ok(await patient.call('POST', path(), { other: 1 }))
    assert.deepEqual(ok(await patient.call('GET', path())), { other: 1 })
    const changes = { _id: { $regex: `^${patient.ehrId}/plan.settings/${planId}/` } } as object
    const history = await service.db.collection('history.changes').find(changes).sort({ _id: 1 }).toArray()
    assert.deepEqual(
      history.map(({ version, before }) => [version, before && JSON.parse(before.json)]),
      [
        [1, null],
        [2, settings],
      ],
    )
    const audit = await auditOf(patient.ehrId)
    for (const action of ['query', 'create', 'update'])
      assert.ok(audit.includes(`${action} plan.settings done`))
  })

  it('are saved by forty at once, each after the other', async () => {
    const all = Array.from({ length: 40 }, (_, n) => patient.call('POST', path(), { n }))
    const tags = (await Promise.all(all)).map((one) => ok(one) && Number(one.etag?.replaceAll('"', '')))
    assert.deepEqual(
      tags.toSorted((a, b) => a - b),
      all.map((_, i) => i + 1),
    )
  })

  it('keep what another one saved since', async () => {
    const save = (body: object, tag: string) => patient.call('POST', path(), body, { 'if-match': tag })
    refused(await save({ a: 1 }, '"7"'), 412, 'precondition-failed')
    ok(await save({ a: 1 }, '"0"'))
    const late = await save({ b: 1 }, '"0"')
    refused(late, 412, 'precondition-failed')
    assert.equal(late.etag, '"1"')
    const both = await Promise.all([save({ c: 1 }, '"1"'), save({ d: 1 }, '"1"')])
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412])
    const first = await newPlan(patient)
    const other = `/med/${patient.ehrId}/careplan/${first}/settings`
    const all = await Promise.all([1, 2, 3].map((n) => patient.call('POST', other, { n })))
    assert.deepEqual(all.map((one) => one.etag).sort(), ['"1"', '"2"', '"3"'])
  })

  it('are a JSON object of at most 64 KB', async () => {
    const text = (length: number) => ({ text: 'x'.repeat(length - '{"text":""}'.length) })
    ok(await patient.call('POST', path(), text(65_536)))
    refused(await patient.call('POST', path(), text(65_537)), 413, 'content-too-large')
    refused(await patient.call('POST', path(), []), 400, 'invalid-input')
    refused(await patient.call('POST', path(), JSON.parse('{"a":{"__proto__":1}}')), 400, 'malformed-request')
  })

  it('come back as they were sent, or are refused', async () => {
    const send = (text: string) => {
      const headers = { authorization: `Bearer ${patient.authToken}`, 'content-type': 'application/json' }
      return fetch(service.url + path(), { method: 'POST', body: text, headers })
    }
    for (const text of ['{"n":1e400}', '{"n":[-1e999]}', '{"a":"\\ud800"}', '{"\\udc00":1}'])
      assert.equal((await send(text)).status, 400, text)
    const response = await send('{"n":[1,-1e999],"a":{"b":"\\ud800"},"c":{"\\udc00":1}}')
    const { errors } = (await response.json()) as { errors: { path: string }[] }
    assert.deepEqual(
      errors.map(({ path }) => path),
      ['body.n.1', 'body.a.b', 'body.c'],
    )
    const { status } = await send('')
    assert.equal(status, 400)
    assert.deepEqual(ok(await patient.call('GET', path())), {})
    const text = `{"a":"\\ud83d\\ude00","b":"${'é'.repeat(32_000)}"}`
    assert.equal((await send(text)).status, 200)
    assert.deepEqual(ok(await patient.call('GET', path())), JSON.parse(text))
  })

  it('are loaded by those who read the plan and saved by those who write it', async () => {
    const [reader, writer, stranger] = await Promise.all([newPerson(), newPerson(), newPerson()])
    await letIn(planId, reader, 'read')
    await letIn(planId, writer, 'write')
    ok(await writer.call('POST', path(), { by: 'writer' }))
    assert.deepEqual(ok(await reader.call('GET', path())), { by: 'writer' })
    refused(await reader.call('POST', path(), {}), 403, 'forbidden')
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? {} : undefined
      refused(await stranger.call(method, path(), body), 404, 'not-found')
      const elsewhere = path().replace(planId, await newPlan(patient))
      refused(await writer.call(method, elsewhere, body), 404, 'not-found')
    }
  })
})
