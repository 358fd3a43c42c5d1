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
  /** It looks at everything and finds nothing. */
  const endless = query(
    'a/name',
    ['a', 'b', 'd'],
    'WHERE a/name/value != a/name/value AND b/name/value = d/name/value',
  )

  it('end a query after 30 s', async () => {
    const late = await inHurry(50, () => patient.call('POST', '/med/aql', endless))
    refused(late, 408, 'deadline-exceeded')
    assert.match(late.body.detail, /took too long: narrow it by an EHR/)
  })

  it('end a query whose client has gone', async () => {
    const { giveWay } = Pace.prototype
    let turns = 0
    let ended: unknown
    Pace.prototype.giveWay = function counted() {
      turns++
      return giveWay.call(this).catch((error: unknown) => {
        ended = error
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
      assert.equal(ended, undefined)
      controller.abort()
      await assert.rejects(answer, { name: 'AbortError' })
      await until(() => ended !== undefined)
      // In 30 s it would have given way 1,500 times.
      assert.ok(turns < 750, `${turns} turns`)
    } finally {
      Pace.prototype.giveWay = giveWay
    }
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
