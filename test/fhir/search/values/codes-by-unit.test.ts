import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { callFhir, idsIn, issuesIn, type Json, readFhir } from '../../fhir-client.ts'

const LOINC = 'http://loinc.org'
const CODES = { 'mmol/L': '15074-8', 'mg/dL': '2339-0' } as const
type GlucoseUnit = keyof typeof CODES

describe('a blood glucose in FHIR', () => {
  let patient: Patient
  const ids = {} as Record<GlucoseUnit, string>

  const glucose = (code: string, value: number, unit: string) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { coding: [{ system: LOINC, code }] },
    subject: { reference: `Patient/${patient.ehrId}` },
    effectiveDateTime: '2026-03-01T08:30:00Z',
    valueQuantity: { value, unit, system: 'http://unitsofmeasure.org', code: unit },
  })

  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
    for (const [unit, value] of [
      ['mmol/L', 5.4],
      ['mg/dL', 97],
    ] as const) {
      const created = await callFhir(patient, 'POST', 'Observation', glucose(CODES[unit], value, unit))
      ids[unit] = assertStatus(created, 201).id
    }
  })

  it('has the LOINC code of its unit, which comes back as sent', async () => {
    for (const unit of ['mmol/L', 'mg/dL'] as const) {
      const observation = await readFhir(patient, `Observation/${ids[unit]}`)
      const loinc = observation.code.coding.filter(({ system }: Json) => system === LOINC)
      assert.deepEqual(
        loinc.map(({ code }: Json) => code),
        [CODES[unit]],
      )
      assert.equal(observation.valueQuantity.unit, unit)
      const again = { ...observation, note: [{ text: 'Before breakfast' }] }
      assertStatus(await callFhir(patient, 'PUT', `Observation/${ids[unit]}`, again))
    }
  })

  it('is found by that code, and by the code of SNOMED CT in any unit', async () => {
    const allIds = [ids['mmol/L'], ids['mg/dL']].sort()
    for (const [query, expectedIds] of [
      ['code=15074-8', [ids['mmol/L']]],
      [`code=${LOINC}|2339-0`, [ids['mg/dL']]],
      ['combo-code=2339-0', [ids['mg/dL']]],
      ['code:not=2339-0', [ids['mmol/L']]],
      ['code:not=15074-8', [ids['mg/dL']]],
      ['code=15074-8,2339-0', allIds],
      ['code=http://snomed.info/sct|33747003', allIds],
      [`code=${LOINC}|`, allIds],
      ['code=8867-4', []],
      ['code:not=8867-4', allIds],
      ['code=http://snomed.info/sct|2339-0', []],
      ['code-value-quantity=2339-0$gt1', [ids['mg/dL']]],
      ['code-value-quantity=15074-8$gt1', [ids['mmol/L']]],
      ['code-value-quantity=33747003$gt1', allIds],
      ['code-value-quantity=2339-0$gt9', [ids['mg/dL']]],
      ['code-value-quantity=2339-0$gt97', []],
      ['value-quantity=97', [ids['mg/dL']]],
      ['value-quantity=5.4', [ids['mmol/L']]],
      ['value-quantity=gt90', [ids['mg/dL']]],
      ['value-quantity=lt90', [ids['mmol/L']]],
      ['value-quantity=ne97', [ids['mmol/L']]],
      ['value-quantity=gt90|http://unitsofmeasure.org|mg/dL', allIds],
    ] as const) {
      const bundle = await readFhir(
        patient,
        `Observation?patient=${patient.ehrId}&category=laboratory&${query}`,
      )
      assert.deepEqual(idsIn(bundle).sort(), expectedIds, query)
    }
    const last = await readFhir(patient, `Observation/$lastn?patient=${patient.ehrId}&category=laboratory`)
    assert.deepEqual(idsIn(last).sort(), allIds)
  })

  it('is found in another unit by its own value as the bound', async () => {
    const person = await createPatient()
    await createPlan(person)
    const find = async (quantity: string) => {
      const search = `Observation?patient=${person.ehrId}&value-quantity=${quantity}|http://unitsofmeasure.org|mg/dL`
      return idsIn(await readFhir(person, search)).length === 1
    }
    for (const value of [70, 100, 126, 180, 99.5, 245.651]) {
      const observation = {
        ...glucose(CODES['mg/dL'], value, 'mg/dL'),
        subject: { reference: `Patient/${person.ehrId}` },
      }
      const { id } = assertStatus(await callFhir(person, 'POST', 'Observation', observation), 201)
      for (const [prefix, isFound] of [
        ['ge', true],
        ['le', true],
        ['gt', false],
        ['lt', false],
        ['eq', true],
        ['ne', false],
      ] as const)
        for (const text of [String(value), value.toFixed(3), value.toFixed(4)])
          assert.equal(await find(`${prefix}${text}`), isFound, `${prefix}${text}`)
      assert.equal(await find(`eq${value + 0.5}`), value === 99.5, `eq${value + 0.5}`)
      assertStatus(await callFhir(person, 'DELETE', `Observation/${id}`), 204)
    }
  })

  it('is refused with the code of another unit', async () => {
    const refusal = await callFhir(patient, 'POST', 'Observation', glucose('2339-0', 5.4, 'mmol/L'))
    assert.equal(refusal.status, 422)
    assert.match(String(issuesIn(refusal)), /not-supported Observation\.code/)
  })
})
