import assert from 'node:assert/strict'
import { Pace } from '../../../../records/openehr/aql/pace.ts'
import { newPatient, type Patient } from '../../../harness/care/patients.ts'
import { ok, refused } from '../../../harness/clients/path-client.ts'
import { BLOOD_PRESSURE, pressuresOf, someTemplate } from '../../../harness/openehr.ts'
import { inHurry } from '../../../harness/service/clock.ts'
import { service } from '../../../harness/service/service.ts'
import { until } from '../../../harness/until.ts'

/** Pressures of one composition: combined with each other three times they are 64 million. */
const EVENTS = 200

describe('the limits of AQL', () => {
  let patient: Patient
  before(async () => {
    patient = await newPatient()
    const pressures = Array.from({ length: EVENTS }, (_, i): [number, number] => [100 + i / 10, 70])
    const composition = pressuresOf(await someTemplate(BLOOD_PRESSURE), BLOOD_PRESSURE, pressures)
    ok(await patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, composition), 201)
  })

  const query = (columns: string, names: string[], rest: string) => {
    const elements = names.map((name) => `ELEMENT ${name}`).join(' AND ')
    return { q: `SELECT ${columns} FROM EHR e CONTAINS COMPOSITION c CONTAINS (${elements}) ${rest}` }
  }
  /** It compares everything with everything and finds nothing. */
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
    const late = await inHurry(50, () => patient.call('POST', '/med/aql', endless))
    refused(late, 408, 'deadline-exceeded')
    assert.match(late.body.detail, /took too long: narrow it by an EHR/)
  })

  it('end a query whose client has gone', async () => {
    const { giveWay } = Pace.prototype
    let turns = 0
    let isEnded = false
    Pace.prototype.giveWay = function counted() {
      turns++
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
      await until(() => turns > 2)
      assert.equal(isEnded, false)
      controller.abort()
      await assert.rejects(answer, { name: 'AbortError' })
      await until(() => isEnded)
    } finally {
      Pace.prototype.giveWay = giveWay
    }
  })

  it('end a query that combines too much', async () => {
    const product = await patient.call('POST', '/med/aql', endless)
    refused(product, 408, 'deadline-exceeded')
    assert.match(product.body.detail, /combines too much/)
  })

  it('count what is combined with what nobody asks for, or only of itself', async () => {
    const answer = async (...args: Parameters<typeof query>) =>
      ok(await patient.call('POST', '/med/aql', query(...args))).rows
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
    const kept = query('c, a/value/magnitude', ['a', 'b'], 'ORDER BY b/value/magnitude LIMIT 10000')
    const large = await patient.call('POST', '/med/aql', kept)
    refused(large, 408, 'deadline-exceeded')
    assert.match(large.body.detail, /more than 64 MB/)
  })

  it('give 10,000 rows a page, and say where the next one begins', async () => {
    const all = query('a/value/magnitude', ['a', 'b'], '')
    const first = ok(await patient.call('POST', '/med/aql', all))
    assert.deepEqual([first.rows.length, first.meta.next_offset], [10_000, 10_000])
    const last = ok(await patient.call('POST', '/med/aql', { ...all, offset: 159_990, fetch: 100 }))
    assert.deepEqual([last.rows.length, last.meta.next_offset], [10, undefined])
    refused(await patient.call('POST', '/med/aql', { ...all, fetch: 10_001 }), 400, 'invalid-input')
  })
})
