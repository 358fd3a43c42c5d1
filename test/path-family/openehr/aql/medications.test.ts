import assert from 'node:assert/strict'
import { readCanonicalJson } from '../../../../openehr/rm/canonical-json.ts'
import { createPatient, type Patient } from '../../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPerson, createRoleHolder, type Person } from '../../../harness/people/people.ts'

const atc = 'http://www.whocc.no/atc'
const MEDICATION = 'EVALUATION m[openEHR-EHR-EVALUATION.hrs_medication.v1]'
const IMMUNISATION = 'EVALUATION i[openEHR-EHR-EVALUATION.hrs_immunisation.v1]'
const pathOf = (node: string) => `data[at0001]/items[${node}]/value`

describe('medications and immunisations in AQL', () => {
  let patient: Patient
  let stranger: Person
  let medicationId: string
  let immunisationId: string
  before(async () => {
    ;[patient, stranger] = await Promise.all([createPatient(), createPerson()])
    medicationId = await add('/medication', {
      name: 'Metformin',
      code: { system: atc, code: 'A10BA02' },
      status: 'active',
      asNeeded: false,
      dosage: 'Twice a day,\nwith a meal',
      start: '2024-11-01',
      informationSource: 'patient',
    })
    // As another system sends it.
    const resource = {
      resourceType: 'Immunization',
      status: 'completed',
      occurrenceDateTime: '2026-10-12',
      vaccineCode: { text: 'Influenza vaccine' },
      patient: { reference: `Patient/${patient.ehrId}` },
      protocolApplied: [{ doseNumberPositiveInt: 2, seriesDosesPositiveInt: 3 }],
    }
    immunisationId = assertStatus(await patient.call('POST', '/fhir/R4/Immunization', resource), 201).id
  })

  const add = async (resource: string, body: object): Promise<string> =>
    assertStatus(await patient.call('POST', `/ehr/${patient.ehrId}${resource}`, body), 201).id
  const rowsOf = async (q: string, by: Pick<Person, 'call'> = patient) =>
    assertStatus(await by.call('POST', '/med/aql', { q })).rows
  const inEhr = (inside: string) =>
    `FROM EHR e[ehr_id/value='${patient.ehrId}'] CONTAINS COMPOSITION c CONTAINS ${inside}`

  it('are evaluations, with an element for each field that has a value', async () => {
    const columns = ['value', 'defining_code/code_string', 'defining_code/terminology_id/value'].map(
      (path) => `m/${pathOf('at0002')}/${path}`,
    )
    const start = `m/${pathOf('at0009')}/value`
    const q = `SELECT ${columns}, m/${pathOf('at0006')}/value, ${start} ${inEhr(MEDICATION)} WHERE ${start} < '2025'`
    assert.deepEqual(await rowsOf(q), [['Metformin', 'A10BA02', atc, false, '2024-11-01']])
    assert.deepEqual(await rowsOf(q, stranger), [])
    const names = await rowsOf(`SELECT n/name/value ${inEhr(`${IMMUNISATION} CONTAINS ELEMENT n`)}`)
    assert.deepEqual(names.flat(), ['Vaccine', 'Date', 'Status', 'Number of the dose', 'Recommended doses'])
    const dose = `i/${pathOf('at0007')}/magnitude`
    assert.deepEqual(await rowsOf(`SELECT ${dose} ${inEhr(IMMUNISATION)} WHERE ${dose} >= 2`), [[2]])
    assert.deepEqual(await rowsOf(`SELECT ${dose} ${inEhr(IMMUNISATION)} WHERE ${dose} > 2`), [])
    assert.deepEqual(await rowsOf(`SELECT MAX(${dose}), COUNT(*) ${inEhr(IMMUNISATION)}`), [[2, 1]])
  })

  it('are compositions that start when they were recorded', async () => {
    const q = `SELECT c/uid/value, c/name/value FROM EHR e[ehr_id/value='${patient.ehrId}'] CONTAINS COMPOSITION c`
    const newest = [
      [`${immunisationId}::hrs.local::1`, 'Immunisation'],
      [`${medicationId}::hrs.local::1`, 'Medication'],
    ]
    const start = 'c/context/start_time/value'
    assert.deepEqual(await rowsOf(`${q} ORDER BY ${start} DESC LIMIT 9`), newest)
    assert.deepEqual(await rowsOf(`${q} ORDER BY ${start} ASC LIMIT 1`), newest.slice(1))
    const [[recorded]] = await rowsOf(`SELECT ${start} ${inEhr(MEDICATION)}`)
    assert.ok(Math.abs(Date.now() - Date.parse(recorded)) < 60_000, recorded)
    assert.deepEqual(await rowsOf(`${q} WHERE ${start} = '${recorded}'`), newest.slice(1))
    for (const id of [medicationId, immunisationId]) {
      const [[composition]] = await rowsOf(`SELECT c FROM COMPOSITION c WHERE c/uid/value = '${id}'`)
      assert.deepEqual(readCanonicalJson(composition, 'COMPOSITION').violations, [])
      const path = `/med/ehr/${patient.ehrId}/composition/${id}`
      const answer = await patient.call('GET', `${path}/json`)
      assert.deepEqual([assertStatus(answer), answer.etag], [composition, `"${id}::hrs.local::1"`])
      assertProblem(await stranger.call('GET', `${path}/json`), 404, 'not-found')
      const { detail } = (await patient.call('DELETE', path)).body
      assert.match(detail, new RegExp(`(medication|immunisation)/${id} of the EHR`))
    }
  })

  it('have their versions, and are gone when they are deleted', async () => {
    const id = await add('/immunisation', { vaccine: 'Hepatitis B vaccine', doseNumber: 1 })
    const path = `/ehr/${patient.ehrId}/immunisation/${id}`
    const { etag } = await patient.call('GET', path)
    const next = { vaccine: 'Hepatitis B vaccine', doseNumber: 2 }
    const changed = await patient.call('PUT', path, next, { 'if-match': etag })
    assertStatus(changed)
    const q = `SELECT v/uid/value, i/${pathOf('at0007')}/magnitude FROM EHR e[ehr_id/value='${patient.ehrId}'] CONTAINS VERSION v[ALL_VERSIONS] CONTAINS COMPOSITION c CONTAINS ${IMMUNISATION} WHERE c/uid/value LIKE '${id}*'`
    const versions = [
      [`${id}::hrs.local::1`, 1],
      [`${id}::hrs.local::2`, 2],
    ]
    assert.deepEqual((await rowsOf(q)).sort(), versions)
    const { etag: latest } = await patient.call('GET', path)
    assertStatus(await patient.call('DELETE', path, undefined, { 'if-match': latest }), 204)
    assert.deepEqual(await rowsOf(`SELECT c/uid/value ${inEhr(IMMUNISATION)}`), [
      [`${immunisationId}::hrs.local::1`],
    ])
  })

  it('are found by an analyst in all EHRs, by an index', async () => {
    const analyst = await createRoleHolder('analyst')
    const q = `SELECT c/uid/value FROM EHR e CONTAINS COMPOSITION c CONTAINS ${MEDICATION} ORDER BY c/context/start_time/value DESC LIMIT 1000`
    assert.ok((await rowsOf(q, analyst)).flat().includes(`${medicationId}::hrs.local::1`))
    const [[count]] = await rowsOf(`SELECT COUNT(*) FROM EHR e CONTAINS ${MEDICATION}`, analyst)
    assert.equal(count, (await rowsOf(q, analyst)).length)
    const since = `SELECT c/uid/value FROM COMPOSITION c CONTAINS ${MEDICATION} WHERE c/context/start_time/value >= '2126-03-01'`
    const plan = assertStatus(await analyst.call('POST', '/med/aql/explain', { q: since }))
    assert.deepEqual(plan.measurements, [{ name: 'Medication', index: 'recorded_at', candidates: 0 }])
  })

  it('have templates, by which they are shown in flat form', async () => {
    const flat = assertStatus(
      await patient.call('GET', `/openehr/v1/ehr/${patient.ehrId}/composition/${medicationId}`, undefined, {
        accept: 'application/openehr.wt.flat+json',
      }),
    )
    assert.deepEqual(
      Object.entries(flat).filter(([path]) => /:0\/(?!subject|language|encoding)/.test(path)),
      [
        ['medication/medication:0/medication|code', 'A10BA02'],
        ['medication/medication:0/medication|value', 'Metformin'],
        ['medication/medication:0/medication|terminology', atc],
        ['medication/medication:0/status', 'active'],
        ['medication/medication:0/dosage', 'Twice a day,\nwith a meal'],
        ['medication/medication:0/as_needed', false],
        ['medication/medication:0/start', '2024-11-01'],
        ['medication/medication:0/source_of_the_information', 'patient'],
      ],
    )
  })
})
