import assert from 'node:assert/strict'
import { issuesIn } from '../fhir/fhir-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

describe('attack: searches and queries with many values', () => {
  let person: Person
  before(async () => {
    person = await createPerson()
  })

  const search = (form: string) =>
    person.call('POST', '/fhir/R4/Observation/_search', Buffer.from(form), {
      'content-type': 'application/x-www-form-urlencoded',
    })
  const query = (q: string, queryParameters: object = {}) =>
    person.call('POST', '/openehr/v1/query/aql', { q, query_parameters: queryParameters })

  it('refuses a FHIR search with more than 1,000 values or 100 criteria', async () => {
    const minutes = (count: number) =>
      numbers(count).map(
        (i) =>
          `2020-01-01T${String(Math.floor(i / 60)).padStart(2, '0')}:${String(i % 60).padStart(2, '0')}Z`,
      )
    for (const form of [
      `date=${minutes(501)}&date=${minutes(500)}`,
      numbers(101)
        .map((i) => `date=gt${1900 + i}`)
        .join('&'),
    ]) {
      const refusal = await search(form)
      assert.deepEqual([refusal.status, issuesIn(refusal)], [400, ['too-costly date']])
    }
    assert.equal((await search(`date=${minutes(1_000)}`)).status, 200)
  })

  it('asks for a repeated value of a FHIR search once', async () => {
    assert.equal((await search(`date=${'2020,'.repeat(99_999)}2020`)).status, 200)
  })

  it('counts a list of AQL as often as the query names it', async () => {
    const conditions = (count: number) =>
      numbers(count)
        .map(() => 'e/ehr_id/value matches $p')
        .join(' or ')
    const p = numbers(1_000).map(String)
    const from = 'select e/ehr_id/value as id from EHR e where'
    assert.equal((await query(`${from} ${conditions(10)}`, { p })).status, 200)
    const refusal = await query(`${from} ${conditions(11)}`, { p })
    assert.equal(refusal.status, 400)
    assert.match(JSON.stringify(refusal.body), /at most 10000 values together/)
  })

  it('bounds the patterns of a query together', async () => {
    const like = (count: number) =>
      numbers(count)
        .map(() => 'c/name/value like $p')
        .join(' or ')
    const from = 'select c/name/value as name from COMPOSITION c where'
    for (const [count, length, status] of [
      [100, 10, 200],
      [101, 10, 400],
      [20, 1_000, 200],
      [21, 1_000, 400],
    ] as const)
      assert.equal(
        (await query(`${from} ${like(count)}`, { p: 'a'.repeat(length) })).status,
        status,
        `${count} ${length}`,
      )
  })

  it('counts a variable in a query as a step', async () => {
    const isBare = (count: number) =>
      numbers(count)
        .map(() => 'c = 1')
        .join(' or ')
    const refusal = await query(`select c from COMPOSITION c where ${isBare(2_000)}`)
    assert.equal(refusal.status, 400)
    assert.match(JSON.stringify(refusal.body), /all paths together 2000/)
  })
})
