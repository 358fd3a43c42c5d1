import assert from 'node:assert/strict'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { fileOf, newPlace, type Place, run, totals } from './importing.ts'

const resources = (...of: object[]) =>
  fileOf({ resourceType: 'Bundle', entry: of.map((resource) => ({ resource })) })

const morphine = (dosage: string) => ({
  resourceType: 'MedicationStatement',
  status: 'active',
  medicationCodeableConcept: { text: 'Morphine' },
  effectivePeriod: { start: '2026-01-01' },
  dosage: [{ text: dosage }],
})
const fracture = (side: string) => ({
  resourceType: 'Condition',
  code: { text: 'Fracture of wrist' },
  onsetDateTime: '2026-01-01',
  bodySite: [{ text: side }],
})
const tetanus = (more: object) => ({
  resourceType: 'Immunization',
  vaccineCode: { text: 'Tetanus' },
  occurrenceDateTime: '2026-01-01',
  ...more,
})
const penicillin = (more: object) => ({
  resourceType: 'AllergyIntolerance',
  code: { text: 'Penicillin' },
  ...more,
})
const pump = (more: object) => ({
  resourceType: 'Device',
  deviceName: [{ name: 'Pump' }],
  serialNumber: '1',
  ...more,
})

const reported = (output: string) => output.match(/^(Rejected|Stored).*$/gm)
const only = async (place: Place, path: string) => assertStatus(await place.call('GET', path)).items[0]

describe('npm run import, for records that resemble each other,', function () {
  this.timeout(60_000)

  const pairs = [
    morphine('5 mg in the morning'),
    morphine('20 mg at night'),
    fracture('left'),
    fracture('right '),
    tetanus({ status: 'not-done' }),
    tetanus({ status: 'completed', lotNumber: 'L1' }),
  ]
  const counts = { medication: 2, diagnosis: 2, immunisation: 2 }
  const kinds = Object.keys(counts)

  it('stores those of one file that have the same name and day, but differ', async () => {
    const place = await newPlace()
    const file = resources(...pairs, ...pairs)
    assert.deepEqual(reported((await run(place, file)).output), ['Stored: 6, already known: 6, rejected: 0.'])
    assert.deepEqual(await totals(place, ...kinds), counts)
    assert.deepEqual(reported((await run(place, file)).output), [
      'Stored: 0, already known: 12, rejected: 0.',
    ])
  })

  it('stores the second of a pair if an earlier run had stored the first one only', async () => {
    const place = await newPlace()
    await run(place, resources(...pairs.filter((_, i) => i % 2 === 1)))
    assert.deepEqual(reported((await run(place, resources(...pairs))).output), [
      'Stored: 3, already known: 3, rejected: 0.',
    ])
    assert.deepEqual(await totals(place, ...kinds), counts)
  })

  it('rejects one that differs from a corrected record, and names the fields', async () => {
    const place = await newPlace()
    const file = resources(morphine('5 mg'), morphine('20 mg'))
    await run(place, file)
    const { id } = assertStatus(await place.call('GET', 'medication')).items.find(
      ({ dosage }: { dosage: string }) => dosage === '5 mg',
    )
    const corrected = { name: 'Morphine', start: '2026-01-01', dosage: '6 mg' }
    assertStatus(await place.call('PUT', `medication/${id}`, corrected))
    const { code, output } = await run(place, file)
    assert.deepEqual(reported(output), [
      `Rejected, entry 1: differs in dosage from the record ${id}. The import changes no record: change it there if the file is right.`,
      'Stored: 0, already known: 1, rejected: 1.',
    ])
    assert.equal(code, 1)
    assert.deepEqual(await totals(place, 'medication'), { medication: 2 })
  })

  it('rejects a second reaction to a substance and a second device of a number that differ', async () => {
    const place = await newPlace()
    const mild = penicillin({ criticality: 'low', reaction: [{ manifestation: [{ text: 'Rash' }] }] })
    const severe = penicillin({
      criticality: 'high',
      reaction: [{ manifestation: [{ text: 'Anaphylaxis' }], severity: 'severe' }],
    })
    const other = { modelNumber: 'M2' }
    const file = resources(mild, mild, severe, pump({}), pump(other), pump({ serialNumber: '2' }), pump({}))
    const { code, output } = await run(place, file)
    const device = assertStatus(await place.call('GET', 'device')).items.find(
      ({ serial }: { serial: string }) => serial === '1',
    )
    const reaction = await only(place, 'adversereaction')
    const remedy = 'The import changes no record: change it there if the file is right.'
    assert.deepEqual(reported(output), [
      `Rejected, entry 3: differs in reactions, criticality from the record ${reaction.id}. ${remedy}`,
      `Rejected, entry 5: differs in model from the record ${device.id}. ${remedy}`,
      'Stored: 3, already known: 2, rejected: 2.',
    ])
    assert.equal(code, 1)
    assert.equal(reaction.criticality, 'low')
    assert.match((await run(place, file)).output, /Stored: 0, already known: 5, rejected: 2/)
  })
})

describe('npm run import, for data of several people,', function () {
  this.timeout(60_000)

  const weighed = (day: number, subject: unknown, more: object = {}) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
    effectiveDateTime: `2026-02-0${day}T08:00:00Z`,
    valueQuantity: { value: 70, code: 'kg' },
    subject,
    ...more,
  })
  const patient = (id: string, more: object = {}) => ({ resourceType: 'Patient', id, ...more })
  const allergy = { resourceType: 'AllergyIntolerance', code: { text: 'Latex' } }
  const bundle = (...entry: object[]) => fileOf({ resourceType: 'Bundle', entry })
  const refer = (reference: string) => ({ reference })
  const identified = (value: string) => ({ identifier: { system: 'urn:bsn', value } })

  it('stores nothing of a bundle with records of several patients', async () => {
    const place = await newPlace()
    const files = [
      resources(weighed(1, refer('Patient/1')), { ...allergy, patient: refer('Patient/2') }),
      bundle(
        { fullUrl: 'https://a/Observation/1', resource: weighed(1, refer('Patient/1')) },
        { fullUrl: 'https://b/Observation/1', resource: weighed(2, refer('Patient/1')) },
      ),
      resources(weighed(1, identified('1')), weighed(2, identified('2'))),
      resources(
        weighed(1, refer('#p'), { contained: [patient('p', { identifier: [identified('1').identifier] })] }),
        weighed(2, refer('#p'), { contained: [patient('p', { identifier: [identified('2').identifier] })] }),
      ),
    ]
    for (const file of files) {
      const { code, output } = await run(place, file)
      assert.equal(code, 2, output)
      assert.match(output, /The file has records of several people: entry 1 and entry 2 differ\./)
    }
    assert.deepEqual(await totals(place, 'bodyweight', 'adversereaction'), {
      bodyweight: 0,
      adversereaction: 0,
    })
  })

  it('takes different references to one patient for one person', async () => {
    const place = await newPlace()
    const uuid = 'urn:uuid:0f7c7a52-1b52-4b0e-8a0e-5b6c3f1d2e4a'
    const file = bundle(
      { fullUrl: uuid, resource: patient('1', { identifier: [identified('1').identifier] }) },
      { resource: weighed(1, refer(uuid)) },
      { resource: weighed(2, refer('Patient/1/_history/3')) },
      { resource: weighed(3, identified('1')) },
      { resource: weighed(4, undefined) },
      { fullUrl: 'https://a/Observation/1', resource: weighed(5, refer('Patient/1')) },
      { resource: { resourceType: 'Encounter', subject: refer('Patient/2') } },
    )
    const { output } = await run(place, file)
    assert.match(output, /Stored: 5, already known: 0, rejected: 0/)
    const absolute = resources(weighed(6, refer('Patient/1')), weighed(7, refer('https://a/Patient/1')))
    assert.match((await run(place, absolute)).output, /Stored: 2, already known: 0, rejected: 0/)
  })

  it('stores nothing of data points of several users', async () => {
    const place = await newPlace()
    const point = (user: string, day: number) => ({
      header: { schema_id: { name: 'body-weight' }, user_id: user },
      body: {
        body_weight: { value: 70, unit: 'kg' },
        effective_time_frame: { date_time: `2026-03-0${day}T08:30:00Z` },
      },
    })
    const { code, output } = await run(place, fileOf([point('u1', 1), point('u2', 2)]))
    assert.equal(code, 2, output)
    assert.match(output, /The file has records of several people: entry 1 and entry 2 differ\./)
    assert.deepEqual(await totals(place, 'bodyweight'), { bodyweight: 0 })
    assert.match((await run(place, fileOf([point('u1', 1), point('u1', 2)]))).output, /Stored: 2/)
  })
})
