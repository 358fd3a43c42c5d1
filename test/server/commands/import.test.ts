import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from 'mocha'
import { newPatient, newPlan, type Patient } from '../../harness/care/patients.ts'
import { ok } from '../../harness/clients/path-client.ts'
import { corpus, corpusFiles } from '../../harness/corpus.ts'
import { service } from '../../harness/service/service.ts'
import { sized } from '../../harness/size.ts'

interface Place extends Patient {
  carePlanId: string
}

async function newPlace(): Promise<Place> {
  const patient = await newPatient()
  return { ...patient, carePlanId: await newPlan(patient) }
}

const directory = mkdtempSync(join(tmpdir(), 'import-'))
let files = 0
function fileOf(content: string | object, ending = typeof content === 'string' ? 'csv' : 'json'): string {
  const file = join(directory, `${files++}.${ending}`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** Runs the command as the patient, with the password where the command takes it from. */
async function run({ ehrId, carePlanId, email, password }: Place, file: string, ...more: string[]) {
  const args = [
    '--file',
    file,
    '--ehr',
    ehrId,
    '--care-plan',
    carePlanId,
    '--url',
    service.url,
    '--user',
    email,
  ]
  const child = spawn(process.execPath, ['dist/server/commands/import.js', ...args, ...more], {
    env: { PATH: process.env.PATH, IMPORT_PASSWORD: password },
  })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const [code] = await once(child, 'close')
  return { code, said }
}

const totals = async ({ call, ehrId }: Patient, ...kinds: string[]) =>
  Object.fromEntries(
    await Promise.all(
      kinds.map(async (kind) => {
        const path = `/ehr/${ehrId}/${/^(diagnosis|adversereaction|device)$/.test(kind) ? '' : 'procedure/'}${kind}`
        return [kind, ok(await call('GET', `${path}?limit=1&count=true`)).page.total]
      }),
    ),
  )

/** The lines of a table of the sample without quotes in it, as rows. */
function rowsOf(test: Context, name: string): Record<string, string>[] {
  corpusFiles(test, 'sample')
  const url = new URL(`../../../../../shared/corpus/sample/${name}`, import.meta.url)
  const [header = '', ...lines] = readFileSync(url, 'utf8').trimEnd().split('\n')
  const names = header.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((value, i) => [names[i], value])))
}

const csvOf = (rows: Record<string, string>[]): string =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => cells.join(','))
    .join('\n')

describe('npm run import', function () {
  this.timeout(60_000)

  it('reads tables with a BOM, semicolons and decimal commas, tells what it refuses, and stores nothing twice', async () => {
    const place = await newPlace()
    const file = fileOf(
      [
        '\ufefftimestamp;weight;weightUnit;comment',
        '2026-03-01T08:30:00+01:00;72,5;kg;"a; b ""c"""',
        '2026-03-02T08:30:00+01:00;7000;kg;',
        '2026-03-03T08:30:00;71;kg;',
        '2026-03-04T08:30:00Z;71.5;kg;',
        '2026-03-05T08:30:00Z;71',
        '2026-03-06T08:30:00Z;70;kg;"never closed',
        '2026-03-07T08:30:00Z;70;kg;',
      ].join('\r\n'),
    )
    const first = await run(place, file)
    assert.equal(first.code, 1, first.said)
    assert.match(first.said, /Refused, line 3: weight must lie between/)
    assert.match(first.said, /Refused, line 4: timestamp must be a valid date-time/)
    assert.match(first.said, /Refused, line 6: has not as many columns/)
    assert.match(first.said, /Refused, line \d+: a quote is never closed/)
    assert.match(first.said, /Stored: 2, known: 0, refused: 4/)
    const { items } = ok(await place.call('GET', 'procedure/bodyweight?order=asc'))
    assert.deepEqual([items[0].weight, items[0].comment], [72.5, 'a; b "c"'])
    assert.match((await run(place, file)).said, /Stored: 0, known: 2/)
  })

  it('reads the data points that the service writes', async () => {
    const [from, to] = [await newPlace(), await newPlace()]
    const pressure = {
      systolic: 128,
      systolicUnit: 'mmHg',
      diastolic: 82,
      diastolicUnit: 'mmHg',
      source: 'sensed',
    }
    const body = { ...pressure, carePlanId: from.carePlanId, timestamp: '2026-03-01T08:30:00Z' }
    ok(await from.call('POST', 'procedure/bloodpressure', body), 201)
    const points = ok(await from.call('GET', 'procedure/bloodpressure/omh'))
    const { code, said } = await run(to, fileOf([...points, { header: {}, body: {} }]))
    assert.equal(code, 0, said)
    const [stored] = ok(await to.call('GET', 'procedure/bloodpressure')).items
    for (const [name, value] of Object.entries(pressure)) assert.equal(stored[name], value, name)
  })

  it('goes on where it was interrupted', async () => {
    const place = await newPlace()
    const lines = Array.from({ length: 600 }, (_, i) =>
      [
        new Date(Date.parse('2026-01-01T00:00:00Z') + i * 60_000).toISOString(),
        40 + (i % 100),
        '/min',
      ].join(),
    )
    const file = fileOf(['timestamp,heartRate,heartRateUnit', ...lines].join('\n'))
    const away = await run({ ...place, carePlanId: 'doesNotExist' }, file)
    assert.equal(away.code, 2, away.said)
    assert.match(away.said, /refuses the import: Not found/)
    assert.match((await run(place, file)).said, /Stored: 600, known: 0, refused: 0/)
    assert.deepEqual(await totals(place, 'heartrate'), { heartrate: 600 })
  })

  it('says what is wrong with how it is called', async () => {
    const place = await newPlace()
    for (const [file, more, told] of [
      [join(directory, 'nowhere.csv'), [], /ENOENT/],
      [fileOf('{"', 'json'), [], /no JSON/],
      [fileOf({ a: 1 }), [], /neither/],
      [fileOf('a,b\n1,2'), ['--map', fileOf([{ kind: 'pulse' }])], /kind that there is not/],
      [fileOf('a,b\n1,2'), ['--url', 'ftp://x'], /--url/],
    ] as const) {
      const { code, said } = await run(place, file, ...more)
      assert.equal(code, 2, said)
      assert.match(said, told)
    }
    const wrong = await run({ ...place, password: 'wrong' }, fileOf('a,b\n1,2'))
    assert.match(wrong.said, /login was refused/)
  })

  for (const person of ['erminia', 'ammie'])
    it(`stores the bundle of ${person}: as many as an independent count finds`, async function () {
      const bundle = corpus<{ entry: { resource: Record<string, never> }[] }>(
        this,
        `sample/synthea-${person}.bundle.json`,
      )
      const all = bundle.entry.map(({ resource }) => JSON.stringify(resource))
      const count = (pattern: RegExp) => all.filter((text) => pattern.test(text)).length
      const coded = (code: string) =>
        count(new RegExp(`"resourceType":"Observation".*?"code":\\{"coding":\\[\\{[^}]*"code":"${code}"`))
      const place = await newPlace()
      const file = fileOf(bundle)
      const { code, said } = await run(place, file)
      assert.equal(code, 0, said)
      const expected = {
        bloodpressure: coded('55284-4'),
        bmi: coded('39156-5'),
        bodyweight: coded('29463-7'),
        bloodglucose: coded('2339-0'),
        diagnosis: count(/"resourceType":"Condition"/),
        adversereaction: count(/"resourceType":"AllergyIntolerance"/),
      }
      assert.deepEqual(await totals(place, ...Object.keys(expected)), expected)
      await run(place, file)
      assert.deepEqual(await totals(place, ...Object.keys(expected)), expected)
    })

  it('stores the vitals of other people by a mapping file', async function () {
    const vitals = rowsOf(this, 'synthea-vitals.csv')
    const people = [...new Set(vitals.map(({ patient }) => patient))].slice(0, sized(4, 80))
    const time = { timestamp: '{effectiveDateTime}', deviceId: 'synthea {patient}' }
    const map = fileOf([
      {
        ...{ when: { loinc: '55284-4' }, kind: 'bloodpressure', ...time },
        ...{
          systolic: '{systolic}',
          systolicUnit: '{unit}',
          diastolic: '{diastolic}',
          diastolicUnit: '{unit}',
        },
      },
      { when: { loinc: '39156-5' }, kind: 'bmi', ...time, bmi: '{value}' },
      { when: { loinc: '29463-7' }, kind: 'bodyweight', ...time, weight: '{value}', weightUnit: '{unit}' },
    ])
    const rows = vitals.filter(({ patient }) => people.includes(patient))
    const place = await newPlace()
    const { said } = await run(place, fileOf(csvOf(rows)), '--map', map)
    const of = (code: string) =>
      new Set(rows.filter(({ loinc }) => loinc === code).map((row) => Object.values(row).join())).size
    const expected = { bloodpressure: of('55284-4'), bmi: of('39156-5'), bodyweight: of('29463-7') }
    assert.deepEqual(await totals(place, ...Object.keys(expected)), expected, said)
  })

  it('stores the NHANES vitals, with each reading of a row', async function () {
    const rows = rowsOf(this, 'nhanes-2021-2023-bp-bmi.csv').slice(0, sized(300, 10_000))
    const reading = (i: number) => ({
      ...{ kind: 'bloodpressure', timestamp: `2022-06-01T12:0${i}:00Z`, deviceId: 'nhanes {SEQN}' },
      ...{ systolic: `{SysBP${i}}`, systolicUnit: 'mmHg', diastolic: `{DiaBP${i}}`, diastolicUnit: 'mmHg' },
    })
    const body = {
      ...{ kind: 'bmi', timestamp: '2022-06-01T12:00:00Z', deviceId: 'nhanes {SEQN}', age: '{Age}' },
      ...{ weight: '{WeightKg}', weightUnit: 'kg', height: '{HeightCm}', heightUnit: 'cm' },
    }
    const place = await newPlace()
    const map = fileOf([reading(1), reading(2), reading(3), body])
    const { said } = await run(place, fileOf(csvOf(rows)), '--map', map)
    const pressures = [1, 2, 3].flatMap((i) => rows.filter((row) => row[`SysBP${i}`] && row[`DiaBP${i}`]))
    const bodies = rows.filter(({ WeightKg, HeightCm }) => WeightKg && HeightCm)
    assert.deepEqual(
      await totals(place, 'bloodpressure', 'bmi'),
      { bloodpressure: pressures.length, bmi: bodies.length },
      said.slice(-2000),
    )
  })
})
