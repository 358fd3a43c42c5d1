import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { readCanonicalJson } from '../../../../openehr/rm/canonical-json.ts'
import { createPatient, createPlan } from '../../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../../harness/openehr-samples.ts'
import { createPerson, createRoleHolder } from '../../../harness/people/people.ts'
import { service } from '../../../harness/service/service.ts'

const VALUE = 'o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude'
const OBSERVATION = 'OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'

describe('measurements in AQL', () => {
  it('are compositions of their kinds, in addition to the committed ones', async () => {
    const [patient, stranger, template] = await Promise.all([
      createPatient(),
      createPerson(),
      getStoredTemplate(),
    ])
    const { ehrId } = patient
    const carePlanId = await createPlan(patient)
    const pressure = { systolic: 18.9, systolicUnit: 'kPa', diastolic: 88, diastolicUnit: 'mmHg' }
    const timestamp = '2026-03-02T08:00:00Z'
    const measurement = assertStatus(
      await patient.call('POST', `/ehr/${ehrId}/procedure/bloodpressure`, {
        carePlanId,
        timestamp,
        ...pressure,
      }),
      201,
    )
    assertStatus(
      await patient.call(
        'POST',
        `/med/ehr/${ehrId}/composition/json`,
        createPressureComposition(template, 120),
      ),
      201,
    )
    const rowsOf = async (q: string, by: { call: typeof patient.call } = patient) =>
      assertStatus(await by.call('POST', '/med/aql', { q })).rows
    const one = `SELECT c/uid/value, ${VALUE}, o/data/events/time/value FROM EHR e[ehr_id/value='${ehrId}'] CONTAINS COMPOSITION c CONTAINS ${OBSERVATION} WHERE ${VALUE} >= 140`
    const [[uid, systolic, time]] = await rowsOf(one)
    assert.deepEqual(
      [uid, Math.round(systolic), Date.parse(time)],
      [`${measurement.id}::hrs.local::1`, 142, Date.parse(timestamp)],
    )
    assert.deepEqual(await rowsOf(one, stranger), [])
    assert.deepEqual(
      await rowsOf(`SELECT COUNT(*) FROM EHR e[ehr_id/value='${ehrId}'] CONTAINS COMPOSITION c`),
      [[2]],
    )
    const query = `SELECT ${VALUE} FROM EHR e[ehr_id/value='${ehrId}'] CONTAINS (COMPOSITION c[openEHR-EHR-COMPOSITION.encounter_of_tests.v1] AND ${OBSERVATION})`
    assert.equal((await rowsOf(query)).length, 1)
    const [[composition]] = await rowsOf(
      `SELECT c FROM COMPOSITION c WHERE c/uid/value = '${measurement.id}'`,
    )
    assert.deepEqual(readCanonicalJson(composition, 'COMPOSITION').violations, [])
    const path = `/med/ehr/${ehrId}/composition/${measurement.id}`
    const answer = await patient.call('GET', `${path}/json`)
    assert.deepEqual([assertStatus(answer), answer.etag], [composition, `"${measurement.id}::hrs.local::1"`])
    const earlier = `${path}/json?version_at_time=2020-01-01T00:00:00Z`
    assertProblem(await patient.call('GET', earlier), 404, 'not-found')
    assert.match(
      assertStatus(await patient.call('GET', `${path}/xml`)),
      /<value>openEHR-EHR-OBSERVATION.blood_pressure.v2</,
    )
    assertProblem(await stranger.call('GET', `${path}/json`), 404, 'not-found')
    const change = createPressureComposition(template, 120)
    assertProblem(
      await patient.call('PUT', `${path}/json`, change, { 'if-match': answer.etag }),
      409,
      'conflict',
    )
    assertProblem(await patient.call('DELETE', path), 409, 'conflict')
    const explain = async (by: { call: typeof patient.call }, q: string) =>
      assertStatus(await by.call('POST', '/med/aql/explain', { q })).measurements
    assert.deepEqual(await explain(patient, one), [
      { name: 'BloodPressure', index: 'typed_in', candidates: 1 },
    ])
    const analyst = await createRoleHolder('analyst')
    const inMarch = (day: number, least: number) =>
      `SELECT c/uid/value FROM EHR e CONTAINS COMPOSITION c CONTAINS ${OBSERVATION} WHERE ${VALUE} >= ${least} AND c/context/start_time/value >= '2026-03-0${day}' AND c/context/start_time/value < '2026-03-03'`
    const isFound = async (q: string) => (await rowsOf(q, analyst)).flat().includes(uid)
    assert.ok(await isFound(inMarch(2, 141)))
    assert.ok(!(await isFound(inMarch(2, 142))))
    assert.ok(!(await isFound(inMarch(3, 141))))
    const [explanation] = await explain(analyst, inMarch(2, 141))
    assert.deepEqual([explanation.name, explanation.index], ['BloodPressure', 'typed_in_systolicMmHg'])
    assert.deepEqual((await explain(analyst, inMarch(2, 1000)))[0].candidates, 0)
    const q = `SELECT c/uid/value FROM COMPOSITION c CONTAINS ${OBSERVATION} WHERE c/context/start_time/value >= '2126-03-01'`
    const later = assertStatus(await analyst.call('POST', '/med/aql/explain', { q }))
    assert.deepEqual(
      [later.index, later.candidates, later.measurements],
      ['start', 0, [{ name: 'BloodPressure', index: 'typed_in_at', candidates: 0 }]],
    )
  })

  it('are found by indexes that an upgrade has given other names', async () => {
    const analyst = await createRoleHolder('analyst')
    const pressures = service.db.collection('BloodPressure')
    const existing = (await pressures.indexes()).filter(({ name }) => name?.startsWith('typed_in'))
    assert.ok(existing.length > 2)
    const rename = async (to: (name: string) => string) => {
      for (const { v: _, name = '', ...index } of existing) {
        const [current] = (await pressures.indexes()).filter((one) => isDeepStrictEqual(one.key, index.key))
        await pressures.dropIndex(String(current?.name))
        await pressures.createIndex(index.key, { ...index, name: to(name) })
      }
    }
    await rename((name) => `${name}@12345678`)
    try {
      const from = `FROM EHR e CONTAINS COMPOSITION c CONTAINS ${OBSERVATION}`
      for (const q of [
        `SELECT c/uid/value ${from} ORDER BY ${VALUE} LIMIT 3`,
        `SELECT AVG(${VALUE}) ${from}`,
        `SELECT c/uid/value ${from} WHERE c/context/start_time/value >= '2026-03-01' LIMIT 3`,
        `SELECT c/uid/value FROM EHR e CONTAINS COMPOSITION c CONTAINS ${OBSERVATION} LIMIT 3`,
      ])
        assertStatus(await analyst.call('POST', '/med/aql', { q }))
    } finally {
      await rename((name) => name)
    }
  })
})
