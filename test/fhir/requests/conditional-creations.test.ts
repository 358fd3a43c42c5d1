import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { bloodPressureOf, callFhir, idsIn, issuesIn, type Json, readFhir } from '../fhir-client.ts'

const SIMULTANEOUS = Array.from({ length: 8 })

describe('a creation under a condition in FHIR', () => {
  let patient: Patient
  let nurse: Person
  before(async () => {
    patient = await createPatient()
    nurse = await createPerson()
    await addParticipant(await createPlan(patient), nurse, 'write')
  })

  const conditionOf = (day: string) => `patient=${patient.ehrId}&date=${day}&code=85354-9`
  const pressure = (day: string, more: object = {}) =>
    bloodPressureOf(patient.ehrId, { effectiveDateTime: `${day}T08:00:00Z`, ...more })
  const idsOf = async (day: string) => idsIn(await readFhir(patient, `Observation?${conditionOf(day)}`))

  it('creates one resource, however many requests of different users arrive at the same time', async () => {
    const day = '2025-01-01'
    const answers = await Promise.all(
      SIMULTANEOUS.map((_, i) =>
        callFhir(i % 2 ? nurse : patient, 'POST', 'Observation', pressure(day), {
          'if-none-exist': conditionOf(day),
        }),
      ),
    )
    const [id, ...others] = await idsOf(day)
    assert.deepEqual(others, [])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      ...SIMULTANEOUS.slice(1).map(() => 200),
      201,
    ])
    assert.ok(answers.every(({ body }) => body.id === id))
  })

  it('updates what another request has created meanwhile', async () => {
    const day = '2025-01-02'
    const notes = SIMULTANEOUS.map((_, i) => `Note ${i}`)
    const answers = await Promise.all(
      notes.map((text) =>
        callFhir(patient, 'PUT', `Observation?${conditionOf(day)}`, pressure(day, { note: [{ text }] })),
      ),
    )
    const [id, ...others] = await idsOf(day)
    assert.deepEqual(others, [])
    for (const answer of answers) assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body))
    const observation = await readFhir(patient, `Observation/${id}`)
    assert.equal(Number(observation.meta.versionId), notes.length)
  })

  it('creates one resource, whether requests create or update under the condition, in any order', async () => {
    const day = '2025-01-06'
    const inOtherOrder = conditionOf(day).split('&').reverse().join('&')
    const answers = await Promise.all([
      callFhir(patient, 'POST', 'Observation', pressure(day), { 'if-none-exist': conditionOf(day) }),
      callFhir(patient, 'POST', 'Observation', pressure(day), {
        'if-none-exist': `${inOtherOrder}&_format=json`,
      }),
      callFhir(patient, 'PUT', `Observation?${conditionOf(day)}`, pressure(day)),
      callFhir(patient, 'PUT', `Observation?${inOtherOrder}`, pressure(day)),
    ])
    assert.equal((await idsOf(day)).length, 1)
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 201])
  })

  it('creates one resource, however requests spell the condition', async () => {
    const day = '2025-01-07'
    const base = (await readFhir(patient, 'metadata')).implementation.url
    const patients = [
      `patient=${patient.ehrId}`,
      `patient=Patient/${patient.ehrId}`,
      `subject=${base}/Patient/${patient.ehrId}`,
      `subject:Patient=${patient.ehrId}`,
      `subject=Patient%2F${patient.ehrId}&patient=${patient.ehrId}`,
    ]
    const dates = [`date=${day}`, `date=eq${day}`, `dat%65=${day}`]
    const conditions = patients.flatMap((one, i) => [
      `${one}&${dates[i % 3]}&code=85354-9`,
      `code=85354-9&${dates[(i + 1) % 3]}&${one}&${one}`,
    ])
    const answers = await Promise.all(
      conditions.map((condition, i) =>
        i % 2
          ? callFhir(patient, 'PUT', `Observation?${condition}`, pressure(day))
          : callFhir(patient, 'POST', 'Observation', pressure(day), { 'if-none-exist': condition }),
      ),
    )
    assert.equal((await idsOf(day)).length, 1)
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...conditions.slice(1).map(() => 200), 201])
  })

  it('updates or creates a resource that others delete at the same time', async () => {
    const day = '2025-01-08'
    const update = {
      resource: pressure(day),
      request: { method: 'PUT', url: `Observation?${conditionOf(day)}` },
    }
    const bundle = (type: string) => ({ resourceType: 'Bundle', type, entry: [update] })
    const remove = async () =>
      callFhir(patient, 'DELETE', `Observation/${(await idsOf(day))[0] ?? 'unknown'}`)
    for (let i = 0; i < 12; i++) {
      await callFhir(patient, 'PUT', `Observation?${conditionOf(day)}`, pressure(day))
      const [deletion, other, direct, batch, transaction] = await Promise.all([
        remove(),
        remove(),
        callFhir(patient, 'PUT', `Observation?${conditionOf(day)}`, pressure(day)),
        callFhir(nurse, 'POST', '', bundle('batch')),
        callFhir(nurse, 'POST', '', bundle('transaction')),
      ])
      assert.deepEqual([deletion.status, other.status], [204, 204])
      assert.ok([200, 201].includes(direct.status), JSON.stringify(direct.body))
      assert.match(batch.body.entry[0].response.status, /^20[01]$/)
      assert.ok([200, 409].includes(transaction.status), JSON.stringify(transaction.body))
    }
  })

  it('creates one resource in simultaneous Bundles, and none twice in one', async () => {
    const entryOf = (day: string) => ({
      resource: pressure(day),
      request: { method: 'POST', url: 'Observation', ifNoneExist: conditionOf(day) },
    })
    const send = (type: string, entry: object[]) =>
      callFhir(patient, 'POST', '', { resourceType: 'Bundle', type, entry })
    for (const [type, day] of [
      ['transaction', '2025-01-03'],
      ['batch', '2025-01-04'],
    ] as const) {
      const answers = await Promise.all(SIMULTANEOUS.map(() => send(type, [entryOf(day)])))
      const [id, ...others] = await idsOf(day)
      assert.deepEqual(others, [])
      for (const { status, body } of answers) {
        assert.ok(status === 200 || (type === 'transaction' && status === 409), JSON.stringify(body))
        if (status === 200) assert.equal(body.entry[0].resource.id, id)
      }
      const [again] = assertStatus(await send(type, [entryOf(day)])).entry.map(
        ({ response }: Json) => response,
      )
      assert.equal(again.status, '200')
    }
    const twice = await send('transaction', [entryOf('2025-01-05'), entryOf('2025-01-05')])
    assert.deepEqual([twice.status, ...issuesIn(twice)], [422, 'duplicate Bundle.entry[1]'])
    assert.deepEqual(await idsOf('2025-01-05'), [])
    const url = `Observation?${conditionOf('2025-01-05').split('&').reverse().join('&')}`
    const update = { resource: pressure('2025-01-05'), request: { method: 'PUT', url } }
    const inTwoOrders = await send('transaction', [entryOf('2025-01-05'), update])
    assert.deepEqual([inTwoOrders.status, ...issuesIn(inTwoOrders)], [422, 'duplicate Bundle.entry[1]'])
  })
})
