import assert from 'node:assert/strict'
import { byClass } from '../../family-kinds.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertError, parseDate } from '../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'

type Json = Record<string, unknown>

const timestamp = '2026-03-01T08:30:00.000Z'
const DSMQ = [3, 2, 3, 'NR', 1, 'NR', 0, 1, 2, 1, 2, 1, 1, 0, 2, 1]
const HADS = [2, 1, null, 1, 2, 0, 1, 1, 2, 0, 1, 1, 1, 0]

describe('questionnaires', () => {
  let patient: Patient
  let carePlanId: string
  beforeEach(async () => {
    patient ??= await createPatient()
    carePlanId = await createPlan(patient)
  })

  const pathOf = (kind: string, id = '') => `/ehr/${patient.ehrId}/procedure/${kind}${id && `/${id}`}`
  const send = (kind: string, body: object) =>
    patient.call('POST', pathOf(kind), { carePlanId, timestamp, ...body })
  const store = async (kind: string, body: object) => assertStatus(await send(kind, body), 201)
  const acq = (day: string, answers: (number | null)[], more: object = {}) =>
    store('acq', {
      timestamp: `2026-03-${day}T08:00:00.000Z`,
      version: answers.length,
      answers,
      ...more,
    })

  it('are stored as answered, with their scores', async () => {
    const one = await acq('01', [2, 1, 2, 1, 1, 2])
    assert.deepEqual(
      [one.version, one.answers, one.score, one.sum, one.answered, one.control, one.change],
      [6, [2, 1, 2, 1, 1, 2], 1.5, 9, 6, 'not-well-controlled', null],
    )
    assert.equal(one.compositionId, one.id)
    assert.deepEqual(assertStatus(await patient.call('GET', pathOf('acq', one.id))), one)
    const facts = { version: 7, answers: [1, 1, 0, 1, 0], relieverPuffs: 0, fev1PercentPredicted: 92 }
    const seven = await store('acq', facts)
    assert.deepEqual([seven.score, seven.sum, seven.relieverPuffs], [0.57, 4, 0])

    const hads = await store('hads', { answers: HADS })
    assert.deepEqual(hads.anxiety, { score: 10.5, missing: 1, band: 'abnormal' })
    assert.deepEqual(hads.depression, { score: 4, missing: 0, band: 'normal' })
    const ticked = await store('hads', { optionIndex: Array(14).fill(0) })
    assert.deepEqual([ticked.answers, ticked.anxiety.score, ticked.depression.score], [null, 15, 9])

    const dsmq = await store('dsmq', { answers: DSMQ })
    assert.deepEqual(dsmq.answers, DSMQ)
    assert.deepEqual(dsmq.scales.GM, { raw: 7, max: 9, score: 7.78, answered: 3 })
    assert.deepEqual(dsmq.scales.SS, { raw: 29, max: 42, score: 6.9, answered: 14 })
  })

  it('have no score if too many answers are missing', async () => {
    const acqs = await acq('01', [1, null, 1, 1, 1])
    assert.deepEqual([acqs.score, acqs.sum, acqs.control, acqs.answered], [null, null, null, 4])
    const { scales } = await store('dsmq', { answers: Array(16).fill('NR') })
    assert.deepEqual(scales, { GM: null, DC: null, PA: null, HU: null, SS: null })
    const { anxiety } = await store('hads', { answers: Array(14).fill(null) })
    assert.deepEqual(anxiety, { score: null, band: null, missing: 7 })
  })

  it('are scored again after a correction or restore, by either family', async () => {
    const { id } = await acq('01', [0, 0, 0, 0, 0])
    const corrected = { timestamp, version: 6, answers: [3, 3, 3, 3, 3, 3] }
    assert.equal(assertStatus(await patient.call('PUT', pathOf('acq', id), corrected)).score, 3)
    const { body: object } = await byClass(patient)
      .put('Acq', id, { answers: [1, 1, 1, 1, 1, 1] })
      .expect(200)
    assert.equal(object.score, 1)
    const answer = await patient.call('GET', pathOf('acq', id))
    assert.deepEqual(
      [assertStatus(answer).score, assertStatus(answer).control, answer.etag],
      [1, 'borderline', '"3"'],
    )
    assert.equal(
      assertStatus(await patient.call('POST', `${pathOf('acq', id)}/restore`, { version: 1 })).score,
      0,
    )
    const { items } = assertStatus(await patient.call('GET', `${pathOf('acq', id)}/history`))
    const [restored, , first] = items
    assert.deepEqual(restored.changed.toSorted(), ['answers', 'timestamp', 'version'])
    assert.deepEqual([first.before.version, first.before.score], [5, 0])

    const place = { carePlanId, timestamp: parseDate(timestamp) }
    const { body } = await byClass(patient)
      .post('Dsmq', { ...place, answers: DSMQ })
      .expect(201)
    assert.equal(assertStatus(await patient.call('GET', pathOf('dsmq', body.objectId))).scales.SS.score, 6.9)
    const ticked = { answers: null, optionIndex: Array(14).fill(3) }
    const { objectId } = (
      await byClass(patient)
        .post('Hads', { ...place, answers: HADS })
        .expect(201)
    ).body
    assert.equal((await byClass(patient).put('Hads', objectId, ticked).expect(200)).body.anxiety.score, 6)
  })

  it('are data points of IEEE 1752.1 if about asthma, with our own labels for the questions', async () => {
    const { id } = await store('acq', { version: 6, answers: [2, 1, 2, null, 1], relieverPuffs: 3 })
    const [{ header, body }] = assertStatus(
      await patient.call('GET', `${pathOf('acq')}/omh?carePlanId=${carePlanId}`),
    )
    assert.deepEqual(header.schema_id, { namespace: 'ieee', name: 'survey', version: '1.0' })
    assert.match(header.acquisition_provenance.source_data_point_id, new RegExp(`^${id}::.*::1$`))
    assert.deepEqual(body.items[5], {
      question: { label: 'acq-6', text: 'Reliever use' },
      answers: [{ value: 2, code: 2 }],
    })
    assert.deepEqual(body.items[3].answers, [])
    assert.deepEqual(body.delivery_details, { end_date_time: timestamp, end_status: 'abandoned' })
    assert.deepEqual(body.score, { instrument: 'ACQ-6', value: null, sum: null, answered: 5, control: null })
  })

  it('are accepted in batches, too', async () => {
    const answeredAt = '2026-05-01T08:30:00.000Z'
    const answersOf = (kind: string, body: object) => ({ kind, carePlanId, timestamp: answeredAt, ...body })
    const items = [
      answersOf('acq', { version: 5, answers: [2, 2, 2, 2, 2] }),
      answersOf('dsmq', { answers: DSMQ }),
      answersOf('acq', { version: 6, answers: [2, 2, 2, 2, 2] }),
    ]
    const answer = assertStatus(await patient.call('POST', pathOf('batch'), { items }))
    assert.deepEqual([answer.stored, answer.refused], [2, 1])
    assert.equal(answer.items[2].errors[0].path, 'body.items.2.answers')
    const [{ id, status }] = answer.items
    assert.deepEqual(
      [status, assertStatus(await patient.call('GET', pathOf('acq', id))).version],
      ['stored', 5],
    )
    assert.equal(assertStatus(await patient.call('POST', pathOf('batch'), { items })).known, 2)
  })

  it('never accept a score from a client', async () => {
    const places: [string, string, Json, Json][] = [
      ['acq', 'Acq', { answers: [1, 1, 1, 1, 1] }, { score: 0 }],
      ['hads', 'Hads', { answers: HADS }, { anxiety: { score: 0, band: 'normal', missing: 0 } }],
      ['dsmq', 'Dsmq', { answers: DSMQ }, { scales: { GM: null } }],
    ]
    for (const [kind, name, body, score] of places) {
      const path = kind === 'acq' ? { version: 5 } : {}
      const object = kind === 'acq' ? { acqVersion: 5 } : {}
      assertProblem(await send(kind, { ...path, ...body, ...score }), 400, 'invalid-input')
      const fields = { carePlanId, timestamp: parseDate(timestamp), ...object, ...body }
      assertError(
        await byClass(patient).post(name, { ...fields, ...score }),
        142,
        /must not be set by clients/,
      )
      const { objectId } = (await byClass(patient).post(name, fields).expect(201)).body
      assertError(await byClass(patient).put(name, objectId, score), 142, /cannot be changed/)
    }
    assertProblem(
      await send('acq', { version: 5, answers: [1, 1, 1, 1, 1], change: null }),
      400,
      'invalid-input',
    )
  })

  it('reject invalid answers, with all violations', async () => {
    const full = (length: number, value: unknown = 1) => Array(length).fill(value)
    const faulty: [string, Json, number, string[]][] = [
      ['acq', { version: 4, answers: full(4) }, 400, ['body.version']],
      ['acq', { version: '5', answers: 'none' }, 400, ['body.version', 'body.answers']],
      [
        'acq',
        { version: 5, answers: [0.5, 7, -1, 'NR', 1] },
        400,
        [0, 1, 2, 3].map((i) => `body.answers.${i}`),
      ],
      ['acq', { version: 5, answers: full(6) }, 422, ['body.answers']],
      ['acq', { version: 7, answers: full(6) }, 422, ['body.answers']],
      ['acq', { version: 6, answers: full(6), relieverPuffs: 1 }, 422, ['body.relieverPuffs']],
      ['acq', { version: 5, answers: full(5), acqVersion: 5 }, 400, ['body.acqVersion']],
      ['hads', { answers: full(13) }, 400, ['body.answers']],
      [
        'hads',
        { answers: full(15), optionIndex: [4] },
        400,
        ['body.optionIndex', 'body.optionIndex.0', 'body.answers'],
      ],
      ['hads', { answers: full(14), optionIndex: full(14) }, 422, ['body.optionIndex']],
      ['hads', {}, 422, ['body.answers']],
      ['hads', { answers: full(14, 0.5) }, 400, full(14, '').map((_, i) => `body.answers.${i}`)],
      ['dsmq', { answers: [...full(15), 0.5] }, 400, ['body.answers.15']],
      ['dsmq', { answers: [...full(15), 'nr'] }, 400, ['body.answers.15']],
      ['dsmq', { answers: full(17) }, 400, ['body.answers']],
      ['dsmq', { answers: null }, 400, ['body.answers']],
    ]
    for (const [kind, body, status, paths] of faulty) {
      const answer = await send(kind, body)
      const message = `${kind} ${JSON.stringify(body)} ${JSON.stringify(answer.body)}`
      assert.equal(answer.status, status, message)
      const errorPaths = new Set<string>(answer.body.errors.map(({ path }: { path: string }) => path))
      assert.deepEqual([...errorPaths].toSorted(), paths.toSorted(), message)
    }
    const place = { carePlanId, timestamp: parseDate(timestamp) }
    const { post } = byClass(patient)
    assertError(await post('Acq', { ...place, answers: [1] }), 141, 'Missing required properties: acqVersion')
    assertError(
      await post('Acq', { ...place, acqVersion: 4, answers: full(4) }),
      142,
      /acqVersion must be one of 5, 6, 7/,
    )
    assertError(
      await post('Acq', { ...place, acqVersion: 6, answers: full(5) }),
      142,
      /answers must contain 6 items/,
    )
    assertError(await post('Hads', place), 141, 'Missing required properties: answers')
    assertError(
      await post('Hads', { ...place, answers: HADS, optionIndex: HADS }),
      142,
      /optionIndex must be left out/,
    )
    assertError(
      await post('Dsmq', { ...place, answers: full(16, 0.5) }),
      142,
      /answers.0 must be one of 0, 1, 2, 3, NR/,
    )
  })

  describe('about asthma', () => {
    const changeOf = async (id: string) => assertStatus(await patient.call('GET', pathOf('acq', id))).change
    const listDeltas = async (query = '') => {
      const { items } = assertStatus(
        await patient.call('GET', `${pathOf('acq')}?carePlanId=${carePlanId}${query}`),
      )
      return items.map(({ change }: { change: Json | null }) => change?.delta ?? null)
    }

    it('show the change since the previous score of the same version in the same care plan', async () => {
      await acq('01', [2, 2, 2, 2, 1])
      await acq('03', [0, 0, 0, 0, 0, 0])
      await acq('04', [1, null, 1, 1, 1])
      const other = await createPlan(patient)
      await acq('05', [6, 6, 6, 6, 6], { carePlanId: other })
      const last = await acq('06', [2, 1, 1, 1, 1.0])
      const change = { since: '2026-03-01T08:00:00.000Z', delta: -0.6, important: true }
      assert.deepEqual(last.change, change)
      assert.deepEqual(await changeOf(last.id), change)
      assert.deepEqual(await listDeltas(), [-0.6, null, null, null])
      assert.deepEqual(await listDeltas('&limit=1'), [-0.6])
      assert.deepEqual(await listDeltas('&from=2026-03-06T00:00:00Z'), [-0.6])
      const child = await acq('07', [1, 1, 1, 1, 0], { age: 12 })
      assert.deepEqual([child.change.delta, child.change.important], [-0.4, true])
    })

    it('show the change after corrections, additions and deletions at once, and with another ETag', async () => {
      const firstAnswers = await acq('01', [2, 2, 2, 2, 2])
      const last = await acq('09', [1, 1, 1, 1, 1])
      const look = () => patient.call('GET', pathOf('acq', last.id))
      const etags = [(await look()).etag]
      const changed = async (delta: number | null) => {
        const answer = await look()
        assert.equal(assertStatus(answer).change?.delta ?? null, delta)
        assert.ok(!etags.includes(answer.etag), answer.etag)
        etags.push(answer.etag)
      }
      const corrected = { version: 5, answers: [3, 3, 3, 3, 3], timestamp: firstAnswers.timestamp }
      assertStatus(await patient.call('PUT', pathOf('acq', firstAnswers.id), corrected))
      await changed(-2)
      const between = await acq('05', [1, 1, 1, 1, 2])
      await changed(-0.2)
      assertStatus(await patient.call('DELETE', pathOf('acq', between.id)), 204)
      assertStatus(await patient.call('DELETE', pathOf('acq', firstAnswers.id)), 204)
      await changed(null)
      assert.equal(etags.at(-1), '"1"')
      assertStatus(
        await patient.call('PUT', pathOf('acq', last.id), corrected, { 'if-match': etags[1] ?? '' }),
      )
    })

    it('show the change to everybody who sees the plan', async () => {
      await acq('01', [2, 2, 2, 2, 2])
      const { id } = await acq('02', [1, 1, 1, 1, 1])
      const nurse = await createPerson()
      await addParticipant(carePlanId, nurse, 'read')
      assert.equal(assertStatus(await nurse.call('GET', pathOf('acq', id))).change.delta, -1)
    })
  })
})
