import assert from 'node:assert/strict'
import { TimeSlice } from '../../../../records/limits/time-slice.ts'
import { createPatient, type Patient } from '../../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import {
  BLOOD_PRESSURE,
  createPressuresComposition,
  getStoredTemplate,
} from '../../../harness/openehr-samples.ts'
import { withClockAhead } from '../../../harness/service/clock.ts'
import { service } from '../../../harness/service/service.ts'
import { waitUntil } from '../../../harness/wait.ts'

/** The pressures of one composition. Three combinations of them are 64 million. */
const EVENTS = 200

describe('the limits of AQL', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
    const pressures = Array.from({ length: EVENTS }, (_, i): [number, number] => [100 + i / 10, 70])
    const composition = createPressuresComposition(
      await getStoredTemplate(BLOOD_PRESSURE),
      BLOOD_PRESSURE,
      pressures,
    )
    assertStatus(await patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, composition), 201)
  })

  const query = (columns: string, names: string[], rest: string) => {
    const elements = names.map((name) => `ELEMENT ${name}`).join(' AND ')
    return { q: `SELECT ${columns} FROM EHR e CONTAINS COMPOSITION c CONTAINS (${elements}) ${rest}` }
  }
  /** A query that compares all combinations and finds nothing. */
  const endless = query(
    'a/name',
    ['a', 'b', 'd'],
    `WHERE ${[
      ['a', 'b'],
      ['b', 'd'],
      ['d', 'a'],
    ]
      .map((two) => two.map((name) => `${name}/value/magnitude`).join(' < '))
      .join(' AND ')}`,
  )

  it('end a query after 30 s', async () => {
    const lateAnswer = await withClockAhead(50, () => patient.call('POST', '/med/aql', endless))
    assertProblem(lateAnswer, 408, 'deadline-exceeded')
    assert.match(lateAnswer.body.detail, /took too long. Narrow it by an EHR/)
  })

  it('end a query whose client has gone', async () => {
    const { yieldToOthers: giveWay } = TimeSlice.prototype
    let yields = 0
    let isEnded = false
    TimeSlice.prototype.yieldToOthers = function counted() {
      yields++
      return giveWay.call(this).catch((error: unknown) => {
        isEnded = true
        throw error
      })
    }
    try {
      const controller = new AbortController()
      const answer = fetch(`${service.url}/med/aql`, {
        method: 'POST',
        body: JSON.stringify(endless),
        headers: { authorization: `Bearer ${patient.authToken}`, 'content-type': 'application/json' },
        signal: controller.signal,
      })
      await waitUntil(() => yields > 2)
      assert.equal(isEnded, false)
      controller.abort()
      await assert.rejects(answer, { name: 'AbortError' })
      await waitUntil(() => isEnded)
    } finally {
      TimeSlice.prototype.yieldToOthers = giveWay
    }
  })

  it('end a query that combines too much', async () => {
    const product = await patient.call('POST', '/med/aql', endless)
    assertProblem(product, 408, 'deadline-exceeded')
    assert.match(product.body.detail, /combines too many/)
  })

  it('allow counts of combinations that need no enumeration', async () => {
    const answer = async (...args: Parameters<typeof query>) =>
      assertStatus(await patient.call('POST', '/med/aql', query(...args))).rows
    const names = ['a', 'b', 'd']
    assert.deepEqual(await answer('COUNT(*)', names, ''), [[(2 * EVENTS) ** 3]])
    const highest = 'a/value/magnitude, COUNT(*)'
    const rest = 'WHERE a/value/magnitude >= 119.8 AND b/value/magnitude = 70 ORDER BY a/value/magnitude'
    const times = EVENTS * 2 * EVENTS
    assert.deepEqual(await answer(highest, names, rest), [
      [119.8, times],
      [119.9, times],
    ])
    const ordered = await answer('a/value/magnitude', names, 'ORDER BY a/value/magnitude DESC LIMIT 1')
    assert.deepEqual(ordered, [[119.9]])
    const equal = ['a', 'b', 'd'].map((name) => `${name}/value/magnitude`)
    const pairs = `WHERE ${equal[0]} = ${equal[1]} AND ${equal[1]} = ${equal[2]} AND ${equal[0]} >= 100`
    assert.deepEqual(await answer('COUNT(*)', names, pairs), [[EVENTS]])
  })

  it('end a query that keeps more than 64 MB at once', async () => {
    const largeQuery = query('c, a/value/magnitude', ['a', 'b'], 'ORDER BY b/value/magnitude LIMIT 10000')
    const large = await patient.call('POST', '/med/aql', largeQuery)
    assertProblem(large, 408, 'deadline-exceeded')
    assert.match(large.body.detail, /more than 64 MB/)
  })

  it('yield within one row, and end functions that would take long on long texts', async () => {
    const template = await getStoredTemplate(BLOOD_PRESSURE)
    const value = 'a'.repeat(3_500_000)
    const name = { _type: 'DV_TEXT', value }
    const long = createPressuresComposition(template, BLOOD_PRESSURE, [[120]], { name })
    const owner = await createPatient()
    assertStatus(await owner.call('POST', `/med/ehr/${owner.ehrId}/composition/json`, long), 201)
    const ask = (columns: string, rest = '') =>
      owner.call('POST', '/med/aql', {
        q: `SELECT ${columns} FROM EHR e CONTAINS COMPOSITION c ${rest}`,
        query_parameters: { long: `${'a'.repeat(10_000)}b${'a'.repeat(10_000)}` },
      })
    const path = 'c/name/value'
    const repeat = (count: number, text: string, separator = ', ') =>
      Array.from({ length: count }, () => text).join(separator)
    const { isOver } = TimeSlice.prototype
    let chances = 0
    TimeSlice.prototype.isOver = function counted() {
      chances++
      return isOver.call(this)
    }
    try {
      const { rows } = assertStatus(await ask(repeat(40, `SUBSTRING(${path}, 3400000, 2)`)))
      assert.deepEqual(rows, [new Array(40).fill('aa')])
      assert.ok(chances > 20, `${chances}`)
    } finally {
      TimeSlice.prototype.isOver = isOver
    }
    const nested = (levels: number): string =>
      levels === 0 ? path : `CONCAT(${repeat(2, nested(levels - 1))})`
    for (const [columns, rest] of [
      [nested(1)],
      [nested(9)],
      [repeat(100, `CONCAT(${path}, 'b')`)],
      [`CONTAINS(${path}, $long)`],
      ['c', `WHERE ${repeat(100, `LENGTH(${path}) = 1`, ' OR ')}`],
      ['c', `WHERE ${repeat(100, `${path} LIKE '*a?????????b*'`, ' OR ')}`],
      ['COUNT(*)', `WHERE ${repeat(100, `${path} LIKE '*b*'`, ' OR ')}`],
    ])
      assertProblem(await ask(String(columns), rest), 408, 'deadline-exceeded')
    const single = `LENGTH(${path}), POSITION('b', ${path}), CONTAINS(${path}, 'aa'), SUBSTRING(CONCAT('\u{1F600}', ${path}), 1, 2)`
    assert.deepEqual(assertStatus(await ask(single)).rows, [[3_500_000, 0, true, '\u{1F600}a']])
  })

  it('return pages of 10,000 rows, each with the offset of the next one', async () => {
    const fullQuery = query('a/value/magnitude', ['a', 'b'], '')
    const firstAnswer = assertStatus(await patient.call('POST', '/med/aql', fullQuery))
    assert.deepEqual([firstAnswer.rows.length, firstAnswer.meta.next_offset], [10_000, 10_000])
    const last = assertStatus(
      await patient.call('POST', '/med/aql', { ...fullQuery, offset: 159_990, fetch: 100 }),
    )
    assert.deepEqual([last.rows.length, last.meta.next_offset], [10, undefined])
    assertProblem(
      await patient.call('POST', '/med/aql', { ...fullQuery, fetch: 10_001 }),
      400,
      'invalid-input',
    )
  })
})
