import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('settings of a care plan', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await createPatient()
  })
  beforeEach(async () => {
    planId = await createPlan(patient)
  })
  const path = () => `/med/${patient.ehrId}/careplan/${planId}/settings`

  it('are empty, then saved as a whole, with any property names', async () => {
    const none = await patient.call('GET', path())
    assert.deepEqual([assertStatus(none), none.etag], [{}, '"0"'])
    const settings = {
      'chart.range': 30,
      $gt: { $ne: 1 },
      '': null,
      'a\nb': [1, { 'x.y': true }],
      constructor: 'c',
    }
    const answer = await patient.call('POST', path(), settings)
    assert.deepEqual([assertStatus(answer), answer.etag], [settings, '"1"'])
    assert.deepEqual(assertStatus(await patient.call('GET', path())), settings)
    assertStatus(await patient.call('POST', path(), { other: 1 }))
    assert.deepEqual(assertStatus(await patient.call('GET', path())), { other: 1 })
    const changes = { _id: { $regex: `^${patient.ehrId}/plan.settings/${planId}/` } } as object
    const history = await service.db.collection('history.changes').find(changes).sort({ _id: 1 }).toArray()
    assert.deepEqual(
      history.map(({ version, before }) => [version, before && JSON.parse(before.json)]),
      [
        [1, null],
        [2, settings],
      ],
    )
    const audit = await readAudit(patient.ehrId)
    for (const action of ['query', 'create', 'update'])
      assert.ok(audit.includes(`${action} plan.settings done`))
  })

  it('are saved by forty concurrent requests one after the other', async () => {
    const writes = Array.from({ length: 40 }, (_, n) => patient.call('POST', path(), { n }))
    const tags = (await Promise.all(writes)).map(
      (one) => assertStatus(one) && Number(one.etag?.replaceAll('"', '')),
    )
    assert.deepEqual(
      tags.toSorted((a, b) => a - b),
      writes.map((_, i) => i + 1),
    )
  })

  it('refuse a save over a version that the client has not seen', async () => {
    const save = (body: object, tag: string) => patient.call('POST', path(), body, { 'if-match': tag })
    assertProblem(await save({ a: 1 }, '"7"'), 412, 'precondition-failed')
    assertStatus(await save({ a: 1 }, '"0"'))
    const outdated = await save({ b: 1 }, '"0"')
    assertProblem(outdated, 412, 'precondition-failed')
    assert.equal(outdated.etag, '"1"')
    const answers = await Promise.all([save({ c: 1 }, '"1"'), save({ d: 1 }, '"1"')])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
    const otherPlan = await createPlan(patient)
    const other = `/med/${patient.ehrId}/careplan/${otherPlan}/settings`
    const creations = await Promise.all([1, 2, 3].map((n) => patient.call('POST', other, { n })))
    assert.deepEqual(creations.map((one) => one.etag).sort(), ['"1"', '"2"', '"3"'])
  })

  it('are a JSON object of at most 64 KB', async () => {
    const text = (length: number) => ({ text: 'x'.repeat(length - '{"text":""}'.length) })
    assertStatus(await patient.call('POST', path(), text(65_536)))
    assertProblem(await patient.call('POST', path(), text(65_537)), 413, 'content-too-large')
    assertProblem(await patient.call('POST', path(), []), 400, 'invalid-input')
    for (const bad of ['{"a":{"__proto__":1}}', '{"a":[{"_bsontype":"Code"}]}', '{"\\u005fbsontype":"X"}'])
      assertProblem(await patient.call('POST', path(), JSON.parse(bad)), 400, 'malformed-request')
  })

  it('are returned unchanged, or refused', async () => {
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
    assert.deepEqual(assertStatus(await patient.call('GET', path())), {})
    const text = `{"a":"\\ud83d\\ude00","b":"${'é'.repeat(32_000)}"}`
    assert.equal((await send(text)).status, 200)
    assert.deepEqual(assertStatus(await patient.call('GET', path())), JSON.parse(text))
  })

  it('are loaded by readers and saved by writers of the plan', async () => {
    const [reader, writer, stranger] = await Promise.all([createPerson(), createPerson(), createPerson()])
    await addParticipant(planId, reader, 'read')
    await addParticipant(planId, writer, 'write')
    assertStatus(await writer.call('POST', path(), { by: 'writer' }))
    assert.deepEqual(assertStatus(await reader.call('GET', path())), { by: 'writer' })
    assertProblem(await reader.call('POST', path(), {}), 403, 'forbidden')
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? {} : undefined
      assertProblem(await stranger.call(method, path(), body), 404, 'not-found')
      const elsewhere = path().replace(planId, await createPlan(patient))
      assertProblem(await writer.call(method, elsewhere, body), 404, 'not-found')
    }
  })
})
