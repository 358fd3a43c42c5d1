import assert from 'node:assert/strict'
import { createPatient, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'

const atc = 'http://www.whocc.no/atc'
const UNKNOWN = {
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }],
}

describe('medications and immunisations in FHIR', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const add = async (resource: string, body: object): Promise<string> =>
    assertStatus(await patient.call('POST', resource, body), 201).id
  const get = async (path: string) => assertStatus(await patient.call('GET', `/fhir/R4/${path}`))
  const findIds = async (path: string): Promise<string[]> =>
    ((await get(path)).entry ?? []).map(({ resource }: { resource: { id: string } }) => resource.id)

  it('show a medication as a MedicationStatement', async () => {
    const id = await add('medication', {
      name: 'Metformin',
      code: { system: atc, code: 'A10BA02' },
      status: 'stopped',
      statusReason: 'Nausea',
      dosage: 'Twice a day',
      asNeeded: false,
      route: 'Oral',
      reason: 'Diabetes',
      start: '2024-11-01',
      end: '2026-02-01',
      asserted: '2026-03-01',
      informationSource: 'patient',
      comment: 'At times forgotten',
    })
    const { meta, ...statement } = await get(`MedicationStatement/${id}`)
    assert.equal(meta.versionId, '1')
    assert.deepEqual(statement, {
      resourceType: 'MedicationStatement',
      id,
      status: 'stopped',
      statusReason: [{ text: 'Nausea' }],
      medicationCodeableConcept: { text: 'Metformin', coding: [{ system: atc, code: 'A10BA02' }] },
      subject: { reference: `Patient/${patient.ehrId}` },
      effectivePeriod: { start: '2024-11-01', end: '2026-02-01' },
      dateAsserted: '2026-03-01',
      informationSource: { type: 'Patient', reference: `Patient/${patient.ehrId}` },
      reasonCode: [{ text: 'Diabetes' }],
      note: [{ text: 'At times forgotten' }],
      dosage: [{ text: 'Twice a day', asNeededBoolean: false, route: { text: 'Oral' } }],
    })
  })

  it('show an immunisation as an Immunization, and what is not known as such', async () => {
    const id = await add('immunisation', {
      vaccine: 'Flu vaccine',
      date: '2026-10-12',
      doseNumber: 1,
      seriesDoses: 2,
      lotNumber: 'AB1',
      targetDisease: 'Influenza',
      site: 'Left arm',
      primarySource: false,
      reportOrigin: 'recall',
    })
    const { meta: _, ...immunization } = await get(`Immunization/${id}`)
    assert.deepEqual(immunization, {
      resourceType: 'Immunization',
      id,
      status: 'completed',
      vaccineCode: { text: 'Flu vaccine' },
      patient: { reference: `Patient/${patient.ehrId}` },
      occurrenceDateTime: '2026-10-12',
      primarySource: false,
      reportOrigin: {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/immunization-origin', code: 'recall' }],
      },
      lotNumber: 'AB1',
      site: { text: 'Left arm' },
      protocolApplied: [
        { targetDisease: [{ text: 'Influenza' }], doseNumberPositiveInt: 1, seriesDosesPositiveInt: 2 },
      ],
    })
    const vague = await get(
      `Immunization/${await add('immunisation', { vaccine: 'MMR', targetDisease: 'Measles' })}`,
    )
    assert.deepEqual(vague._occurrenceDateTime, UNKNOWN)
    assert.deepEqual(vague.protocolApplied, [
      { targetDisease: [{ text: 'Measles' }], _doseNumberString: UNKNOWN },
    ])
  })

  it('are found by patient, status, code and date, in the order of their days', async () => {
    const mine = await createPatient()
    patient = mine
    const iron = await add('medication', { name: 'Iron', start: '2026-02-01', status: 'on-hold' })
    const code = { system: atc, code: 'A10BA02' }
    const metformin = await add('medication', { name: 'Metformin', start: '2026-01-01', code })
    const flu = await add('immunisation', { vaccine: 'Flu vaccine', date: '2026-10-12' })
    const patientQuery = `patient=${mine.ehrId}`
    for (const [query, expected] of [
      [`MedicationStatement?${patientQuery}`, [iron, metformin]],
      [`MedicationStatement?${patientQuery}&_sort=effective`, [metformin, iron]],
      [`MedicationStatement?${patientQuery}&status=on-hold`, [iron]],
      [`MedicationStatement?${patientQuery}&code=${atc}|A10BA02`, [metformin]],
      [`MedicationStatement?${patientQuery}&code=A10BA02`, [metformin]],
      [`MedicationStatement?${patientQuery}&code=${atc}|`, [metformin]],
      [`MedicationStatement?${patientQuery}&code=http://snomed.info/sct|`, []],
      [`MedicationStatement?${patientQuery}&code=|A10BA02`, []],
      [`MedicationStatement?${patientQuery}&code:not=|A10BA02`, [iron, metformin]],
      // Nobody has ended either.
      [`MedicationStatement?${patientQuery}&effective=ge2026-02`, [iron, metformin]],
      [`MedicationStatement?${patientQuery}&effective=sa2026-01`, [iron]],
      [`Immunization?${patientQuery}&date=2026`, [flu]],
      [`Immunization?${patientQuery}&date=lt2026-10-12`, []],
      [`Immunization?${patientQuery}&status=not-done`, []],
    ] as const)
      assert.deepEqual(await findIds(query), expected, query)
  })
})
