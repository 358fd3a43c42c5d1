import assert from 'node:assert/strict'
import { bloodPressureOf } from '../../fhir/fhir-client.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { createConnectMessage, openRawSocket } from '../../harness/clients/live-client.ts'
import { assertProblem } from '../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../harness/openehr-samples.ts'
import { createRoleHolder } from '../../harness/people/people.ts'
import { request } from '../../harness/service/service.ts'

describe('a name that occurs twice in a JSON object', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const post = (path: string, json: string, type = 'application/json') =>
    patient.call('POST', path, Buffer.from(json), { 'content-type': type })
  const weightOf = (more: string) =>
    `{"carePlanId":"${carePlanId}","weightUnit":"kg","timestamp":"2026-03-01T08:30:00Z",${more}}`

  it('is refused with its path, as nobody can tell which value was meant', async () => {
    for (const repeated of ['"weight":71,"weight":17', '"weight" : 71,\n"\\u0077eight"\t:71']) {
      const answer = await post('procedure/bodyweight', weightOf(repeated))
      assert.deepEqual(assertProblem(answer, 400, 'malformed-request'), ['repeated'])
      assert.equal(answer.body.errors[0].path, 'body.weight')
    }
    const batch = await post('procedure/batch', `{"items":[{},{"note":"a","x":[{"b":1,"b":2}],"note":"c"}]}`)
    assert.deepEqual(batch.body.errors.map(({ path }: { path: string }) => path).sort(), [
      'body.items.1.note',
      'body.items.1.x.0.b',
    ])
  })

  it('is refused in resources of FHIR, with and without digits to keep', async () => {
    for (const digits of ['71', '71.000']) {
      const json = JSON.stringify(bloodPressureOf(patient.ehrId)).replace(
        '"status"',
        `"x":${digits},"x":17,"status"`,
      )
      const { status, body } = await post('/fhir/R4/Observation', json, 'application/fhir+json')
      assert.equal(status, 400, JSON.stringify(body))
      assert.match(JSON.stringify(body), /must occur once/)
    }
  })

  it('is refused in compositions', async () => {
    const json = JSON.stringify(createPressureComposition(await getStoredTemplate(), 128))
    const repeated = json.replace('"magnitude":128', '"magnitude":128,"magnitude":182')
    assert.notEqual(repeated, json)
    const answer = await post(`/med/ehr/${patient.ehrId}/composition/json`, repeated)
    assert.equal(answer.status, 400, JSON.stringify(answer.body))
    assert.match(JSON.stringify(answer.body), /magnitude.*must occur once/)
  })

  it('is refused in the class family, also in a batch and in a body of the SDK', async () => {
    const send = (path: string, json: string, type = 'application/json') =>
      request().post(path).set(patient.headers).set('content-type', type).send(json)
    for (const { status, body } of [
      await send('/1/classes/CarePlan', '{"name":"a","name":"b"}'),
      await send('/1/classes/CarePlan', '{"_method":"POST","name":"a","name":"b"}', 'text/plain'),
      await send(
        '/1/batch',
        '{"requests":[{"method":"POST","path":"/1/classes/CarePlan","body":{"name":"a","name":"b"}}]}',
      ),
    ]) {
      assert.deepEqual([status, body.code], [400, 107], JSON.stringify(body))
      assert.match(body.error, /^The body has several values of .*name\.$/)
    }
  })

  it('is refused in JSON within a URL, a form or a text of a body', async () => {
    const where = encodeURIComponent('{"weight":{"$gt":71,"$gt":17}}')
    const headers = { ...patient.headers, 'content-type': 'application/x-www-form-urlencoded' }
    for (const { status, body } of [
      await request().get(`/1/classes/BodyWeight?where=${where}`).set(patient.headers),
      await request().post('/1/classes/BodyWeight').set(headers).send(`_method=GET&where=${where}`),
    ]) {
      assert.deepEqual([status, body.code], [400, 107], JSON.stringify(body))
      assert.equal(body.error, 'where has several values of weight.$gt.')
    }
    const parameters = encodeURIComponent('{"a":1,"a":2}')
    const answer = await patient.call(
      'GET',
      `/med/aql?q=SELECT%201%20FROM%20EHR%20e&query_parameters=${parameters}`,
    )
    assert.deepEqual(assertProblem(answer, 400, 'invalid-input'), ['repeated'])
    const event = 'encounter/blood_pressure:0/any_event:0/systolic'
    const raw = '{"_type":"DV_QUANTITY","magnitude":128,"magnitude":182,"units":"mm[Hg]"}'
    const templateId = encodeURIComponent(await getStoredTemplate())
    const flat = JSON.stringify({ 'ctx/language': 'en', 'ctx/territory': 'NL', [`${event}|raw`]: raw })
    const path = `/med/ehr/${patient.ehrId}/composition/json?templateId=${templateId}`
    const sent = await post(path, flat, 'application/openehr.wt.flat+json')
    assert.equal(sent.status, 400, JSON.stringify(sent.body))
    assert.match(JSON.stringify(sent.body), /items\.0\.value must be an object/)
  })

  it('is refused in a query that a modeller stores', async () => {
    const modeller = await createRoleHolder('modeller')
    const json = Buffer.from('{"q":"SELECT 1 FROM EHR e","q":"SELECT 2 FROM EHR e"}')
    const path = '/openehr/v1/definition/query/org.example::repeated'
    const answer = await modeller.call('PUT', path, json, { 'content-type': 'application/json' })
    assert.equal(answer.status, 400, JSON.stringify(answer.body))
    assert.match(JSON.stringify(answer.body), /several values of q/)
  })

  it('is refused in messages of live queries', async () => {
    const { socket, answer } = await openRawSocket()
    const { sessionToken } = patient
    assert.equal((await answer(createConnectMessage({ sessionToken }))).op, 'connected')
    const query = '{"className":"BodyWeight","where":{"weight":71,"weight":17}}'
    const { op, code, error } = await answer(`{"op":"subscribe","requestId":1,"query":${query}}`)
    assert.deepEqual(
      [op, code, error],
      ['error', 107, 'The message has several values of query.where.weight.'],
    )
    socket.close()
  })

  it('is no name in a text, and no name of another object', async () => {
    const text = '"weight": 1, "weight": 2 \\'
    for (const name of [text, `${text}"weight":`, JSON.stringify(text), JSON.stringify({ [text]: text })]) {
      const answer = await patient.call('POST', 'careplan', { name })
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      const object = { name, ehrId: patient.ehrId }
      const { body } = await request().post('/1/classes/CarePlan').set(patient.headers).send(object)
      assert.ok(body.objectId, JSON.stringify(body))
    }
  })
})
