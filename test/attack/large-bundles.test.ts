import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { bloodPressureOf, callFhir, idsIn, type Json, readFhir } from '../fhir/fhir-client.ts'
import { copyDocument } from '../harness/care/copied-documents.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { type Answer, assertStatus } from '../harness/clients/path-client.ts'
import { createPerson } from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { stopProcess } from '../harness/service/service-process.ts'

const MEGABYTE = 1024 * 1024
const MAX_RESPONSE_BYTES = 16 * MEGABYTE
/** Each has nearly a megabyte. */
const LARGE_RECORDS = 40
const SMALL_RECORDS = 1_000

/** Bundles, each of whose entries has a response as large as that of a request may be. */
describe('attack: FHIR requests with large responses', function suite() {
  this.timeout(60_000)
  let patient: Patient

  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
    const ids = await Promise.all(
      ['2026-03-01', '2025-03-01'].map(async (day) => {
        const body = bloodPressureOf(patient.ehrId, { effectiveDateTime: `${day}T08:00:00Z` })
        return assertStatus(await callFhir(patient, 'POST', 'Observation', body), 201).id
      }),
    )
    const comment = 'x'.repeat(0.9 * MEGABYTE)
    await copyDocument('BloodPressure', ids[0], LARGE_RECORDS, () => ({ comment }))
    await copyDocument('BloodPressure', ids[1], SMALL_RECORDS - 1)
  })

  const search = (day: string, count = 1000) => ({
    request: {
      method: 'GET',
      url: `Observation?patient=${patient.ehrId}&code=85354-9&date=${day}&_count=${count}`,
    },
  })
  const large = () => search('2026-03-01')
  const creation = () => ({
    resource: bloodPressureOf(patient.ehrId, { effectiveDateTime: '2024-03-01T08:00:00Z' }),
    request: { method: 'POST', url: 'Observation' },
  })
  const post = (type: string, entry: object[], headers = {}): Promise<Answer> =>
    callFhir(patient, 'POST', '', { resourceType: 'Bundle', type, entry }, headers)
  const statusesOf = ({ entry }: Json): string[] => entry.map(({ response }: Json) => response.status)
  const countCreated = () => service.db.collection('BloodPressure').countDocuments({ ehrId: patient.ehrId })

  it('stores a response under its Idempotency-Key only up to 1 MB', async () => {
    for (const [count, isStored] of [
      [1, true],
      [LARGE_RECORDS, false],
    ] as const) {
      const repeated = { 'Idempotency-Key': randomUUID() }
      const entry = search('2026-03-01', count)
      const firstAnswer = assertStatus(await post('batch', [entry], repeated))
      // A busy machine shortens pages.
      assert.equal(JSON.stringify(firstAnswer).length <= MEGABYTE, isStored)
      const again = await post('batch', [entry], repeated)
      assert.equal(again.headers.get('idempotency-replayed'), isStored ? 'true' : null)
      if (isStored)
        assert.deepEqual(idsIn(assertStatus(again).entry[0].resource), idsIn(firstAnswer.entry[0].resource))
    }
  })

  it('gets at most 16 MB in a batch', async () => {
    const before = await countCreated()
    const body = assertStatus(await post('batch', [large(), large(), creation()]))
    assert.deepEqual(statusesOf(body), ['200', '413', '413'])
    assert.equal(body.entry[1].response.outcome.issue[0].code, 'too-costly')
    assert.ok(JSON.stringify(body).length < MAX_RESPONSE_BYTES)
    assert.equal(await countCreated(), before)
  })

  it('gets at most 16 MB from $lastn and $summary, whose searches share the limit', async () => {
    const path = `Observation/$lastn?patient=${patient.ehrId}`
    assertStatus(await callFhir(patient, 'GET', `${path}&max=10`), 200)
    assertStatus(await callFhir(patient, 'GET', `Patient/${patient.ehrId}/$summary`), 200)
    const comment = 'x'.repeat(0.9 * MEGABYTE)
    const subject = { reference: `Patient/${patient.ehrId}` }
    const code = { text: 'Asthma' }
    const status = { coding: [{ code: 'active' }] }
    const problem = { resourceType: 'Condition', subject, code, clinicalStatus: status }
    const weight = bloodPressureOf(patient.ehrId, { effectiveDateTime: '2023-03-01T08:00:00Z' })
    const { component: _, ...others } = weight
    const body = {
      ...others,
      code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
      valueQuantity: { value: 71, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
    }
    const weightId = assertStatus(await callFhir(patient, 'POST', 'Observation', body), 201).id
    const problemId = assertStatus(await callFhir(patient, 'POST', 'Condition', problem), 201).id
    await copyDocument('BodyWeight', weightId, 10, () => ({ comment }))
    await copyDocument('Diagnosis', problemId, 16, () => ({ comment }))
    const refused = await callFhir(patient, 'GET', `${path}&max=10`)
    assertStatus(refused, 413)
    assert.equal(refused.body.issue[0].code, 'too-costly')
    assertStatus(await callFhir(patient, 'GET', `${path}&max=5`), 200)
    assertStatus(await callFhir(patient, 'GET', `Patient/${patient.ehrId}/$summary`), 413)
    for (const name of ['BodyWeight', 'Diagnosis'])
      await service.db.collection(name).deleteMany({ ehrId: patient.ehrId })
  })

  it('gets at most 5,000 resources in a batch', async () => {
    const body = assertStatus(await post('batch', Array(7).fill(search('2025-03-01'))))
    assert.deepEqual(statusesOf(body), [...Array(5).fill('200'), '413', '413'])
  })

  it('stores nothing by a transaction whose reads exceed 16 MB', async () => {
    const before = await countCreated()
    assertStatus(await post('transaction', [creation(), large(), large()]), 413)
    assert.equal(await countCreated(), before)
  })

  it('gets a response that is too large to be stored, under an Idempotency-Key, and again', async () => {
    const key = { 'idempotency-key': randomUUID() }
    for (const type of ['batch', 'transaction']) {
      const before = await countCreated()
      // A whole page of large records may have 15 or 16 MB.
      const bundle = [creation(), search('2026-03-01', LARGE_RECORDS / 4), search('2025-03-01', 500)]
      const firstAnswer = assertStatus(await post(type, bundle, key), 200)
      const again = await post(type, bundle, key)
      assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [200, null])
      assert.deepEqual(statusesOf(again.body), statusesOf(firstAnswer))
      assert.equal(again.body.entry[0].resource.id, firstAnswer.entry[0].resource.id)
      assert.equal(await countCreated(), before + 1)
      key['idempotency-key'] = randomUUID()
    }
  })

  it('gets everything of a patient in pages of at most 32 MB', async () => {
    const path = `Patient/${patient.ehrId}/$everything?_type=Observation&_count=1000`
    const page = await readFhir(patient, path)
    assert.ok(JSON.stringify(page).length < 2 * MAX_RESPONSE_BYTES)
    assert.ok(idsIn(page).length > 1)
    assert.ok(page.link.some(({ relation }: Json) => relation === 'next'))
  })

  it('is refused when the entries of Bundles exceed the rate of the account', async () => {
    const instance = await startSecondInstance({ ACCOUNT_RATE: '10' })
    try {
      const { authToken } = await createPerson()
      const entry = Array(6).fill({ request: { method: 'GET', url: 'Patient' } })
      const send = () =>
        fetch(`${instance.url}/fhir/R4`, {
          method: 'POST',
          headers: { authorization: `Bearer ${authToken}`, 'content-type': 'application/fhir+json' },
          body: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
        })
      assert.deepEqual([(await send()).status, (await send()).status], [200, 429])
    } finally {
      await stopProcess(instance)
    }
  })
})
