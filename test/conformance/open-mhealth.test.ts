import assert from 'node:assert/strict'
import fc from 'fast-check'
import { MEASUREMENT_KINDS } from '../../records/kinds.ts'
import { uuidFromText } from '../../records/store/documents/ids.ts'
import type { DataPoint } from '../../schemas/measurements/data-point.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { arbitraryMeasurement } from '../harness/care/samples/arbitrary-measurements.ts'
import { exampleBody, findAddOperation } from '../harness/care/samples/examples.ts'
import { createClassClient, parseDate } from '../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { listCorpusFiles, readCorpusFile } from '../harness/corpus.ts'
import { createPerson } from '../harness/people/people.ts'
import { bySize } from '../harness/test-size.ts'
import { type Namespace, omhSchemas } from './omh-schemas.ts'

describe('the official schemas of Open mHealth', () => {
  it('classify every file of the corpus as its name says', function () {
    const schemaOf = omhSchemas(this)
    const files = listCorpusFiles(this, 'omh/test-data')
    assert.ok(files.length > 80)
    for (const file of files) {
      const [, , namespace, name = '', version = '', verdict] = file.split('/')
      const passes = schemaOf(namespace as Namespace, name, version)(readCorpusFile(this, file))
      assert.equal(passes, verdict === 'shouldPass', file)
    }
  })
})

describe('measurements as data points', () => {
  const pathOf = (kind: { name: string }, { ehrId }: Patient) =>
    `${findAddOperation(kind.name as never)?.path}`.replace('{ehrId}', ehrId)

  /** Asserts that a point is valid by both headers, both frames, and the schema that it names. */
  function assertOfficial(schemaOf: ReturnType<typeof omhSchemas>, point: DataPoint): void {
    const { namespace, name, version } = point.header.schema_id
    const verdicts = [
      ['omh', 'header', '1.2', point.header] as const,
      ['ieee', 'header', '1.0', point.header] as const,
      ['omh', 'data-point', '1.0', point] as const,
      ['ieee', 'data-point', '1.0', point] as const,
      [namespace, name, version, point.body] as const,
    ]
    for (const [space, of, edition, value] of verdicts) {
      const schema = schemaOf(space, of, edition)
      assert.ok(schema(value), `${of}: ${JSON.stringify([value, schema.errors])}`)
    }
  }

  for (const kind of MEASUREMENT_KINDS.filter(({ omh }) => omh))
    it(`match the schemas for any valid ${kind.noun}`, async function () {
      const schemaOf = omhSchemas(this)
      const arbitraryRecords = fc.array(arbitraryMeasurement(kind), { minLength: 50, maxLength: 50 })
      await fc.assert(
        fc.asyncProperty(arbitraryRecords, async (measurements) => {
          const patient = await createPatient()
          const carePlanId = await createPlan(patient)
          const items = measurements.map((one) => ({ carePlanId, ...one, kind: kind.path }))
          const answer = assertStatus(await patient.call('POST', 'procedure/batch', { items }))
          assert.equal(answer.refused, 0, JSON.stringify(answer.items))
          const list = await patient.call('GET', `${pathOf(kind, patient)}/omh?limit=1000`)
          const points: DataPoint[] = assertStatus(list)
          assert.equal(points.length, answer.stored)
          for (const point of points) assertOfficial(schemaOf, point)
        }),
        { numRuns: bySize(1, 20), endOnFailure: true },
      )
    })

  it('contain value, method and time, and show the present value of a corrected measurement', async () => {
    const ownPatient = await createPatient()
    const timestamp = '2026-03-01T08:30:00.000Z'
    const commonFields = {
      carePlanId: await createPlan(ownPatient),
      timestamp,
      position: 'lying',
      location: 'left-arm',
    }
    const pressure = {
      systolic: 16,
      systolicUnit: 'kPa',
      diastolic: 82,
      diastolicUnit: 'mm[Hg]',
      source: 'sensed',
    }
    const path = `/ehr/${ownPatient.ehrId}/procedure/bloodpressure`
    const { id } = assertStatus(await ownPatient.call('POST', path, { ...commonFields, ...pressure }), 201)
    const [first] = assertStatus(await ownPatient.call('GET', `${path}/omh`))
    assert.deepEqual(first.body, {
      systolic_blood_pressure: { value: 120.0099, unit: 'mmHg' },
      diastolic_blood_pressure: { value: 82, unit: 'mmHg' },
      body_posture: 'lying down',
      measurement_location: 'left upper arm',
      effective_time_frame: { date_time: timestamp },
    })
    const { header } = first
    assert.deepEqual(header.schema_id, { namespace: 'omh', name: 'blood-pressure', version: '4.0' })
    assert.deepEqual([header.user_id, header.modality, header.uuid], [ownPatient.ehrId, 'sensed', header.id])
    assertStatus(
      await ownPatient.call('PUT', `${path}/${id}`, { ...commonFields, ...pressure, diastolic: 79 }),
    )
    const [second] = assertStatus(await ownPatient.call('GET', `${path}/omh`))
    assert.equal(second.body.diastolic_blood_pressure.value, 79)
    assert.equal(second.header.uuid, header.uuid)
    assert.match(second.header.acquisition_provenance.source_data_point_id, /::2$/)
    assert.equal(header.uuid, uuidFromText(`${ownPatient.ehrId}/BloodPressure/${id}`))
    const { source: _, ...score } = exampleBody('Acq')
    for (const source of [undefined, 'sensed'])
      assertStatus(
        await ownPatient.call('POST', 'procedure/acq', {
          ...score,
          ...(source && { source, timestamp }),
          carePlanId: commonFields.carePlanId,
        }),
        201,
      )
    const points: DataPoint[] = assertStatus(await ownPatient.call('GET', 'procedure/acq/omh'))
    assert.deepEqual(points.map((point) => point.header.modality).sort(), ['self-reported', 'sensed'])
  })

  it('leave out data that the schema cannot express, and are listed like measurements', async () => {
    const ownPatient = await createPatient()
    const plan = await createPlan(ownPatient)
    const half = {
      carePlanId: plan,
      systolic: 120,
      systolicUnit: 'mmHg',
      timestamp: parseDate('2026-03-05T08:30:00.000Z'),
    }
    await createClassClient(ownPatient).post('BloodPressure', half).expect(201)
    const path = `/ehr/${ownPatient.ehrId}/procedure/bloodpressure`
    for (const day of [1, 2, 3])
      assertStatus(
        await ownPatient.call('POST', path, {
          carePlanId: plan,
          timestamp: `2026-03-0${day}T08:30:00Z`,
          systolic: 120 + day,
          systolicUnit: 'mmHg',
          diastolic: 80,
          diastolicUnit: 'mmHg',
        }),
        201,
      )
    const values: number[] = []
    let next: string | undefined = `${path}/omh?limit=2`
    while (next !== undefined) {
      const answer = await ownPatient.call('GET', next)
      for (const { body } of assertStatus(answer)) values.push(body.systolic_blood_pressure.value)
      next = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    assert.deepEqual(values, [123, 122, 121])
    const range = '?from=2026-03-02T08:30:00Z&to=2026-03-03T08:30:00Z'
    assert.equal(assertStatus(await ownPatient.call('GET', `${path}/omh${range}`)).length, 1)
    assertProblem(await ownPatient.call('GET', `${path}/omh?carePlanId=doesNotExist`), 404, 'not-found')
    assertProblem(await (await createPerson()).call('GET', `${path}/omh`), 404, 'not-found')
  })
})
