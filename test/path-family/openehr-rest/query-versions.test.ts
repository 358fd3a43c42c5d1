import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createRoleHolder } from '../../harness/people/people.ts'
import { createRestSystem, type RestCall } from '../../harness/people/rest-systems.ts'
import { service } from '../../harness/service/service.ts'

const Q = 'SELECT e/ehr_id/value FROM EHR e'
const asText = { 'content-type': 'text/plain' }

describe('the versions of a stored query of the openEHR REST API', () => {
  let rest: RestCall
  let name: string
  before(async () => {
    ;({ rest } = await createRestSystem(['modeller']))
  })
  beforeEach(() => {
    name = `org.example::ehrs_${randomUUID().slice(0, 8)}`
  })
  const store = (path: string, body: unknown = Buffer.from(Q), headers: Record<string, string> = asText) =>
    rest('PUT', `/definition/query/${path}`, body, headers)
  const storeAll = async (...paths: string[]) => {
    for (const path of paths) assertStatus(await store(path))
  }
  const versionsOf = async (start: string) =>
    assertStatus(await rest('GET', `/definition/query/${start}`)).map(
      (one: { name: string; version: string }) => `${one.name}/${one.version}`,
    )

  it('are found by their first numbers, the latest by number and not by text', async () => {
    await storeAll(...['1.10.0', '1.9.0', '1.9.10', '1.9.9', '11.0.0'].map((version) => `${name}/${version}`))
    await storeAll(`${name}_more/99.0.0`)
    for (const [asked, found] of [
      ['1', '1.10.0'],
      ['1.9', '1.9.10'],
      ['1.9.9', '1.9.9'],
      ['11', '11.0.0'],
    ]) {
      assert.equal(assertStatus(await rest('GET', `/definition/query/${name}/${asked}`)).version, found)
      assert.equal(assertStatus(await rest('GET', `/query/${name}/${asked}`)).name, `${name}/${found}`)
    }
    assert.equal(assertStatus(await rest('GET', `/query/${name}`)).name, `${name}/11.0.0`)
    for (const asked of ['1.1', '9', '1.9.1']) assertStatus(await rest('GET', `/query/${name}/${asked}`), 404)
    assert.deepEqual(await versionsOf(name), [
      ...['1.9.0', '1.9.9', '1.9.10', '1.10.0', '11.0.0'].map((version) => `${name}/${version}`),
      `${name}_more/99.0.0`,
    ])
  })

  it('go on from the latest one of the same name, by the patch number', async () => {
    await storeAll(`${name}/1.2.9`, `${name}/1.0.0`, `${name}_more/99.0.0`, name, name)
    assert.deepEqual(
      await versionsOf(name),
      ['/1.0.0', '/1.2.9', '/1.2.10', '/1.2.11', '_more/99.0.0'].map((rest) => name + rest),
    )
  })

  it('never change', async () => {
    await storeAll(`${name}/1.0.0`)
    const other = Buffer.from('SELECT e FROM EHR e')
    assertStatus(await store(`${name}/1.0.0`, other), 409)
    const condition = { 'if-match': `"${randomUUID()}::hrs.local::1"` }
    for (const path of [name, `${name}/1.0.0`, `${name}/1.0.1`])
      assertStatus(await store(path, other, { ...asText, ...condition }), 412)
    assert.deepEqual(await versionsOf(name), [`${name}/1.0.0`])
    assert.equal(assertStatus(await rest('GET', `/definition/query/${name}/1.0.0`)).q, Q)
  })

  it('exist once, whichever operation stores them', async () => {
    const ownName = name.replace('org.example::', '')
    const modeller = await createRoleHolder('modeller')
    const storeOwn = (at: string) => modeller.call('PUT', `/med/query/${at}`, { q: Q })
    assertStatus(await storeOwn(ownName), 201)
    assertStatus(await store(`${ownName}/1.0.0`), 409)
    assertStatus(await store(ownName))
    assertStatus(await storeOwn(ownName))
    await storeAll(`${ownName}-2/1.0.0`)
    assertStatus(await storeOwn(`${ownName}-2`), 409)
    assertStatus(await modeller.call('DELETE', `/med/query/${ownName}-2`), 404)
    const [own, other] = await Promise.all([storeOwn(`${ownName}-3`), store(`${ownName}-3/1.0.0`)])
    assert.equal([own.status, other.status].filter((status) => status === 409).length, 1)
    assert.deepEqual(
      await versionsOf(ownName),
      ['/1.0.0', '/1.0.1', '-2/1.0.0', '-3/1.0.0'].map((rest) => ownName + rest),
    )
    assertStatus(await rest('GET', `/query/${ownName}-2/1.0.0`))
  })

  it('stay usable if a former build stored version 1.0.0 with its name as its id', async () => {
    const path = `${name}/1.0.0`
    await storeAll(path)
    const queries = service.db.collection<{ _id: string }>('openehr.queries')
    const stored = await queries.findOneAndDelete({ _id: name })
    assert.ok(stored)
    await queries.insertOne({ ...stored, _id: path })
    assertStatus(await rest('GET', `/query/${path}`))
    assertStatus(await store(path), 409)
    assert.deepEqual(await versionsOf(name), [path])
  })

  it('have one name: their numbers begin without zeros', async () => {
    for (const version of ['01.0.0', '1.00.0', '1.0.01']) assertStatus(await store(`${name}/${version}`), 400)
    await storeAll(`${name}/10.20.0`)
  })

  it('may be sent as JSON', async () => {
    const asJson = { 'content-type': 'application/json' }
    assert.equal(assertStatus(await store(name, { q: Q }, asJson)).q, Q)
    for (const body of [{}, { q: 1 }, [Q], null]) assertStatus(await store(name, body, asJson), 400)
  })
})
