import assert from 'node:assert/strict'
import { createPatient, createPlan, createWeight, type Patient } from '../../../harness/care/patients.ts'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { callFhir, idsIn, issuesIn, type Json, readFhir } from '../../fhir-client.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('the values of a search in FHIR', () => {
  let patient: Patient
  let weight: string
  let corrected: string
  before(async () => {
    patient = await createPatient()
    const planId = await createPlan(patient)
    weight = await createWeight(patient, planId, 70)
    corrected = await createWeight(patient, planId, 71)
    const observation = await readFhir(patient, `Observation/${corrected}`)
    assertStatus(
      await callFhir(patient, 'PUT', `Observation/${corrected}`, {
        ...observation,
        note: [{ text: 'Again' }],
      }),
    )
    await patient.call('POST', `/med/${patient.ehrId}/event`, {
      type: 'walk',
      title: 'Walk',
      start: '2026-03-01T08:30:00Z',
    })
    assertStatus(await patient.call('POST', 'medication', { name: 'Former', end: '2026-01-15' }), 201)
  })
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
  const count = async (query: string) =>
    idsIn(await readFhir(patient, `${query}${query.includes('?') ? '&' : '?'}patient=${patient.ehrId}`))
      .length

  it('find codes with the system that the element implies, and what is not', async () => {
    for (const [query, expectedCount] of [
      ['Observation?status=http://hl7.org/fhir/observation-status|final', 1],
      ['Observation?status:not=final', 1],
      ['Observation?status:not=final,amended', 0],
      ['Observation?status:not=preliminary', 2],
      ['Observation?status=preliminary', 0],
      ['Appointment?status=http://hl7.org/fhir/appointmentstatus|booked', 1],
      ['CarePlan?intent=http://hl7.org/fhir/request-intent|plan', 1],
      ['CarePlan?status=http://hl7.org/fhir/request-status|active', 1],
      ['Observation?value-quantity=70|http://unitsofmeasure.org|kg', 1],
      ['Observation?value-quantity=70|http://example.org/units|kg', 0],
      ['Observation?value-quantity=ap75', 2],
      ['Observation?value-quantity=ap60', 0],
      ['Observation?code:not=29463-7,8480-6', 0],
      ['MedicationStatement?effective=lt2026-01-10', 1],
      ['MedicationStatement?effective=gt2026-01-15', 0],
      ['Observation?_profile=http://hl7.org/fhir/StructureDefinition/bodyweight', 2],
      ['Observation?_profile=http://hl7.org/fhir/StructureDefinition/bp', 0],
      ['Observation?patient:missing=false', 2],
      ['Observation?patient:missing=true', 0],
      ['Observation?date=&_sort=&_include=&_count=', 2],
      ['Observation?_count=99999999999', 2],
    ] as const)
      assert.equal(await count(query), expectedCount, query)
    assertStatus(await patient.call('POST', 'diagnosis', { name: 'Gout', onset: yesterday }), 201)
    assert.equal(await count(`Condition?onset-date=ap${yesterday}T12:00Z`), 1)
    const ofPersons = async (query: string) => idsIn(await readFhir(patient, `Patient?${query}`)).length
    assert.equal(await ofPersons('_id:missing=false'), 1)
    assert.equal(await ofPersons('birthdate:missing=false'), 0)
  })

  it('are refused by their names if nothing can match them', async () => {
    for (const [path, place] of [
      ['Patient?birthdate=x', 'birthdate'],
      ...['02-30T10:00:00+01:00', '02-30', '03-01T24:00:00Z', '03-01T10:00:00+14:59'].map(
        (time) => [`Observation?date=2026-${encodeURIComponent(time)}`, 'date'] as const,
      ),
      ...['Patient', 'Practitioner', 'Questionnaire', 'Subscription'].map(
        (type) => [`${type}?_cursor=abc`, '_cursor'] as const,
      ),
      ['Observation?_sort=-date&_sort=code', '_sort'],
      ['Observation?patient:missing=perhaps', 'patient:missing'],
      ['Observation?code:in=http://example.org/set', 'code:in'],
      ['Observation?code:text=weight', 'code:text'],
      ['Condition?code:not=|', 'code'],
    ] as const) {
      const answer = await callFhir(patient, 'GET', path)
      assert.equal(answer.status, 400, path)
      assert.equal(issuesIn(answer)[0]?.split(' ')[1], `http.${place}`)
    }
  })

  it('hold together if some are in the address and others in the form', async () => {
    const find = async (query: string, form: string): Promise<string[]> => {
      const path = `/fhir/R4/Observation/_search?${query}`
      return idsIn(assertStatus(await patient.call('POST', path, Buffer.from(form), FORM)) as Json)
    }
    const mine = `patient=${patient.ehrId}`
    assert.equal((await find(mine, 'code=29463-7')).length, 2)
    assert.deepEqual(await find(`${mine}&status=final`, 'status=final'), [weight])
    assert.deepEqual(await find(`${mine}&status=final`, 'status=amended'), [])
    assert.deepEqual(await find(`${mine}&_id=${weight}`, `_id=${corrected}`), [])
    assert.deepEqual(await find(`${mine}&_id=${weight}`, `_id=${weight}&_lastUpdated=ge2026`), [weight])
    assert.deepEqual(await find(`${mine}&_id=${weight}`, '_id='), [weight])
    assert.deepEqual(await find(`${mine}&_lastUpdated=lt2020`, '_lastUpdated=ge2020'), [])
    assert.equal((await find(`${mine}&_count=2`, '_count=1')).length, 1)
  })
})
