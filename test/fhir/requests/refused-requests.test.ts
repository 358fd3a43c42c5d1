import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { service } from '../../harness/service/service.ts'
import { bloodPressureOf, callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

/** The body of the response to a request that Node's own client would not send. */
const answerTo = (raw: string): Promise<Json> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write(raw))
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    socket.on('error', reject)
    socket.on('end', () => resolve(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))))
  })

describe('a request that FHIR refuses', () => {
  let patient: Patient
  let twice: string
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
    for (const note of ['First', 'Second']) await create({ note: [{ text: note }] })
    twice = `patient=${patient.ehrId}&date=2026-03-01`
  })

  const create = async (more: object = {}): Promise<Json> =>
    assertStatus(await callFhir(patient, 'POST', 'Observation', bloodPressureOf(patient.ehrId, more)), 201)

  it('has an OperationOutcome, also if its address is too long to be read', async () => {
    for (const path of ['/fhir/R4/Observation?code=', '/fhir/R4?_type=']) {
      const { resourceType, issue } = await answerTo(`GET ${path}${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`)
      assert.deepEqual([resourceType, issue[0].code], ['OperationOutcome', 'too-long'], path)
    }
    const other = await answerTo(`GET /fhir/R4x?${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`)
    assert.equal(other.code, 'headers-too-large')
  })

  it('may have the media type of earlier versions, and of no other format', async () => {
    const send = (type: string) =>
      callFhir(patient, 'POST', 'Observation', bloodPressureOf(patient.ehrId), { 'content-type': type })
    for (const type of ['application/json+fhir', 'application/json+fhir; charset=utf-8'])
      assertStatus(await send(type), 201)
    for (const type of ['text/json', 'application/fhir+xml']) assert.equal((await send(type)).status, 415)
  })

  it('names the fault of its condition, not of its body', async () => {
    const body = bloodPressureOf(patient.ehrId)
    const rows = [
      ['POST', 'Observation', { 'if-none-exist': 'surprise=x' }, 'http.If-None-Exist'],
      ['PUT', 'Observation?surprise=x', {}, 'http.surprise'],
      ['DELETE', 'Observation?surprise=x', {}, 'http.surprise'],
    ] as const
    for (const [method, path, headers, place] of rows) {
      const answer = await callFhir(patient, method, path, method === 'DELETE' ? undefined : body, headers)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [400, `not-supported ${place}`], path)
    }
  })

  it('reports that several resources match its condition', async () => {
    const body = bloodPressureOf(patient.ehrId)
    for (const answer of [
      await callFhir(patient, 'POST', 'Observation', body, { 'if-none-exist': twice }),
      await callFhir(patient, 'PUT', `Observation?${twice}`, body),
      await callFhir(patient, 'DELETE', `Observation?${twice}`),
    ])
      assert.deepEqual([answer.status, ...issuesIn(answer)], [412, 'multiple-matches'])
  })

  it('does not create a resource under an id of the client', async () => {
    const effectiveDateTime = '2025-12-01T08:00:00Z'
    const url = `Observation?patient=${patient.ehrId}&date=2025-12-01`
    const resource = bloodPressureOf(patient.ehrId, { id: 'mine', effectiveDateTime })
    const direct = await callFhir(patient, 'PUT', url, resource)
    assert.deepEqual([direct.status, ...issuesIn(direct)], [422, 'not-supported Observation.id'])
    for (const type of ['batch', 'transaction'])
      await callFhir(patient, 'POST', '', {
        resourceType: 'Bundle',
        type,
        entry: [{ resource, request: { method: 'PUT', url } }],
      })
    assert.equal((await readFhir(patient, `${url}&_summary=count`)).total, 0)
    const { id, ...unnamed } = resource as Json
    assertStatus(await callFhir(patient, 'PUT', url, unnamed), 201)
    const other = await callFhir(patient, 'PUT', url, { ...unnamed, id })
    assert.deepEqual([other.status, ...issuesIn(other)], [400, 'invariant Observation.id'])
  })

  it('is told that there is no such operation', async () => {
    for (const path of [
      'Observation/$surprise',
      'Patient/$everything',
      `Patient/${patient.ehrId}/$surprise`,
    ]) {
      const answer = await callFhir(patient, 'GET', path)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [404, 'not-found'], path)
    }
  })

  it('has dates that are explained in terms of FHIR', async () => {
    const observation = bloodPressureOf(patient.ehrId, { effectiveDateTime: 'yesterday' })
    const { body } = await callFhir(patient, 'POST', 'Observation', observation)
    assert.match(body.issue[0].diagnostics, /must be a time with an offset from UTC/)
  })
})
