import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'

// biome-ignore lint/suspicious/noExplicitAny: resources have any form
type Json = any

describe('the International Patient Summary', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const summary = async () =>
    assertStatus(await patient.call('GET', `/fhir/R4/Patient/${patient.ehrId}/$summary`))
  const sectionsOf = ({ entry }: Json): Json[] => entry[0].resource.section

  it('says of each section that nothing is known, if the record has nothing', async () => {
    const document = await summary()
    assert.deepEqual(
      [document.type, document.entry.map(({ resource }: Json) => resource.resourceType)],
      ['document', ['Composition', 'Patient']],
    )
    for (const { emptyReason, entry, text } of sectionsOf(document)) {
      assert.equal(emptyReason.coding[0].code, 'unavailable')
      assert.equal(entry, undefined)
      assert.match(text.div, /has no entries/)
    }
  })

  it('contains each record that its sections name, and no other', async () => {
    const add = async (resource: string, body: object) =>
      assertStatus(await patient.call('POST', resource, body), 201).id
    const medicationId = await add('medication', { name: 'Metformin <b>' })
    await add('medication', { name: 'Iron', status: 'stopped' })
    const vaccinated = await add('immunisation', { vaccine: 'Flu vaccine' })
    const ill = await add('diagnosis', { name: 'Asthma' })
    const document = await summary()
    const references = sectionsOf(document).flatMap(({ entry = [] }) =>
      entry.map(({ reference }: Json) => reference),
    )
    assert.deepEqual(references, [
      `MedicationStatement/${medicationId}`,
      `Condition/${ill}`,
      `Immunization/${vaccinated}`,
    ])
    const [, , ...rest] = document.entry.map(({ fullUrl }: Json) => fullUrl)
    assert.equal(rest.length, references.length)
    for (const [i, url] of rest.entries()) assert.ok(url.endsWith(`/fhir/R4/${references[i]}`), url)
    assert.match(sectionsOf(document)[0].text.div, /<li>Metformin &#60;b&#62;<\/li>/)
  })

  it('lists the newest vital signs of each kind, and says so', async () => {
    const person = await createPatient()
    const carePlanId = await createPlan(person)
    const rate = {
      kind: 'heartrate',
      carePlanId,
      timestamp: '2026-01-01T08:30:00Z',
      heartRate: 64,
      heartRateUnit: '/min',
    }
    const weights = Array.from({ length: 21 }, (_, i) => ({
      kind: 'bodyweight',
      carePlanId,
      timestamp: `2026-03-${String(i + 1).padStart(2, '0')}T08:30:00Z`,
      weight: 50 + i,
      weightUnit: 'kg',
    }))
    const { status, body } = await person.call('POST', 'procedure/batch', { items: [rate, ...weights] })
    assert.ok(status < 300 && body.refused === 0, JSON.stringify(body))
    const document = assertStatus(await person.call('GET', `/fhir/R4/Patient/${person.ehrId}/$summary`))
    const { entry, text } = sectionsOf(document).find(({ title }) => title === 'Vital signs')
    assert.equal(entry.length, 4)
    for (const value of [/70 kg/, /69 kg/, /68 kg/, /64 /]) assert.match(text.div, value)
    assert.match(text.div, /The newest 3 of each kind at most. Search for Observation/)
  })

  it('leaves out what is not so, and says how sure the rest is', async () => {
    const person = await createPatient()
    const carePlanId = await createPlan(person)
    const add = (resource: string, body: object) =>
      person.call('POST', resource, body).then((answer) => assertStatus(answer, 201))
    await add('immunisation', { vaccine: 'Flu vaccine', status: 'not-done' })
    for (const verification of ['refuted', 'entered-in-error', 'unconfirmed'])
      assertStatus(await person.call('PUT', `adversereaction/${verification}`, { verification }), 201)
    for (const certainty of ['refuted', 'entered-in-error', 'confirmed'])
      await add('diagnosis', { name: `Asthma ${certainty}`, certainty, status: 'resolved' })
    await add('procedure/bloodpressure', {
      carePlanId,
      timestamp: '2026-03-01T08:30:00Z',
      systolic: 128,
      systolicUnit: 'mmHg',
      diastolic: 82,
      diastolicUnit: 'mmHg',
    })
    const document = assertStatus(await person.call('GET', `/fhir/R4/Patient/${person.ehrId}/$summary`))
    const lines = sectionsOf(document).flatMap(({ text }) => [...text.div.matchAll(/<li>(.*?)<\/li>/g)])
    assert.deepEqual(lines.map(([, line]) => line).slice(0, 3), [
      'unconfirmed, unconfirmed',
      'Asthma confirmed, resolved',
      'Blood pressure, Systolic pressure: 128 mmHg, Diastolic pressure: 82 mmHg',
    ])
  })

  it('is hidden from a stranger', async () => {
    const stranger = await createPerson()
    const answer = await stranger.call('GET', `/fhir/R4/Patient/${patient.ehrId}/$summary`)
    assert.equal(assertStatus(answer, 404).resourceType, 'OperationOutcome')
  })
})
