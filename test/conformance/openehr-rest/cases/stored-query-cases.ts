import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  assertStatuses,
  type ConformanceArea,
  type ConformanceCase,
  commit,
  createEhr,
  type Fixture,
} from '../fixture.ts'

const QUERIES = '/definition/query'
const asText = { 'content-type': 'text/plain' }
const newName = () => `org.example::uids_${randomUUID().slice(0, 8)}`
const ofEhr = (ehrId: string) =>
  `SELECT c/uid/value AS uid FROM EHR e CONTAINS COMPOSITION c WHERE e/ehr_id/value = '${ehrId}'`
const OF_ALL = 'SELECT c/uid/value AS uid FROM EHR e CONTAINS COMPOSITION c'

/** Stores a query about an EHR with one composition. @param version in the path, if given */
async function storeQuery(fixture: Fixture, version = '') {
  const ehrId = await createEhr(fixture)
  const uid = await commit(fixture, ehrId)
  const name = newName()
  const q = ofEhr(ehrId)
  const made = await fixture.rest('PUT', `${QUERIES}/${name}${version}`, Buffer.from(q), asText)
  assertStatuses(made, 200)
  return { name, ehrId, uid, q, made }
}

const queries: ConformanceCase[] = [
  {
    cases: 4,
    does: 'stores queries with and without a version, and shows both',
    run: async (fixture) => {
      for (const version of ['', '/1.2.3']) {
        const { name, made, q } = await storeQuery(fixture, version)
        const storedVersion = version.slice(1) || '1.0.0'
        assert.ok(made.headers.get('location')?.endsWith(`${QUERIES}/${name}/${storedVersion}`))
        const [listedQuery] = (await fixture.rest('GET', `${QUERIES}/${name}`)).body
        const { body } = await fixture.rest('GET', `${QUERIES}/${name}/${storedVersion}`)
        assert.deepEqual(body, listedQuery)
        assert.deepEqual([body.name, body.type, body.version, body.q], [name, 'AQL', storedVersion, q])
        assert.ok(body.saved)
      }
    },
  },
  {
    does: 'refuses a query with faults',
    run: async ({ rest }) => {
      const faulty = Buffer.from('SELECT c FROM EHR e CONTAINS COMPOSITION c FROM EHR e')
      assertStatuses(await rest('PUT', `${QUERIES}/${newName()}`, faulty, asText), 400)
    },
  },
  {
    cases: 2,
    does: 'answers 404 for queries that are not stored',
    run: async ({ rest }) => {
      assertStatuses(await rest('GET', `${QUERIES}/${newName()}/1.2.3`), 404)
      assertStatuses(await rest('GET', `/query/${newName()}`), 404)
    },
  },
  {
    does: 'lists all stored queries',
    run: async (fixture) => {
      const { name } = await storeQuery(fixture)
      const { body } = await fixture.rest('GET', QUERIES)
      assert.ok(body.some((one: { name: string }) => one.name === name))
    },
  },
  {
    does: 'answers 405 to the deletion of a query',
    run: async ({ rest }) => assertStatuses(await rest('DELETE', `${QUERIES}/${newName()}/1.0.0`), 405),
  },
  {
    cases: 4,
    does: 'runs a stored query by name, and by name and version, as a link or with a body',
    run: async (fixture) => {
      const { name, uid } = await storeQuery(fixture)
      for (const path of [`/query/${name}`, `/query/${name}/1.0.0`])
        for (const method of ['GET', 'POST']) {
          const { status, body } = await fixture.rest(method, path, method === 'POST' ? {} : undefined)
          assert.deepEqual([status, body.name, body.rows], [200, `${name}/1.0.0`, [[uid]]])
          assert.deepEqual(body.columns, [{ name: 'uid', path: 'c/uid/value' }])
        }
    },
  },
  {
    cases: 2,
    does: 'limits a stored query to one EHR',
    run: async (fixture) => {
      const { ehrId, uid } = await storeQuery(fixture)
      const name = newName()
      assertStatuses(await fixture.rest('PUT', `${QUERIES}/${name}/1.0.0`, Buffer.from(OF_ALL), asText), 200)
      for (const path of [`/query/${name}`, `/query/${name}/1.0.0`]) {
        const { body } = await fixture.rest('GET', `${path}?ehr_id=${ehrId}`)
        assert.deepEqual(body.rows, [[uid]])
      }
    },
  },
]

export const storedQueryArea: ConformanceArea = {
  area: 'Stored queries',
  cases: queries,
  deviations: [],
}
