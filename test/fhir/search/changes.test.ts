import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

/** The versions in a history as `METHOD Type/id version`. */
const versionsIn = ({ entry = [] }: Json): string[] =>
  entry.map(
    ({ request, response, fullUrl }: Json) =>
      `${request.method} ${fullUrl.split('/fhir/R4/')[1]} ${response.etag.replace(/\D/g, '')}`,
  )

async function readHistory(who: Person | Patient, path: string): Promise<string[]> {
  const urls: string[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const bundle: Json = await readFhir(who, next)
    assert.equal(bundle.type, 'history')
    urls.push(...versionsIn(bundle))
    next = bundle.link.find(({ relation }: Json) => relation === 'next')?.url.replace(/^.*\/fhir\/R4\//, '')
  }
  return urls
}

describe('the history of a type, and of all types, in FHIR', () => {
  let patient: Patient
  let planId: string
  let weightId: string
  let bmiId: string
  /** The versions of observations, newest first. */
  let expected: string[]
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    weightId = await createWeight(patient, planId)
    const weight = await readFhir(patient, `Observation/${weightId}`)
    const corrected = { ...weight, note: [{ text: 'After breakfast' }] }
    assertStatus(await callFhir(patient, 'PUT', `Observation/${weightId}`, corrected))
    const bmi = { carePlanId: planId, weight: 70, weightUnit: 'kg', height: 1.8, heightUnit: 'm' }
    bmiId = assertStatus(
      await patient.call('POST', 'procedure/bmi', { ...bmi, timestamp: '2026-03-02T08:30:00Z' }),
      201,
    ).id
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${weightId}`), 204)
    expected = [
      `DELETE Observation/${weightId} 3`,
      `POST Observation/${bmiId} 1`,
      `POST Observation/${bmiId}.w 1`,
      `POST Observation/${bmiId}.h 1`,
      `PUT Observation/${weightId} 2`,
      `POST Observation/${weightId} 1`,
    ]
  })

  it('shows all versions of a type, newest first, with the resources of that time', async () => {
    const bundle = await readFhir(patient, 'Observation/_history')
    assert.deepEqual(versionsIn(bundle), expected)
    const [deleted, , , , corrected, created] = bundle.entry
    assert.equal(deleted.resource, undefined)
    assert.equal(corrected.resource.note[0].text, 'After breakfast')
    assert.equal(created.resource.note, undefined)
    assert.equal(created.resource.meta.versionId, '1')
  })

  it('shows the same by pages of any size', async () => {
    for (const count of [1, 2, 4])
      assert.deepEqual(
        await readHistory(patient, `Observation/_history?_count=${count}`),
        expected,
        `${count}`,
      )
  })

  it('shows a part of a record appear and disappear', async () => {
    const mine = await createPatient()
    const body = { carePlanId: await createPlan(mine), timestamp: '2026-03-01T08:30:00Z' }
    const values = { systolic: 128, systolicUnit: 'mmHg', diastolic: 82, diastolicUnit: 'mmHg' }
    const path = 'procedure/bloodpressure'
    const { id } = assertStatus(await mine.call('POST', path, { ...body, ...values }), 201)
    const rate = `Observation/${id}.hr`
    const write = async (more: object) =>
      assertStatus(await mine.call('PUT', `${path}/${id}`, { ...body, ...values, ...more }))
    await write({ comment: 'At home' })
    for (const part of [rate, `${rate}/_history`, `${rate}/_history/1`]) await readFhir(mine, part, 404)
    await write({ comment: 'At home', heartRate: 66 })
    const created = [`POST ${rate} 3`]
    assert.deepEqual(await readHistory(mine, `${rate}/_history`), created)
    for (const version of [1, 2]) await readFhir(mine, `${rate}/_history/${version}`, 404)
    await write({ comment: 'At home' })
    await write({})
    for (const part of [rate, `${rate}/_history/4`]) await readFhir(mine, part, 410)
    for (const version of [5, 6]) await readFhir(mine, `${rate}/_history/${version}`, 404)
    assert.equal((await readFhir(mine, `${rate}/_history/3`)).valueQuantity.value, 66)
    const deleted = [`DELETE ${rate} 4`, ...created]
    assert.deepEqual(await readHistory(mine, `${rate}/_history`), deleted)
    const ofPart = async (query: string) =>
      (await readHistory(mine, `Observation/_history?${query}`)).filter((one) => one.includes(rate))
    for (const count of [1, 2, 20]) {
      assert.deepEqual(await readHistory(mine, `${rate}/_history?_count=${count}`), deleted)
      assert.deepEqual(await ofPart(`_count=${count}`), deleted)
    }
    assertStatus(await callFhir(mine, 'DELETE', `Observation/${id}`), 204)
    assert.deepEqual(await ofPart(''), deleted)
    await readFhir(mine, rate, 410)
  })

  it('has cursors of its own for a record that is hidden with its plan', async () => {
    const mine = await createPatient()
    const ownPlanId = await createPlan(mine)
    const id = await createWeight(mine, ownPlanId)
    const weight = await readFhir(mine, `Observation/${id}`)
    for (const text of ['Before breakfast', 'After breakfast'])
      assertStatus(await callFhir(mine, 'PUT', `Observation/${id}`, { ...weight, note: [{ text }] }))
    assertStatus(await mine.call('DELETE', `/ehr/${mine.ehrId}/careplan/${ownPlanId}`), 204)
    const path = `Observation/${id}/_history`
    assert.deepEqual(await readHistory(mine, `${path}?_count=1`), await readHistory(mine, path))
    const { link } = await readFhir(mine, 'Observation/_history?_count=1')
    const next = link.find(({ relation }: Json) => relation === 'next').url
    const cursor = new URL(next).searchParams.get('_cursor')
    await readFhir(mine, `${path}?_count=1&_cursor=${cursor}`, 400)
  })

  it('shows the deletion of a record that has returned', async () => {
    const mine = await createPatient()
    const { id } = assertStatus(await mine.call('POST', 'diagnosis', { name: 'Asthma' }), 201)
    assertStatus(await callFhir(mine, 'DELETE', `Condition/${id}`), 204)
    assertStatus(await mine.call('POST', `diagnosis/${id}/restore`, { version: 1 }))
    await readFhir(mine, `Condition/${id}/_history/2`, 410)
    await readFhir(mine, `Condition/${id}/_history/4`, 404)
  })

  it('shows all types, and only what is newer than a time', async () => {
    await sleep(2)
    const since = new Date().toISOString()
    const goal = assertStatus(await patient.call('POST', `careplan/${planId}/goal`, { name: 'Walk' }), 201).id
    const history = await readHistory(patient, '_history?_count=3')
    assert.deepEqual(history, [`POST Goal/${goal} 1`, ...expected, `POST CarePlan/${planId} 1`])
    assert.deepEqual(await readHistory(patient, `_history?_since=${since}`), [`POST Goal/${goal} 1`])
  })

  it('shows a participant the records of the own care plans alone', async () => {
    const nurse = await createPerson()
    const other = await createPlan(patient)
    const otherId = await createWeight(patient, other)
    await addParticipant(other, nurse, 'read')
    assert.deepEqual(await readHistory(nurse, 'Observation/_history'), [`POST Observation/${otherId} 1`])
    const since = new Date()
    assert.deepEqual(await readHistory(nurse, `_history?patient=${patient.ehrId}`), [
      `POST Observation/${otherId} 1`,
      `POST CarePlan/${other} 1`,
    ])
    assert.deepEqual((await readAudit(patient.ehrId, since)).sort(), [
      'query BodyWeight done',
      'query CarePlan done',
    ])
  })

  it('shows a stranger nothing, and leaves an entry in the audit', async () => {
    const stranger = await createPatient()
    const since = new Date()
    assert.deepEqual(await readHistory(stranger, `Observation/_history?patient=${patient.ehrId}`), [])
    assert.deepEqual(await readAudit(patient.ehrId, since), ['query Ehr denied'])
  })

  it('shows the contents of a deleted care plan as deleted, until it returns', async () => {
    const mine = await createPatient()
    const ownPlan = await createPlan(mine)
    const otherId = await createWeight(mine, await createPlan(mine))
    const ids = [await createWeight(mine, ownPlan), await createWeight(mine, ownPlan)]
    const nurse = await createPerson()
    await addParticipant(ownPlan, nurse, 'read')
    const before = await readHistory(mine, 'Observation/_history')
    assertStatus(await callFhir(mine, 'DELETE', `CarePlan/${ownPlan}`), 204)
    const after = await readHistory(mine, 'Observation/_history')
    assert.deepEqual(after.slice(0, 2).sort(), ids.map((id) => `DELETE Observation/${id} 2`).sort())
    assert.deepEqual(after.slice(2), before)
    for (const count of [1, 2, 3])
      assert.deepEqual(await readHistory(mine, `Observation/_history?_count=${count}`), after, `${count}`)
    const [id] = ids
    for (const path of [`Observation/${id}`, `Observation/${id}/_history/2`]) await readFhir(mine, path, 410)
    assert.equal((await readFhir(mine, `Observation/${id}/_history/1`)).meta.versionId, '1')
    const ofOne = [`DELETE Observation/${id} 2`, `POST Observation/${id} 1`]
    for (const count of [1, 5])
      assert.deepEqual(await readHistory(mine, `Observation/${id}/_history?_count=${count}`), ofOne)
    // The deletion has ended the access of participants.
    assert.deepEqual(await readHistory(nurse, `Observation/_history?patient=${mine.ehrId}`), [])
    await readFhir(nurse, `Observation/${id}`, 404)
    await readFhir(await createPerson(), `Observation/${id}`, 404)
    assertStatus(await mine.call('POST', `careplan/${ownPlan}/restore`, { version: 1 }))
    assert.deepEqual(await readHistory(mine, 'Observation/_history'), before)
    assert.ok(before.some((one) => one.includes(otherId)))
    await readFhir(mine, `Observation/${id}`)
  })

  it('refuses texts that are neither times nor cursors', async () => {
    for (const [query, place] of [
      ['_since=yesterday', 'value http._since'],
      ['_cursor=abc', 'value http._cursor'],
    ] as const) {
      const answer = await callFhir(patient, 'GET', `Observation/_history?${query}`)
      assert.equal(answer.status, 400, query)
      assert.equal(issuesIn(answer)[0]?.split(' ')[1], place.split(' ')[1])
    }
  })
})

describe('a read in FHIR', () => {
  it('returns no body to a client that knows the version, or the time of the last change', async () => {
    const patient = await createPatient()
    const id = await createWeight(patient, await createPlan(patient))
    const path = `Observation/${id}`
    const { headers, etag } = await callFhir(patient, 'GET', path)
    const modified = headers.get('last-modified') ?? ''
    const read = async (conditions: Record<string, string>) =>
      (await callFhir(patient, 'GET', path, undefined, conditions)).status
    assert.equal(await read({ 'if-modified-since': modified }), 304)
    assert.equal(await read({ 'if-none-match': etag }), 304)
    const earlier = new Date(Date.parse(modified) - 1000).toUTCString()
    assert.equal(await read({ 'if-modified-since': earlier }), 200)
    assert.equal(await read({ 'if-modified-since': modified, 'if-none-match': 'W/"7"' }), 200)
    assert.equal(await read({ 'if-modified-since': 'yesterday' }), 200)
  })
})
