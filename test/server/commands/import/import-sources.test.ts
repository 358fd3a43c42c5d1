import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Context } from 'mocha'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { listCorpusFiles, readCorpusFile } from '../../../harness/corpus.ts'
import { bySize } from '../../../harness/test-size.ts'
import { fileOf, newPlace, run, totals } from './importing.ts'

/** The rows of a table of the sample; the table contains no quotes. */
function rowsOf(test: Context, name: string): Record<string, string>[] {
  listCorpusFiles(test, 'sample')
  const url = new URL(`../../../../../../shared/corpus/sample/${name}`, import.meta.url)
  const [header = '', ...lines] = readFileSync(url, 'utf8').trimEnd().split('\n')
  const names = header.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((value, i) => [names[i], value])))
}

const csvOf = (rows: Record<string, string>[]): string =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => cells.join(','))
    .join('\n')

describe('npm run import, for files of other programs,', function () {
  this.timeout(60_000)

  it('reads data points that the service exports', async () => {
    const from = await newPlace()
    const to = await newPlace()
    const pressure = {
      systolic: 128,
      systolicUnit: 'mmHg',
      diastolic: 82,
      diastolicUnit: 'mmHg',
      source: 'sensed',
      position: 'reclining',
      location: 'left-wrist',
    }
    const fever = { temperature: 101, temperatureUnit: '[degF]', location: 'ear', basal: true }
    const fields = { carePlanId: from.carePlanId, timestamp: '2026-03-01T08:30:00Z' }
    assertStatus(await from.call('POST', 'procedure/bodytemperature', { ...fields, ...fever }), 201)
    assertStatus(await from.call('POST', 'procedure/bloodpressure', { ...fields, ...pressure }), 201)
    const points = [
      ...assertStatus(await from.call('GET', 'procedure/bloodpressure/omh')),
      ...assertStatus(await from.call('GET', 'procedure/bodytemperature/omh')),
    ]
    const mean = { ...points[0], body: { ...points[0].body, descriptive_statistic: 'average' } }
    const { code, output } = await run(to, fileOf([mean, ...points, { header: {}, body: {} }]))
    assert.equal(code, 1, output)
    assert.match(
      output,
      /Not supported: 1 × descriptive statistic average\n.*\nStored: 2, already known: 0, rejected: 0/,
    )
    const [stored] = assertStatus(await to.call('GET', 'procedure/bloodpressure')).items
    for (const [name, value] of Object.entries(pressure)) assert.equal(stored[name], value, name)
    const [warm] = assertStatus(await to.call('GET', 'procedure/bodytemperature')).items
    for (const [name, value] of Object.entries({ ...fever, temperatureUnit: 'F' }))
      assert.equal(warm[name], value, name)
  })

  it('reads FHIR resources of all four kinds, overwrites nothing, and reports other resources', async () => {
    const place = await newPlace()
    const coded = (system: string, code: string, text: string) => ({ coding: [{ system, code }], text })
    const loinc = (code: string) => coded('http://loinc.org', code, code)
    const weight = { resourceType: 'Observation', status: 'final', code: loinc('29463-7') }
    const weighed = {
      effectiveDateTime: '2026-03-01T08:30:00+01:00',
      valueQuantity: { value: 72.5, code: 'kg' },
    }
    const wrongStatus = { status: 'entered-in-error' }
    const enteredInError = { coding: [{ code: 'entered-in-error' }] }
    const resources: unknown[] = [
      { ...weight, ...weighed },
      { ...weight, ...weighed, status: 'entered-in-error' },
      { ...weight, effectiveDateTime: '2026' },
      {
        resourceType: 'Observation',
        status: 'final',
        code: loinc('85354-9'),
        effectivePeriod: { start: '2026-03-01T08:30:00Z' },
        component: [
          null,
          { code: loinc('8480-6'), valueQuantity: { value: 128, unit: 'mmHg', code: 'mm[Hg]' } },
          { code: loinc('8462-4'), valueQuantity: { value: 82, unit: 'mmHg' } },
        ],
      },
      {
        resourceType: 'Condition',
        code: coded('http://snomed.info/sct', '195967001', 'Asthma'),
        clinicalStatus: { coding: [{ code: 'remission' }] },
        onsetDateTime: '2010-05-01T10:00:00Z',
        verificationStatus: { coding: [{ code: 'confirmed' }] },
        note: [{ text: 'Mild' }],
      },
      {
        resourceType: 'Condition',
        code: { text: 'Flu' },
        abatementDateTime: '2020-01-01',
        clinicalStatus: { coding: [{ code: 'active' }] },
      },
      { resourceType: 'Condition', code: 7 },
      { resourceType: 'Condition', code: { text: 'Gout' }, onsetDateTime: '2011', note: [{ text: 'Left' }] },
      {
        resourceType: 'Condition',
        code: { text: 'Gout' },
        onsetDateTime: '2014-07',
        recordedDate: '2014-08-02',
      },
      { resourceType: 'Condition', code: { text: 'Gout' }, onsetDateTime: '2014-13' },
      {
        resourceType: 'AllergyIntolerance',
        code: coded('http://snomed.info/sct', '91936005', 'Penicillin'),
        criticality: 'high',
        category: ['medication'],
        onsetDateTime: '2001-01-01',
        lastOccurrence: '2003',
        reaction: [{ manifestation: [{ text: 'Rash' }, null], severity: 'mild', onset: '2002-05' }, 'x'],
      },
      { resourceType: 'AllergyIntolerance', code: { text: ' ' } },
      {
        resourceType: 'Device',
        deviceName: [{ name: 'Cuff 3' }],
        manufacturer: 'Acme',
        serialNumber: 'SN 1',
        udiCarrier: [{ deviceIdentifier: '(01)0950' }],
        expirationDate: '2030-01-01',
      },
      { resourceType: 'Device', serialNumber: 'SN 2' },
      { resourceType: 'Patient' },
      null,
      { resourceType: 'Condition', code: { text: 'Flu' }, verificationStatus: enteredInError },
      { resourceType: 'AllergyIntolerance', code: { text: 'Nuts' }, verificationStatus: enteredInError },
      { resourceType: 'MedicationStatement', medicationCodeableConcept: { text: 'X' }, ...wrongStatus },
      { resourceType: 'Immunization', vaccineCode: { text: 'X' }, ...wrongStatus },
      { resourceType: 'Device', serialNumber: 'SN 3', deviceName: [{ name: 'X' }], ...wrongStatus },
    ]
    const file = fileOf({
      resourceType: 'Bundle',
      entry: [...resources.map((resource) => ({ resource })), null],
    })
    const { code, output } = await run(place, file)
    assert.equal(code, 1, output)
    assert.deepEqual(output.match(/^(Rejected|Not supported|Stored).*$/gm), [
      'Rejected, entry 6: status must be inactive, remission or resolved for a diagnosis with an end.',
      'Rejected, entry 7: name is required.',
      'Rejected, entry 10: onset must be a day, such as 2026-03-01.',
      'Rejected, entry 12: has no substance',
      'Rejected, entry 14: name is required.',
      'Rejected, entry 16: contains no resource',
      'Rejected, entry 22: is not an object',
      'Rejected, entry 3: weight is required. weightUnit is required. timestamp must be a time with its offset, such as ' +
        '2026-03-01T08:30:00+01:00 (no leap second).',
      'Not supported: 1 × Observation with the status entered-in-error',
      'Not supported: 1 × resource Patient',
      'Not supported: 1 × Condition with the status entered-in-error',
      'Not supported: 1 × AllergyIntolerance with the status entered-in-error',
      'Not supported: 1 × MedicationStatement with the status entered-in-error',
      'Not supported: 1 × Immunization with the status entered-in-error',
      'Not supported: 1 × Device with the status entered-in-error',
      'Stored: 7, already known: 0, rejected: 8.',
    ])
    const [measured, pressure, device] = await Promise.all(
      ['procedure/bodyweight', 'procedure/bloodpressure', 'device'].map(
        async (path) => assertStatus(await place.call('GET', path)).items[0],
      ),
    )
    const [later, sooner, asthma] = assertStatus(await place.call('GET', 'diagnosis')).items
    const dates = [later, sooner].map(({ onset, recognised, comment }) => [onset, recognised, comment])
    assert.deepEqual(dates, [
      [null, '2014-08-02', 'onset: 2014-07'],
      [null, null, 'Left\nonset: 2011'],
    ])
    assert.deepEqual([measured.weight, measured.timestamp], [72.5, '2026-03-01T07:30:00.000Z'])
    assert.deepEqual([pressure.systolic, pressure.diastolicUnit], [128, 'mmHg'])
    assert.deepEqual(
      [asthma.name, asthma.code.code, asthma.status, asthma.certainty, asthma.onset, asthma.comment],
      ['Asthma', '195967001', 'remission', 'confirmed', '2010-05-01', 'Mild'],
    )
    const penicillin = assertStatus(await place.call('GET', 'adversereaction/penicillin'))
    assert.deepEqual(
      [penicillin.criticality, penicillin.category, penicillin.firstOnset, penicillin.reactions],
      ['high', 'medication', '2001-01-01', [{ manifestation: 'Rash', severity: 'mild', onset: '2002-05' }]],
    )
    assert.deepEqual([penicillin.lastOnset, penicillin.comment], [null, 'lastOnset: 2003'])
    assert.deepEqual(
      [device.name, device.manufacturer, device.serial, device.udi, device.expiry],
      ['Cuff 3', 'Acme', 'SN 1', '(01)0950', '2030-01-01'],
    )
    assertStatus(await place.call('PUT', 'adversereaction/penicillin', { criticality: 'low' }))
    const again = await run(place, file)
    assert.match(again.output, /Rejected, entry 11: differs in .*criticality.* from the record/)
    assert.match(again.output, /Stored: 0, already known: 6, rejected: 9/)
    assert.equal(assertStatus(await place.call('GET', 'adversereaction/penicillin')).criticality, 'low')
  })

  const resources = (...of: object[]) =>
    fileOf({ resourceType: 'Bundle', entry: of.map((resource) => ({ resource })) })

  it("accepts FHIR's alternatives: SNOMED CT, notes, words and ages in place of days", async () => {
    const place = await newPlace()
    const snomed = (code: string) => ({ coding: [{ code: 'x' }, { system: 'http://snomed.info/sct', code }] })
    const observation = {
      resourceType: 'Observation',
      status: 'final',
      effectiveDateTime: '2026-03-01T08:30:00Z',
      note: [{ text: 'At rest' }, { text: 'Seated' }],
    }
    const pressure = (code: string, value: number) => ({
      code: snomed(code),
      valueQuantity: { value, code: 'mm[Hg]' },
    })
    const asthma = { system: 'http://snomed.info/sct', code: '195967001', display: 'Asthma' }
    const file = resources(
      {
        ...observation,
        code: snomed('75367002'),
        component: [pressure('271649006', 128), pressure('271650006', 82)],
      },
      { ...observation, code: snomed('364075005'), valueQuantity: { value: 61, code: '/min' } },
      { ...observation, code: snomed('60621009'), valueQuantity: { value: 22.5, unit: 'kg/m2' } },
      { ...observation, code: snomed('60621009'), valueQuantity: { value: 22.5, code: '[lb_av]/[in_i]2' } },
      {
        ...observation,
        code: snomed('33747003'),
        valueQuantity: { value: 33.3, comparator: '>', code: 'mmol/L' },
      },
      {
        resourceType: 'Condition',
        code: { coding: [{ code: 'local' }, asthma] },
        onsetString: 'childhood',
        severity: snomed('24484000'),
        note: [{ text: 'Mild' }, { text: 'At night' }],
      },
      { resourceType: 'Condition', code: { text: 'Gout' }, onsetAge: { value: 40, unit: 'years' } },
      { resourceType: 'AllergyIntolerance', code: { text: '..' } },
      {
        resourceType: 'Device',
        deviceName: [{ name: 'Cuff' }],
        expirationDate: '2030-05',
        note: [{ text: 'Spare' }],
      },
      { resourceType: 'Device', deviceName: [{ name: 'x' }], serialNumber: '1' },
      { resourceType: 'Device', deviceName: [{ name: 'x' }], udiCarrier: [{ carrierHRF: '2' }] },
      {
        resourceType: 'Device',
        deviceName: [{ name: 'x' }],
        serialNumber: '1',
        udiCarrier: [{ carrierHRF: '2' }],
      },
    )
    const { output } = await run(place, file)
    assert.deepEqual(output.match(/^(Rejected|Not supported|Stored).*$/gm), [
      'Rejected, entry 4: has a BMI in [lb_av]/[in_i]2 instead of kg/m2',
      'Rejected, entry 5: has no exact value: > 33.3',
      'Rejected, entry 8: substance must not be . or ..',
      'Rejected, entry 12: The request conflicts with the current state. The identifiers belong to two different records. Send those of one.',
      'Stored: 8, already known: 0, rejected: 4.',
    ])
    const [measured] = assertStatus(await place.call('GET', 'procedure/bloodpressure')).items
    assert.deepEqual([measured.systolic, measured.diastolic, measured.comment], [128, 82, 'At rest\nSeated'])
    const [gout, diagnosis] = assertStatus(await place.call('GET', 'diagnosis')).items
    assert.deepEqual(
      [diagnosis.name, diagnosis.code.code, diagnosis.severity, diagnosis.comment],
      ['Asthma', '195967001', 'severe', 'Mild\nAt night\nonset: childhood'],
    )
    assert.equal(gout.comment, 'onset: 40 years')
    const cuff = assertStatus(await place.call('GET', 'device')).items.at(-1)
    assert.deepEqual([cuff.expiry, cuff.comment], [null, 'Spare\nexpiry: 2030-05'])
    assert.match((await run(place, file)).output, /Stored: 0, already known: 8, rejected: 4/)
  })

  it('skips an oxygen saturation of another method, and codes of other systems', async () => {
    const place = await newPlace()
    const fields = { carePlanId: place.carePlanId, timestamp: '2026-03-01T08:30:00Z' }
    const measured = { ...fields, oxygenSaturation: 97, oxygenSaturationUnit: '%' }
    assertStatus(await place.call('POST', 'procedure/oxygensaturation', measured), 201)
    const [point] = assertStatus(await place.call('GET', 'procedure/oxygensaturation/omh'))
    const { measurement_method: _, ...rest } = point.body
    const to = await newPlace()
    const points = [
      { ...point, body: { ...point.body, measurement_method: 'invasive' } },
      { ...point, body: { ...point.body, system: 'systemic' } },
      { ...point, body: rest },
    ]
    const omh = await run(to, fileOf(points))
    assert.match(omh.output, /1 × oxygen-saturation with measurement_method invasive/)
    assert.match(omh.output, /1 × oxygen-saturation with system systemic/)
    assert.match(omh.output, /Stored: 1, already known: 0, rejected: 0/)

    const heartRate = (system: string | undefined, value: number) => ({
      resourceType: 'Observation',
      status: 'final',
      code: { coding: [{ system, code: '8867-4' }] },
      effectiveDateTime: fields.timestamp,
      valueQuantity: { value, code: '/min' },
    })
    const fhir = await run(
      to,
      resources(
        heartRate('http://example.org/local', 60),
        heartRate('http://loinc.org', 61),
        heartRate(undefined, 62),
      ),
    )
    assert.match(fhir.output, /1 × Observation 8867-4/)
    assert.match(fhir.output, /Stored: 2, already known: 0, rejected: 0/)
  })

  it('distinguishes diagnoses by their times, and stores them once in two concurrent imports', async () => {
    const place = await newPlace()
    const flu = (more: object) => ({ resourceType: 'Condition', code: { text: 'Flu' }, ...more })
    const file = resources(
      flu({ recordedDate: '2019-01-07' }),
      flu({ recordedDate: '2021-02-01T10:00:00Z' }),
      flu({ abatementDateTime: '2024-03' }),
      flu({ abatementDateTime: '2025-03-02' }),
      flu({}),
    )
    const results = await Promise.all([run(place, file), run(place, file)])
    const counts = results.map(({ output }) =>
      /Stored: (\d), already known: (\d), rejected: 0/.exec(output)?.slice(1).map(Number),
    )
    assert.deepEqual(
      counts.map((count) => (count?.[0] ?? 0) + (count?.[1] ?? 0)),
      [5, 5],
      results.map(({ output }) => output).join(),
    )
    assert.deepEqual(await totals(place, 'diagnosis'), { diagnosis: 5 })
    const [latest] = assertStatus(await place.call('GET', 'diagnosis')).items
    assertStatus(await place.call('DELETE', `diagnosis/${latest.id}`), 204)
    assert.match((await run(place, file)).output, /Stored: 1, already known: 4, rejected: 0/)
    assert.deepEqual(await totals(place, 'diagnosis'), { diagnosis: 5 })
  })

  it('stores medications and immunisations once, with imprecise days in the comment', async () => {
    const place = await newPlace()
    const atc = (code: string, display: string) => ({
      coding: [{ system: 'http://www.whocc.no/atc', code, display }],
    })
    const statement = {
      resourceType: 'MedicationStatement',
      status: 'stopped',
      medicationCodeableConcept: atc('A10BA02', 'Metformin'),
    }
    const file = resources(
      {
        ...statement,
        statusReason: [{ text: 'Nausea' }],
        reasonCode: [{ text: 'Diabetes' }],
        effectivePeriod: { start: '2024-11-01', end: '2026-02' },
        dateAsserted: '2026-03-01T10:00:00Z',
        dosage: [
          { text: 'One in the morning', asNeededBoolean: false, route: { text: 'Oral' } },
          { text: 'Two at night' },
        ],
        informationSource: { reference: 'https://example.org/fhir/RelatedPerson/1' },
      },
      { ...statement, effectiveDateTime: '2020-01-01' },
      { ...statement, medicationCodeableConcept: undefined },
      {
        resourceType: 'Immunization',
        status: 'completed',
        vaccineCode: atc('J07BB02', 'Influenza'),
        occurrenceString: 'as a child',
        lotNumber: 'AB1',
        manufacturer: { display: 'Acme' },
        site: { text: 'Left arm' },
        primarySource: false,
        reportOrigin: { coding: [{ code: 'recall' }] },
        protocolApplied: [
          { doseNumberPositiveInt: 1, seriesDosesPositiveInt: 2, targetDisease: [{ text: 'Influenza' }] },
        ],
        performer: [{ actor: { display: 'Dr Vos' } }],
      },
    )
    const { output } = await run(place, file)
    assert.deepEqual(output.match(/^(Rejected|Not supported|Stored).*$/gm), [
      'Rejected, entry 3: name is required.',
      'Stored: 3, already known: 0, rejected: 1.',
    ])
    const [former, latest] = assertStatus(await place.call('GET', 'medication')).items
    assert.deepEqual([former.start, former.status], ['2020-01-01', 'stopped'])
    const { id, version, links, ...medication } = latest
    assert.deepEqual(medication, {
      ehrId: place.ehrId,
      name: 'Metformin',
      status: 'stopped',
      statusReason: 'Nausea',
      code: { system: 'http://www.whocc.no/atc', code: 'A10BA02' },
      dosage: 'One in the morning\nTwo at night',
      asNeeded: false,
      route: 'Oral',
      reason: 'Diabetes',
      start: '2024-11-01',
      end: null,
      asserted: '2026-03-01',
      informationSource: 'related-person',
      comment: 'end: 2026-02',
    })
    const [immunisation] = assertStatus(await place.call('GET', 'immunisation')).items
    assert.deepEqual(
      [
        immunisation.vaccine,
        immunisation.date,
        immunisation.comment,
        immunisation.doseNumber,
        immunisation.seriesDoses,
        immunisation.reportOrigin,
      ],
      ['Influenza', null, 'date: as a child', 1, 2, 'recall'],
    )
    assert.deepEqual(
      [
        immunisation.lotNumber,
        immunisation.manufacturer,
        immunisation.site,
        immunisation.performer,
        immunisation.targetDisease,
      ],
      ['AB1', 'Acme', 'Left arm', 'Dr Vos', 'Influenza'],
    )
    assert.match((await run(place, file)).output, /Stored: 0, already known: 3, rejected: 1/)
  })

  for (const person of ['erminia', 'ammie'].slice(0, bySize(1, 2)))
    it(`stores the bundle of ${person}, as many records as an independent count finds`, async function () {
      const bundle = readCorpusFile<{ entry: { resource: Record<string, never> }[] }>(
        this,
        `sample/synthea-${person}.bundle.json`,
      )
      const resourceTexts = bundle.entry.map(({ resource }) => JSON.stringify(resource))
      const count = (pattern: RegExp) => resourceTexts.filter((text) => pattern.test(text)).length
      const coded = (code: string) =>
        count(new RegExp(`"resourceType":"Observation".*?"code":\\{"coding":\\[\\{[^}]*"code":"${code}"`))
      const place = await newPlace()
      const file = fileOf(bundle)
      const { code, output } = await run(place, file)
      assert.equal(code, 1, output)
      const expected = {
        bloodpressure: coded('55284-4'),
        bmi: coded('39156-5'),
        bodyweight: coded('29463-7'),
        bloodglucose: coded('2339-0'),
        diagnosis: count(/"resourceType":"Condition"/),
        adversereaction: count(/"resourceType":"AllergyIntolerance"/),
        immunisation: count(/"resourceType":"Immunization"/),
        medication: count(/"resourceType":"MedicationStatement"/),
      }
      assert.deepEqual(await totals(place, ...Object.keys(expected)), expected)
      assert.match((await run(place, file)).output, /^Stored: 0, already known: \d+, rejected: 0/m)
      assert.deepEqual(await totals(place, ...Object.keys(expected)), expected)
    })

  it('stores the vitals of other people with a mapping file', async function () {
    const vitals = rowsOf(this, 'synthea-vitals.csv')
    const people = [...new Set(vitals.map(({ patient }) => patient))].slice(0, bySize(2, 80))
    const time = { timestamp: '{effectiveDateTime}', deviceId: 'synthea {patient}' }
    const map = fileOf([
      {
        when: { loinc: '55284-4' },
        kind: 'bloodpressure',
        ...time,
        systolic: '{systolic}',
        systolicUnit: '{unit}',
        diastolic: '{diastolic}',
        diastolicUnit: '{unit}',
      },
      { when: { loinc: '39156-5' }, kind: 'bmi', ...time, bmi: '{value}' },
      { when: { loinc: '29463-7' }, kind: 'bodyweight', ...time, weight: '{value}', weightUnit: '{unit}' },
    ])
    const rows = vitals.filter(({ patient }) => people.includes(patient))
    const place = await newPlace()
    const { output } = await run(place, fileOf(csvOf(rows)), '--map', map)
    const countOf = (code: string) =>
      new Set(rows.filter(({ loinc }) => loinc === code).map((row) => Object.values(row).join())).size
    const expected = {
      bloodpressure: countOf('55284-4'),
      bmi: countOf('39156-5'),
      bodyweight: countOf('29463-7'),
    }
    assert.deepEqual(await totals(place, ...Object.keys(expected)), expected, output)
  })

  it('stores the NHANES vitals, with each reading of a row', async function () {
    const rows = rowsOf(this, 'nhanes-2021-2023-bp-bmi.csv').slice(0, bySize(100, 10_000))
    const reading = (i: number) => ({
      kind: 'bloodpressure',
      timestamp: `2022-06-01T12:0${i}:00Z`,
      deviceId: 'nhanes {SEQN}',
      systolic: `{SysBP${i}}`,
      systolicUnit: 'mmHg',
      diastolic: `{DiaBP${i}}`,
      diastolicUnit: 'mmHg',
    })
    const body = {
      kind: 'bmi',
      timestamp: '2022-06-01T12:00:00Z',
      deviceId: 'nhanes {SEQN}',
      age: '{Age}',
      weight: '{WeightKg}',
      weightUnit: 'kg',
      height: '{HeightCm}',
      heightUnit: 'cm',
    }
    const place = await newPlace()
    const map = fileOf([reading(1), reading(2), reading(3), body])
    const { output } = await run(place, fileOf(csvOf(rows)), '--map', map)
    const pressures = [1, 2, 3].flatMap((i) => rows.filter((row) => row[`SysBP${i}`] && row[`DiaBP${i}`]))
    const bodies = rows.filter(({ WeightKg, HeightCm }) => WeightKg && HeightCm)
    assert.deepEqual(
      await totals(place, 'bloodpressure', 'bmi'),
      { bloodpressure: pressures.length, bmi: bodies.length },
      output.slice(-2000),
    )
  })
})
