import assert from 'node:assert/strict'
import { createPatient, createPlan, createWeight, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { request } from '../../harness/service/service.ts'
import { bloodPressureOf, callFhir, idsIn, issuesIn, type Json, readFhir } from '../fhir-client.ts'

const GENERAL = '_format=json&_pretty=true'

describe('every request in FHIR', () => {
  let patient: Patient
  let id: string
  before(async () => {
    patient = await createPatient()
    id = await createWeight(patient, await createPlan(patient))
  })

  it('may have the parameters _format and _pretty', async () => {
    const weight = await readFhir(patient, `Observation/${id}?${GENERAL}`)
    for (const path of [
      `Observation/${id}/_history`,
      `Observation/${id}/_history/1`,
      'Observation/_history',
      '_history',
      `Patient/${patient.ehrId}/$summary`,
      `Patient/${patient.ehrId}/$everything`,
      'Observation',
      'metadata',
      `Provenance?target=Observation/${id}`,
    ])
      await readFhir(patient, `${path}${path.includes('?') ? '&' : '?'}${GENERAL}`)
    const pressure = bloodPressureOf(patient.ehrId)
    const created = await callFhir(patient, 'POST', `Observation?${GENERAL}`, pressure)
    const path = `Observation/${assertStatus(created, 201).id}?${GENERAL}`
    assertStatus(await callFhir(patient, 'POST', `Observation/$validate?${GENERAL}`, pressure))
    assertStatus(await callFhir(patient, 'PUT', `Observation/${id}?${GENERAL}`, weight))
    assertStatus(await callFhir(patient, 'DELETE', path), 204)
    const batch = { resourceType: 'Bundle', type: 'batch', entry: [] }
    assertStatus(await callFhir(patient, 'POST', `?${GENERAL}`, batch))
    assert.equal((await callFhir(patient, 'GET', `Observation/${id}?_format=xml`)).status, 406)
    assert.equal((await request().get('/fhir/R4/metadata?mode=full')).status, 200)
    assert.equal((await request().get('/fhir/R4/metadata?mode=terminology')).status, 400)
  })

  it('ignores unknown parameters of a read, unless the client prefers strict handling', async () => {
    for (const path of [
      `Observation/${id}`,
      `Observation/${id}/_history`,
      `Patient/${patient.ehrId}/$everything`,
      `Observation/$lastn?patient=${patient.ehrId}`,
      'metadata',
    ]) {
      const url = `${path}${path.includes('?') ? '&' : '?'}foo=1`
      const bundle = await readFhir(patient, url)
      assert.ok(!JSON.stringify(bundle.link ?? []).includes('foo'), path)
      const refusal = await callFhir(patient, 'GET', url, undefined, { prefer: 'handling=strict' })
      assert.deepEqual([refusal.status, ...issuesIn(refusal)], [400, 'not-supported http.foo'], path)
    }
    await readFhir(patient, 'metadata?_summary=true&_elements=fhirVersion')
    await readFhir(patient, 'Patient/$export?_typeFilter=x', 400)
  })

  it('may carry the parameters of an operation in the body', async () => {
    const ask = async (path: string, ...parameter: object[]): Promise<Json> =>
      callFhir(patient, 'POST', path, { resourceType: 'Parameters', parameter })
    const valueInteger = 1
    const allObservations = assertStatus(
      await ask(`Patient/${patient.ehrId}/$everything`, { name: '_type', valueString: 'Observation' }),
    )
    assert.deepEqual(idsIn(allObservations), [id])
    const page = { name: '_count', valueInteger }
    assert.equal(idsIn(assertStatus(await ask(`Patient/${patient.ehrId}/$everything`, page))).length, 1)
    assertStatus(await ask(`Patient/${patient.ehrId}/$summary`))
    const last = await ask(
      'Observation/$lastn',
      { name: 'patient', valueReference: { reference: `Patient/${patient.ehrId}` } },
      { name: 'max', valueInteger: 2 },
    )
    assert.deepEqual(idsIn(assertStatus(last)), [id])
    const unknown = await ask('Observation/$lastn', { name: 'constructor', valueString: 'x' })
    assert.equal(unknown.status, 400)
    assert.deepEqual(issuesIn(unknown), ['not-supported Parameters.parameter[0]'])
    const started = await patient.call(
      'POST',
      '/fhir/R4/Patient/$export',
      Buffer.from(
        JSON.stringify({
          resourceType: 'Parameters',
          parameter: ['Observation', 'Condition'].map((valueString) => ({ name: '_type', valueString })),
        }),
      ),
      { 'content-type': 'application/fhir+json', prefer: 'respond-async' },
    )
    assert.equal(started.status, 202)
    const place = new URL(started.headers.get('content-location') ?? '').pathname
    assertStatus(await patient.call('DELETE', place), 202)
  })

  it('shows the versions of a resource since a time', async () => {
    const { entry } = await readFhir(patient, `Observation/${id}/_history`)
    const since = entry[0].response.lastModified
    const newer = await readFhir(patient, `Observation/${id}/_history?_since=${since}`)
    assert.equal(newer.entry.length, 1)
    assert.equal((await readFhir(patient, `Observation/${id}/_history?_since=2100-01-01`)).entry, undefined)
    const { total, link, ...counted } = await readFhir(patient, `Observation/${id}/_history?_count=0`)
    assert.deepEqual([total, link.length, counted.entry], [entry.length, 2, undefined])
    for (const path of ['Observation/_history', '_history']) {
      const answer = await callFhir(patient, 'GET', `${path}?_count=0`)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [400, 'too-costly http._count'])
    }
    for (const path of ['Patient/_history', 'Practitioner/_history', 'Questionnaire/_history'])
      await readFhir(patient, path, 404)
  })

  it('checks a resource against a profile', async () => {
    const weight = await readFhir(patient, `Observation/${id}`)
    const check = async (profile: string): Promise<string[]> =>
      issuesIn(await callFhir(patient, 'POST', `Observation/$validate?profile=${profile}`, weight))
    const profiles = 'http://hl7.org/fhir/StructureDefinition'
    assert.deepEqual(await check(`${profiles}/bodyweight`), ['informational'])
    assert.deepEqual(await check(`${profiles}/Observation`), ['informational'])
    assert.deepEqual(await check(`${profiles}/bp`), ['not-supported Observation.meta.profile[1]'])
    const parameter = [
      { name: 'resource', resource: weight },
      { name: 'profile', valueUri: `${profiles}/heartrate` },
    ]
    const answer = await callFhir(patient, 'POST', 'Observation/$validate', {
      resourceType: 'Parameters',
      parameter,
    })
    assert.deepEqual(issuesIn(answer), ['not-supported Observation.meta.profile[1]'])
  })

  it('does not change the type of a resource by a patch', async () => {
    const patch = [{ op: 'replace', path: '/resourceType', value: 'Condition' }]
    const answer = await callFhir(patient, 'PATCH', `Observation/${id}`, patch, {
      'content-type': 'application/json-patch+json',
    })
    assert.equal(answer.status, 400)
    assert.deepEqual(issuesIn(answer), ['not-supported Observation.resourceType'])
    const headers = { 'content-type': 'application/json-patch+json' }
    for (const operation of [
      { op: 'remove', path: '/nothing' },
      { op: 'surprise', path: '/note' },
    ]) {
      const refusal = await callFhir(patient, 'PATCH', `Observation/${id}`, [operation], headers)
      assert.match(String(issuesIn(refusal)), / http.body\[0\](.op)?$/)
    }
  })
})
