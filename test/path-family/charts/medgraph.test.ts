import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { assertShape, readCorpusFile } from '../../harness/corpus.ts'
import { createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

type Values = Record<string, unknown>

interface Series {
  id: string
  total: number
  returned: number
  sampling: { algorithm: string; points: number }
  stats: { min: number; max: number; mean: number; last: { x: number; y: number } } | null
  points: { x: number; y: number }[]
  bands: { code: string; from: number | null; to: number | null; severity: number }[]
}

const start = Date.UTC(2025, 0, 1)
const HOUR = 3_600_000

describe('the graph of an EHR', () => {
  let patient: Patient
  let planId: string
  const graph = async (query = '', who: { call: Patient['call'] } = patient) =>
    assertStatus(await who.call('GET', `/ehr/${patient.ehrId}/summary/medgraph${query}`))
  const series = async (query: string): Promise<Series[]> => (await graph(query)).series

  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    for (const [i, systolic] of [118, 131, 184, 126].entries())
      assertStatus(
        await patient.call('POST', 'procedure/bloodpressure', {
          carePlanId: planId,
          timestamp: new Date(start + i * HOUR).toISOString(),
          systolic,
          systolicUnit: 'mm[Hg]',
          diastolic: 10 + i,
          diastolicUnit: 'kPa',
        }),
        201,
      )
  })

  it('has sorted points in their own units, with stats, axes and the usual bands', async () => {
    const { axes, series, annotations, ehrId, from, to } = await graph()
    assert.deepEqual([ehrId, from, to, annotations], [patient.ehrId, null, null, []])
    assert.deepEqual(
      series.map(({ id }: Series) => id),
      ['bloodpressure.systolic', 'bloodpressure.diastolic'],
    )
    const [systolic, diastolic] = series
    assert.deepEqual(
      systolic.points,
      [118, 131, 184, 126].map((y, i) => ({ x: start + i * HOUR, y })),
    )
    assert.deepEqual(systolic.stats, {
      min: 118,
      max: 184,
      mean: 139.75,
      last: { x: start + 3 * HOUR, y: 126 },
    })
    assert.equal(diastolic.points[0].y, 75.0062)
    assert.deepEqual(
      [systolic.total, systolic.returned, systolic.sampling, systolic.code.code, systolic.unitLabel],
      [4, 4, { algorithm: 'none', points: 4 }, '8480-6', 'mmHg'],
    )
    assert.deepEqual(
      systolic.bands.map(({ code, from, to }: Series['bands'][0]) => [code, from, to]),
      [
        ['optimal', null, 120],
        ['normal', 120, 130],
        ['high-normal', 130, 140],
        ['grade1', 140, 160],
        ['grade2', 160, 180],
        ['grade3', 180, null],
      ],
    )
    const [axis, ...others] = axes
    assert.deepEqual([axis.id, axis.label, axis.unit, others], ['pressure', 'Blood pressure', 'mm[Hg]', []])
    assert.ok(axis.min < 75 && axis.min > 0 && axis.max > 184 && axis.max < 300)
  })

  it('calls no value normal of which only the plausible range is known', async () => {
    const values: [string, object][] = [
      ['heartrate', { heartRate: 175, heartRateUnit: '/min' }],
      ['oxygensaturation', { oxygenSaturation: 89, oxygenSaturationUnit: '%' }],
      ['bloodglucose', { bloodGlucose: 19.5, bloodGlucoseUnit: 'mmol/L' }],
    ]
    const other = await createPatient()
    const carePlanId = await createPlan(other)
    for (const [path, value] of values)
      assertStatus(
        await other.call('POST', `procedure/${path}`, {
          carePlanId,
          timestamp: new Date(start).toISOString(),
          ...value,
        }),
        201,
      )
    const { series } = assertStatus(await other.call('GET', `/ehr/${other.ehrId}/summary/medgraph`))
    assert.deepEqual(
      new Map(
        series.map(({ measure, bands }: Values & { bands: Values[] }) => [
          measure,
          bands.map(({ code, from, to, level }) => [code, from, to, level].join()),
        ]),
      ),
      new Map([
        ['bloodglucose', ['low,,3,ALERT', 'high,20,,ALERT']],
        ['heartrate', ['low,,40,ALERT', 'high,180,,ALERT']],
        ['oxygensaturation', ['low,,88,ALERT']],
      ]),
    )
  })

  it('has the prescribed schema', async function () {
    const example = readCorpusFile<{ series: object[] }>(this, 'vectors/medgraph-example.json')
    assertShape(await graph('?measures=bloodpressure'), example)
  })

  it('has the bands of the plan’s thresholds, with alerts, events and diagnoses', async () => {
    const thresholds = { bloodpressure: { systolicHigh: 17, diastolicLow: 8, unit: 'kPa' } }
    const other = await createPlan(patient)
    const former = { bloodpressure: { ...thresholds.bloodpressure, systolicHigh: 19 } }
    assertStatus(await patient.call('PUT', `careplan/${planId}/thresholds`, former))
    assertStatus(await patient.call('PUT', `careplan/${other}/thresholds`, thresholds))
    const pressure = { systolic: 140, systolicUnit: 'mmHg', diastolic: 90, diastolicUnit: 'mmHg' }
    const timestamp = new Date(start + 9 * HOUR).toISOString()
    const body = { carePlanId: other, timestamp, ...pressure }
    const { id } = assertStatus(await patient.call('POST', 'procedure/bloodpressure', body), 201)
    const trip = { type: 'trip', title: 'A trip', start: timestamp, end: new Date(start + 12 * HOUR) }
    assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, trip), 201)
    const onset = timestamp.slice(0, 10)
    assertStatus(await patient.call('POST', 'diagnosis', { name: 'Hypertension', onset }), 201)
    const { series, annotations } = await graph(`?from=${timestamp}&measures=bloodpressure.systolic`)
    assert.deepEqual(series[0].bands, [
      { code: 'normal', label: 'Normal', from: null, to: 127.5105, severity: 0, level: 'NORMAL' },
      { code: 'high', label: 'High', from: 127.5105, to: null, severity: 2, level: 'ALERT' },
    ])
    assert.deepEqual(annotations.map(({ kind, x, xEnd, label }: Values) => [kind, x, xEnd, label]).sort(), [
      ['alert', start + 9 * HOUR, null, 'Blood pressure 140/90 mmHg: High'],
      ['diagnosis', start, null, 'Hypertension'],
      ['event', start + 9 * HOUR, start + 12 * HOUR, 'A trip'],
    ])
    assert.equal(
      assertStatus(await patient.call('GET', annotations.find(({ kind }: Values) => kind === 'alert').href))
        .id,
      id,
    )
    assertStatus(await patient.call('DELETE', `procedure/bloodpressure/${id}`), 204)
  })

  it('selects among many points, with the stats of all', async () => {
    const total = 6000
    const weights = service.db.collection<{ _id: string }>('BodyWeight')
    const { _id, ...weight } = (await weights.findOne({ _id: await added() })) ?? { _id: '' }
    const many = Array.from({ length: total - 1 }, (_, i) => ({
      ...weight,
      _id: `${String(_id).slice(0, 5)}${i}`,
      timestamp: new Date(start + i * HOUR),
      weightKg: i === 4321 ? 40.5 : 70 + Math.sin(i / 50),
    }))
    await weights.insertMany(many)
    const query = '?measures=bodyweight'
    const allPoints = await series(query)
    const few = await series(`${query}&points=50`)
    const raw = await series(`${query}&points=0`)
    for (const [shownSeries, most] of [
      [allPoints, 300],
      [few, 50],
      [raw, 5000],
    ] as const) {
      const [one] = shownSeries as [Series]
      assert.equal(one.total, total)
      assert.ok(one.returned <= most && one.returned > most - 3 && one.points.length === one.returned)
      assert.equal(one.sampling.algorithm, 'lttb')
      assert.deepEqual([one.stats?.min, one.stats?.last.y], [40.5, 68])
      assert.ok(one.points.some(({ y }) => y === 40.5))
      const times = one.points.map(({ x }) => x)
      assert.deepEqual(
        times,
        [...times].sort((a, b) => a - b),
      )
    }
    const narrow = await series(`${query}&points=0&to=${new Date(start + 4000 * HOUR).toISOString()}`)
    assert.deepEqual(
      [narrow[0]?.total, narrow[0]?.returned, narrow[0]?.sampling.algorithm],
      [4000, 4000, 'none'],
    )
  })

  const added = async (): Promise<string> =>
    assertStatus(
      await patient.call('POST', 'procedure/bodyweight', {
        carePlanId: planId,
        timestamp: '2026-06-01T00:00:00Z',
        weight: 68,
        weightUnit: 'kg',
      }),
      201,
    ).id

  it('shows a participant only the values of the plan, and audits it', async () => {
    const nurse = await createPerson()
    const ownPlan = await createPlan(patient)
    await addParticipant(ownPlan, nurse, 'read')
    assert.deepEqual((await graph('', nurse)).series, [])
    const since = new Date()
    await graph('?measures=bmi', nurse)
    assert.ok((await readAudit(patient.ehrId, since)).includes('query BodyMassIndex done'))
  })

  it('has a line without points for a requested measure without values', async () => {
    const [one] = (await series('?measures=bmi&from=1000-01-01T00:00:00Z&to=2999-01-01T00:00:00Z')) as [
      Series,
    ]
    assert.deepEqual([one.id, one.total, one.points, one.stats], ['bmi.bmi', 0, [], null])
  })

  it('links to itself with the same query, and to the timeline, which has such links, too', async () => {
    for (const [name, query] of [
      ['medgraph', '?measures=bloodpressure&from=2025-01-01T00%3A00%3A00%2B01%3A00&points=60'],
      ['timeline', '?kinds=bloodpressure&kinds=alert&limit=2&order=asc'],
      ['medgraph', ''],
    ] as const) {
      const path = `/ehr/${patient.ehrId}/summary/${name}`
      const summary = assertStatus(await patient.call('GET', `${path}${query}`))
      const { self } = summary.links
      const parameters = (address: string) => [...new URLSearchParams(address.split('?')[1])].sort()
      assert.deepEqual(parameters(self), parameters(query))
      assert.deepEqual(assertStatus(await patient.call('GET', self)), summary)
    }
  })

  it('refuses invalid parameters by name', async () => {
    const places = async (query: string) =>
      assertProblemPlaces(await patient.call('GET', `summary/medgraph?${query}`), 400, 'invalid-input')
    assert.deepEqual(await places('points=5001'), ['query.points'])
    assert.deepEqual(await places('points=-1&from=now'), ['query.from', 'query.points'])
    assert.deepEqual(await places('measures=shoesize,bmi,constructor'), ['query.measures', 'query.measures'])
    assert.deepEqual(await places('from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z'), ['query.to'])
  })
})
