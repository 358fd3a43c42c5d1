import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { Binary } from 'mongodb'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { type Answer, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'
import { callFhir, issuesIn, readFhir } from '../fhir-client.ts'
import { ASYNC, idsOf, pathOf, readFiles, startExport, waitForExport } from './bulk-export.ts'

describe('the bulk export in FHIR', function suite() {
  this.timeout(120_000)
  let patient: Patient
  let planId: string
  let goalId: string
  let weightIds: string[]
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    goalId = await createGoal(patient, planId)
    weightIds = [await createWeight(patient, planId, 70), await createWeight(patient, planId, 71)].sort()
  })

  it('has files of all resources, with entries in the audit of each patient', async () => {
    const since = new Date()
    const path = await startExport(patient, 'Patient/$export?_outputFormat=ndjson')
    const { body, headers } = await waitForExport(patient, path)
    assert.ok(Date.parse(headers.get('expires') ?? '') > Date.now())
    assert.equal(body.requiresAccessToken, true)
    assert.match(body.request, /\/fhir\/R4\/Patient\/\$export\?_outputFormat=ndjson$/)
    assert.ok(Date.parse(body.transactionTime) >= since.getTime() - 1)
    const files = await readFiles(patient, body)
    assert.deepEqual([...files.keys()].sort(), ['CarePlan', 'Goal', 'Observation', 'Patient'])
    assert.deepEqual(idsOf(files.get('Observation')), weightIds)
    assert.deepEqual(idsOf(files.get('Goal')), [goalId])
    assert.deepEqual(files.get('Patient')?.[0], await readFhir(patient, `Patient/${patient.ehrId}`))
    const audit = await readAudit(patient.ehrId, since)
    for (const line of ['read Ehr done', 'query BodyWeight done', 'query Goal done'])
      assert.ok(audit.includes(line), line)
  })

  it('can be limited by type and time, and then lists what was deleted', async () => {
    const mine = await createPatient()
    const plan = await createPlan(mine)
    const gone = await createWeight(mine, plan, 80)
    const unchangedId = await createWeight(mine, plan, 81)
    const back = await createWeight(mine, plan, 82)
    const diagnosis = assertStatus(await mine.call('POST', 'diagnosis', { name: 'Gout' }), 201)
    const since = new Date().toISOString()
    assertStatus(await callFhir(mine, 'DELETE', `Condition/${diagnosis.id}`), 204)
    for (const id of [gone, back]) assertStatus(await callFhir(mine, 'DELETE', `Observation/${id}`), 204)
    assertStatus(await mine.call('POST', `procedure/bodyweight/${back}/restore`, { version: 1 }))
    const path = await startExport(mine, `Patient/$export?_type=Observation,Goal&_since=${since}`)
    const files = await readFiles(mine, (await waitForExport(mine, path)).body)
    assert.deepEqual([...files.keys()].sort(), ['Bundle', 'Observation'])
    assert.deepEqual(idsOf(files.get('Observation')), [back])
    assert.ok(unchangedId !== back)
    assert.deepEqual(
      files.get('Bundle')?.map(({ type, entry }) => [type, entry[0].request]),
      [['transaction', { method: 'DELETE', url: `Observation/${gone}` }]],
    )
  })

  it('lists the parts of a record that an update has deleted', async () => {
    const mine = await createPatient()
    const carePlanId = await createPlan(mine)
    const pressure = { systolic: 120, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
    const body = { ...pressure, carePlanId, timestamp: '2026-03-01T08:30:00Z' }
    const withRate = { ...body, heartRate: 71 }
    const measure = async () =>
      assertStatus(await mine.call('POST', 'procedure/bloodpressure', withRate), 201).id as string
    const [gone, back] = [await measure(), await measure()]
    const since = new Date().toISOString()
    const replace = async (id: string, content: object) =>
      assertStatus(await mine.call('PUT', `procedure/bloodpressure/${id}`, { id, ...content }))
    for (const id of [gone, back]) await replace(id, body)
    await replace(back, withRate)
    const path = await startExport(mine, `Patient/$export?_type=Observation&_since=${since}`)
    const files = await readFiles(mine, (await waitForExport(mine, path)).body)
    assert.deepEqual(
      files.get('Bundle')?.map(({ entry }) => entry.map((one: { request: object }) => one.request)),
      [[{ method: 'DELETE', url: `Observation/${gone}.hr` }]],
    )
  })

  it('has all types if the parameter of types is empty', async () => {
    const path = await startExport(patient, 'Patient/$export?_type=')
    const files = await readFiles(patient, (await waitForExport(patient, path)).body)
    assert.deepEqual([...files.keys()].sort(), ['CarePlan', 'Goal', 'Observation', 'Patient'])
  })

  it('has the patient of a care plan for its group, with what the caller may read', async () => {
    const nurse = await createPerson()
    const other = await createPlan(patient)
    await createWeight(patient, other, 90)
    await addParticipant(planId, nurse, 'read')
    for (const group of [planId, 'patients']) {
      const path = await startExport(nurse, `Group/${group}/$export?_type=Observation,CarePlan`)
      const files = await readFiles(nurse, (await waitForExport(nurse, path)).body)
      assert.deepEqual(idsOf(files.get('Observation')), weightIds)
      assert.deepEqual(idsOf(files.get('CarePlan')), [planId])
    }
    const hidden = await callFhir(nurse, 'GET', `Group/${other}/$export`, undefined, ASYNC)
    assert.equal(hidden.status, 404)
  })

  it('belongs to who asked for it, and ends when they delete it', async () => {
    const path = await startExport(patient, 'Patient/$export?_type=Goal')
    const { body } = await waitForExport(patient, path)
    const file = pathOf(body.output[0].url)
    const stranger = await createPatient()
    for (const [method, one] of [
      ['GET', path],
      ['GET', file],
      ['DELETE', path],
    ] as const)
      assert.equal((await callFhir(stranger, method, one)).status, 404)
    assert.equal((await callFhir(patient, 'GET', file.replace('Goal', 'Task'))).status, 404)
    assertStatus(await callFhir(patient, 'DELETE', path), 202)
    for (const one of [path, file]) assert.equal((await callFhir(patient, 'GET', one)).status, 404)
    const exportId = path.split('/')[1]
    const left = { _id: new RegExp(`^${exportId}/`) as never }
    assert.equal(await service.db.collection('fhir.export_chunks').countDocuments(left), 0)
  })

  it('is removed when it expires', async () => {
    const mine = await createPatient()
    const path = await startExport(mine, 'Patient/$export?_type=Patient')
    const { body } = await waitForExport(mine, path)
    const over = { $set: { expiresAt: new Date(Date.now() - 1000) } }
    await service.db.collection('fhir.exports').updateMany({ userId: mine.mvUid }, over)
    for (const one of [path, pathOf(body.output[0].url)])
      assert.equal((await callFhir(mine, 'GET', one)).status, 404)
    const indexes = await service.db.collection('fhir.export_chunks').indexes()
    assert.equal(indexes.find(({ name }) => name === 'expiry')?.expireAfterSeconds, 0)
  })

  it('breaks off a download if it ends meanwhile, so that no part of a file looks whole', async () => {
    const mine = await createPatient()
    const path = await startExport(mine, 'Patient/$export?_type=Patient')
    const { body } = await waitForExport(mine, path)
    const chunks = service.db.collection<{ _id: string; content: Binary }>('fhir.export_chunks')
    const chunk = await chunks.findOne({ userId: mine.mvUid })
    const content = new Binary(gzipSync(Buffer.alloc(4_000_000, '{}\n')))
    // More than the buffers of a connection hold.
    const more = Array.from({ length: 16 }, (_, i) => ({ ...chunk, _id: `${chunk?._id}${i}`, content }))
    await chunks.insertMany(more)
    const headers = { authorization: `Bearer ${mine.authToken}` }
    const download = await fetch(body.output[0].url, { headers })
    assert.equal(download.status, 200)
    assertStatus(await callFhir(mine, 'DELETE', path), 202)
    await assert.rejects(download.text())
  })

  it('refuses those who poll too fast, and those who have too many', async () => {
    const mine = await createPatient()
    const path = await startExport(mine, 'Patient/$export?_type=Patient')
    const exports = service.db.collection('fhir.exports')
    await waitUntil(async () => (await exports.findOne({ userId: mine.mvUid }))?.position === null)
    const setPosition = (position: object | null) =>
      exports.updateOne({ userId: mine.mvUid }, { $set: { position } })
    await setPosition({ patient: 0, section: 0, after: null })
    const polls = await Promise.all(Array.from({ length: 3 }, () => callFhir(mine, 'GET', path)))
    assert.deepEqual(polls.map(({ status }) => status).sort(), [202, 429, 429])
    await setPosition(null)
    let refusal: Answer | undefined
    for (let i = 0; i < 11 && !refusal; i++) {
      const answer = await callFhir(mine, 'GET', 'Patient/$export?_type=Patient', undefined, ASYNC)
      if (answer.status === 202) await waitForExport(mine, pathOf(answer.headers.get('content-location')))
      else refusal = answer
    }
    assert.equal(refusal?.status, 429)
    assert.ok(Number(refusal?.headers.get('retry-after')) > 0)
  })

  it('refuses those who ask for too many at the same time', async () => {
    const mine = await createPatient()
    await waitForExport(mine, await startExport(mine, 'Patient/$export?_type=Patient'))
    const exports = service.db.collection('fhir.exports')
    const former = await exports.findOne({ userId: mine.mvUid })
    const copies = Array.from({ length: 8 }, (_, i) => ({ ...former, _id: `${former?._id}${i}` as never }))
    const over = { ...former, _id: `${former?._id}over` as never, expiresAt: new Date(Date.now() - 1000) }
    await exports.insertMany([...copies, over])
    const start = () => callFhir(mine, 'GET', 'Patient/$export?_type=Patient', undefined, ASYNC)
    const answers = await Promise.all(Array.from({ length: 5 }, start))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 429, 429, 429, 429])
  })

  it('needs the preference of an asynchronous response, and known parameters', async () => {
    for (const [query, headers, issue] of [
      ['', {}, 'required http.Prefer'],
      ['?_type=Encounter', ASYNC, 'not-supported http._type'],
      ['?_since=yesterday', ASYNC, 'value http._since'],
      ['?_outputFormat=text/csv', ASYNC, 'not-supported http._outputFormat'],
    ] as const) {
      const answer = await callFhir(patient, 'GET', `Patient/$export${query}`, undefined, headers)
      assert.equal(answer.status, 400)
      assert.deepEqual(issuesIn(answer), [issue])
    }
  })
})
