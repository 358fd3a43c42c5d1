import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient, readAudit } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'
import { idsIn, type Json, readPages } from './fhir-client.ts'

describe('observations in FHIR', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const get = (path: string, status = 200) =>
    patient.call('GET', `/fhir/R4/${path}`).then((answer) => assertStatus(answer, status))
  const store = async (kind: string, body: object): Promise<string> => {
    const measurement = { carePlanId, timestamp: '2026-03-01T08:30:00.000Z', ...body }
    return assertStatus(await patient.call('POST', `procedure/${kind}`, measurement), 201).id
  }
  const pressure = { systolic: 128, systolicUnit: 'mmHg', diastolic: 82, diastolicUnit: 'mmHg' }

  it('show a blood pressure by its profile', async () => {
    const id = await store('bloodpressure', {
      ...pressure,
      heartRate: 70,
      position: 'sitting',
      comment: 'At home',
    })
    const observation = await get(`Observation/${id}`)
    assert.deepEqual(observation.meta.profile, ['http://hl7.org/fhir/StructureDefinition/bp'])
    assert.equal(observation.subject.reference, `Patient/${patient.ehrId}`)
    assert.equal(observation.effectiveDateTime, '2026-03-01T08:30:00Z')
    assert.deepEqual(
      observation.component.map(({ valueQuantity }: Json) => valueQuantity),
      [128, 82].map((value) => ({
        value,
        unit: 'mmHg',
        system: 'http://unitsofmeasure.org',
        code: 'mm[Hg]',
      })),
    )
    const words = ({ code }: Json) => [code.coding[0].display, code.coding[1]?.display, code.text]
    assert.deepEqual([observation, ...observation.component].map(words), [
      ['Blood pressure panel with all children optional', undefined, 'Blood pressure'],
      ['Systolic blood pressure', undefined, 'Systolic pressure'],
      ['Diastolic blood pressure', undefined, 'Diastolic pressure'],
    ])
    assert.deepEqual(observation.hasMember, [{ reference: `Observation/${id}.hr` }])
    const rate = await get(`Observation/${id}.hr`)
    assert.equal(rate.valueQuantity.value, 70)
    assert.deepEqual(rate.derivedFrom, [{ reference: `Observation/${id}` }])
  })

  it('are shown in JSON of FHIR 4.0, by Accept or by _format, and in no other format', async () => {
    const place = `/fhir/R4/Observation/${await store('bloodpressure', pressure)}`
    const read = async (accept: string, query = '') =>
      (await patient.call('GET', place + query, undefined, { accept })).status
    for (const accept of [
      'application/fhir+json; fhirVersion=4.0',
      'application/json',
      'application/fhir+xml, */*',
    ])
      assert.equal(await read(accept), 200, accept)
    for (const accept of ['application/fhir+json; fhirVersion=3.0', 'application/fhir+xml', 'text/html'])
      assert.equal(await read(accept), 406, accept)
    const withVersion = 'application/fhir%2Bjson;%20fhirVersion=4.0'
    for (const format of ['json', 'application/fhir+json', 'application%2Ffhir%2Bjson', withVersion])
      assert.equal(await read('text/html', `?_format=${format}`), 200, format)
    for (const format of ['xml', withVersion.replace('4.0', '3.0')])
      assert.equal(await read('*/*', `?_format=${format}`), 406, format)
    const headers = { 'content-type': 'application/fhir+json; fhirVersion=4.0' }
    const copy = await get(place.slice('/fhir/R4/'.length))
    const { status } = await patient.call('PUT', place, { ...copy, status: 'amended' }, headers)
    assert.equal(status, 200)
  })

  it('are found by patient, category, code and date, page by page', async () => {
    const mine = await createPatient()
    const plan = await createPlan(mine)
    const ids: string[] = []
    for (const day of ['01', '02', '03', '04', '05']) {
      const body = { ...pressure, heartRate: 70, carePlanId: plan, timestamp: `2026-02-${day}T08:00:00Z` }
      ids.unshift(assertStatus(await mine.call('POST', 'procedure/bloodpressure', body), 201).id)
    }
    const find = async (query: string) =>
      assertStatus(await mine.call('GET', `/fhir/R4/Observation?patient=${mine.ehrId}&${query}`))
    assert.deepEqual(idsIn(await find('code=http://loinc.org|85354-9')), ids)
    assert.deepEqual(
      idsIn(await find('code=8867-4')),
      ids.map((id) => `${id}.hr`),
    )
    assert.deepEqual(idsIn(await find('code=8867-4&date=2026-02-02')), [`${ids[3]}.hr`])
    assert.deepEqual(idsIn(await find('code=85354-9&date=ge2026-02-02&date=lt2026-02-04')), [ids[2], ids[3]])
    const allIds = ids.flatMap((id) => [id, `${id}.hr`])
    const query = `Observation?patient=${mine.ehrId}&category=vital-signs&_count=3`
    const foundIds = await readPages(mine, query)
    assert.deepEqual(foundIds, allIds)
    assert.equal((await find('category=vital-signs&_total=accurate')).total, allIds.length)
    assert.deepEqual(
      idsIn(await find('component-value-quantity=gt127|http://unitsofmeasure.org|mm[Hg]')),
      ids,
    )
    assert.deepEqual(idsIn(await find('component-value-quantity=gt129')), [])
    const form = await request()
      .post('/fhir/R4/Observation/_search')
      .set('authorization', `Bearer ${mine.authToken}`)
      .type('form')
      .send({ patient: `Patient/${mine.ehrId}`, code: '85354-9', _sort: 'date' })
    assert.equal(form.status, 200, form.text)
    assert.deepEqual(idsIn(form.body), ids.toReversed())
  })

  it('are not searched with parameters that would be ignored in silence', async () => {
    for (const name of [
      '_include:iterate',
      '_revinclude',
      '_has:Goal:patient:status',
      '_filter',
      '_contained',
    ]) {
      const query = `Observation?patient=${patient.ehrId}&${name}=Observation:subject`
      const { resourceType, issue } = await get(query, 400)
      assert.equal(resourceType, 'OperationOutcome')
      assert.deepEqual([issue[0].code, issue[0].location], ['not-supported', [`http.${name}`]])
    }
  })

  it('are hidden from a stranger, who learns nothing, and the audit shows it', async () => {
    const id = await store('heartrate', { heartRate: 66, heartRateUnit: '/min' })
    const stranger = await createPerson()
    const answer = await stranger.call('GET', `/fhir/R4/Observation/${id}`)
    assert.equal(answer.status, 404)
    assert.equal(answer.body.resourceType, 'OperationOutcome')
    assert.equal(answer.body.issue[0].code, 'not-found')
    const searched = await stranger.call('GET', `/fhir/R4/Observation?patient=${patient.ehrId}`)
    assert.deepEqual(idsIn(assertStatus(searched)), [])
    assert.ok((await readAudit(patient.ehrId)).includes('query HeartRate denied'))
  })

  it('are gone after a deletion, however many EHRs the reader has', async () => {
    const reader = await createPatient()
    const plan = await createPlan(reader)
    // Its alert has the same id.
    const high = { systolic: 190, diastolic: 120 }
    const body = { ...pressure, ...high, carePlanId: plan, timestamp: '2026-03-01T08:30:00Z' }
    const { id } = assertStatus(await reader.call('POST', 'procedure/bloodpressure', body), 201)
    for (let i = 0; i < 25; i++)
      assertStatus(await reader.call('POST', '/ehr', { subjectId: `somebody ${i}` }), 201)
    assertStatus(await reader.call('DELETE', `procedure/bloodpressure/${id}`), 204)
    assertStatus(await reader.call('GET', `/fhir/R4/Observation/${id}`), 410)
    const stranger = await createPerson()
    assert.equal((await stranger.call('GET', `/fhir/R4/Observation/${id}`)).status, 404)
  })

  it('keep their former versions, also after a deletion', async () => {
    const id = await store('bodyweight', { weight: 70, weightUnit: 'kg' })
    const path = `procedure/bodyweight/${id}`
    const corrected = { carePlanId, timestamp: '2026-03-01T08:30:00.000Z', weight: 71, weightUnit: 'kg' }
    assertStatus(await patient.call('PUT', path, corrected))
    const now = await get(`Observation/${id}`)
    assert.deepEqual([now.status, now.meta.versionId, now.valueQuantity.value], ['amended', '2', 71])
    assert.equal((await get(`Observation/${id}/_history/1`)).valueQuantity.value, 70)
    assertStatus(await patient.call('DELETE', path), 204)
    await get(`Observation/${id}`, 410)
    const history = await get(`Observation/${id}/_history`)
    assert.deepEqual(
      history.entry.map(({ request, resource }: Json) => [request.method, resource?.valueQuantity.value]),
      [
        ['DELETE', undefined],
        ['PUT', 71],
        ['POST', 70],
      ],
    )
  })

  it('come with a description of everything that clients can do', async () => {
    const { body, headers } = await request().get('/fhir/R4/metadata')
    assert.equal(body.fhirVersion, '4.0.1')
    assert.match(headers['content-type'] ?? '', /^application\/fhir\+json/)
    const observation = body.rest[0].resource.find(({ type }: Json) => type === 'Observation')
    assert.ok(observation.searchParam.some(({ name }: Json) => name === 'component-value-quantity'))
  })

  it('come with the patient', async () => {
    const resource = await get(`Patient/${patient.ehrId}`)
    assert.equal(resource.name[0].use, 'official')
    assert.deepEqual(idsIn(await get(`Patient?identifier=${patient.mvUid}`)), [patient.ehrId])
  })
})
