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
})
