import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson } from '../harness/people/people.ts'
import { bloodPressureOf, callFhir, idsIn, issuesIn, type Json, readFhir } from './fhir-client.ts'

describe('writes in FHIR', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    callFhir(patient, method, path, body, headers)
  const create = async (more: object = {}): Promise<Json> =>
    assertStatus(await send('POST', 'Observation', bloodPressureOf(patient.ehrId, more)), 201)

  it('create a measurement in the only open care plan, which the path family shows', async () => {
    const answer = await send('POST', 'Observation', bloodPressureOf(patient.ehrId, { id: 'mine' }))
    const created = assertStatus(answer, 201)
    assert.notEqual(created.id, 'mine')
    assert.equal(answer.etag, 'W/"1"')
    assert.match(
      String(answer.headers.get('location')),
      new RegExp(`/fhir/R4/Observation/${created.id}/_history/1$`),
    )
    assert.deepEqual(created.basedOn, [{ reference: `CarePlan/${carePlanId}` }])
    const stored = assertStatus(await patient.call('GET', `procedure/bloodpressure/${created.id}`))
    assert.deepEqual([stored.systolic, stored.systolicUnit, stored.utcOffset], [128, 'mmHg', '+01:00'])
    assert.ok((await readAudit(patient.ehrId)).includes('create BloodPressure done'))
  })

  it('demand a care plan if there are several', async () => {
    const other = await createPatient()
    await createPlan(other)
    await createPlan(other)
    const answer = await callFhir(other, 'POST', 'Observation', bloodPressureOf(other.ehrId))
    assert.equal(answer.status, 422, JSON.stringify(answer.body))
    assert.deepEqual(issuesIn(answer), ['required Observation.basedOn[0]'])
    for (const ehrId of [other.ehrId, 'unknown123']) {
      const refusal = await callFhir(patient, 'POST', 'Observation', bloodPressureOf(ehrId))
      assert.deepEqual([refusal.status, ...issuesIn(refusal)], [422, 'business-rule Observation.subject'])
    }
  })

  it('name every fault of a resource by its FHIRPath', async () => {
    const { component, ...rest } = bloodPressureOf(patient.ehrId)
    const [systolic, diastolic] = component
    const faulty = {
      ...rest,
      status: undefined,
      performer: [{ display: 'Somebody' }],
      component: [
        { ...systolic, valueQuantity: { ...systolic?.valueQuantity, value: 900 } },
        { ...diastolic, valueQuantity: { ...diastolic?.valueQuantity, code: 'C', unit: 'C' } },
      ],
    }
    const answer = await send('POST', 'Observation', faulty)
    assert.equal(answer.status, 422, JSON.stringify(answer.body))
    const issues = issuesIn(answer)
    assert.equal(issues.length, 4, JSON.stringify(issues))
    assert.ok(issues.includes('required Observation.status'))
    assert.ok(issues.includes('not-supported Observation.performer[0]'))
    assert.ok(issues.some((issue) => issue.startsWith('value Observation.component.where')))
    assert.ok(issues.some((issue) => issue.startsWith('code-invalid Observation.component.where')))
  })

  it('refuse elements with the names that every object inherits', async () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      const sound = JSON.stringify(bloodPressureOf(patient.ehrId))
      const value = `{"${name}":{"${name}":1}}`
      for (const body of [
        sound.replace('{', `{"${name}":${value},`),
        sound.replace('"subject":{', `"subject":{"${name}":${value},`),
      ]) {
        const { status, body: outcome } = await send('POST', 'Observation', JSON.parse(body))
        assert.ok(status === 400 || status === 422, `${status} ${JSON.stringify(outcome)}`)
      }
    }
  })

  it('refuse what the service does not keep, or report it to a lenient client', async () => {
    const more = { method: { text: 'By ear' }, bodySite: { text: 'Left arm' } }
    const body = bloodPressureOf(patient.ehrId, more)
    const refusal = await send('POST', 'Observation', body)
    assert.equal(refusal.status, 422)
    assert.deepEqual(issuesIn(refusal).sort(), [
      'not-supported Observation.bodySite',
      'not-supported Observation.method',
    ])
    const lenientAnswer = await send('POST', 'Observation', body, { prefer: 'handling=lenient' })
    assert.equal(lenientAnswer.status, 201)
    assert.deepEqual(
      lenientAnswer.body.issue.map(({ severity, expression }: Json) => `${severity} ${expression}`).sort(),
      ['warning Observation.bodySite', 'warning Observation.method'],
    )
  })

  it('create once under If-None-Exist', async () => {
    const mine = await createPatient()
    await createPlan(mine)
    const condition = { 'if-none-exist': `patient=${mine.ehrId}&code=85354-9&date=2026-03-01T08:30:00Z` }
    const put = () => callFhir(mine, 'POST', 'Observation', bloodPressureOf(mine.ehrId), condition)
    const first = await put()
    const second = await put()
    assert.deepEqual([first.status, second.status], [201, 200])
    assert.equal(second.body.id, first.body.id)
    assert.equal(second.headers.get('content-location'), first.headers.get('location'))
    // HAPI's client sends the whole address of the search.
    const address = {
      'if-none-exist': `http://example.org/fhir/R4/Observation?${condition['if-none-exist']}`,
    }
    const third = await callFhir(mine, 'POST', 'Observation', bloodPressureOf(mine.ehrId), address)
    assert.deepEqual([third.status, third.body.id], [200, first.body.id])
    assertStatus(await callFhir(mine, 'POST', 'Observation', bloodPressureOf(mine.ehrId)), 201)
    assert.equal((await put()).status, 412)
  })

  it('replace a version that the client has seen, and no other', async () => {
    const created = await create()
    const path = `Observation/${created.id}`
    const changed = { ...created, note: [{ text: 'After a walk' }] }
    assert.equal((await send('PUT', path, changed, { 'if-match': 'W/"2"' })).status, 412)
    const updated = await send('PUT', path, changed, { 'if-match': 'W/"1"' })
    assert.equal(updated.status, 200, JSON.stringify(updated.body))
    assert.deepEqual([updated.etag, updated.body.status], ['W/"2"', 'amended'])
    assert.equal((await readFhir(patient, path)).note[0].text, 'After a walk')
    assert.equal((await send('PUT', path, { ...changed, id: 'other' })).status, 400)
    assert.equal((await send('PUT', 'Observation/unknown1', { ...changed, id: 'unknown1' })).status, 404)
  })

  it('name a start that is not a time, though other fields follow from it', async () => {
    const appointment = {
      resourceType: 'Appointment',
      status: 'booked',
      description: 'Check',
      comment: 'x',
      start: 'soon',
      appointmentType: { text: 'visit' },
      unknown: 'x',
      participant: [{ actor: { reference: `Patient/${patient.ehrId}` }, status: 'accepted' }],
    }
    const refusal = await send('POST', 'Appointment', appointment)
    assert.equal(refusal.status, 422, JSON.stringify(refusal.body))
    assert.ok(issuesIn(refusal).includes('value Appointment.start'), String(issuesIn(refusal)))
  })

  it('name the type of an appointment by its code, if they have no text', async () => {
    const appointment = {
      resourceType: 'Appointment',
      status: 'booked',
      description: 'Check',
      start: '2027-03-01T08:30:00Z',
      end: '2027-03-01T09:00:00Z',
      appointmentType: { coding: [{ code: 'CHECKUP', display: 'Check-up' }] },
      participant: [{ actor: { reference: `Patient/${patient.ehrId}` }, status: 'accepted' }],
    }
    assertStatus(await send('POST', 'Appointment', appointment, { prefer: 'handling=lenient' }), 201)
    const { entry } = await readFhir(patient, `Appointment?patient=${patient.ehrId}`)
    assert.equal(entry[0].resource.appointmentType.text, 'Check-up')
  })

  it('answer 304 to a client that has the version', async () => {
    const created = await create()
    const answer = await send('GET', `Observation/${created.id}`, undefined, { 'if-none-match': 'W/"1"' })
    assert.equal(answer.status, 304)
  })

  it('change single elements by a JSON Patch', async () => {
    const created = await create()
    const path = `Observation/${created.id}`
    const patch = [
      { op: 'test', path: '/status', value: 'final' },
      { op: 'add', path: '/note', value: [{ text: 'At rest' }] },
      { op: 'replace', path: '/component/0/valueQuantity/value', value: 131 },
    ]
    const headers = { 'content-type': 'application/json-patch+json' }
    const patched = assertStatus(await send('PATCH', path, patch, headers))
    assert.equal(patched.component[0].valueQuantity.value, 131)
    assert.equal(patched.note[0].text, 'At rest')
    const impossible = await send('PATCH', path, [{ op: 'remove', path: '/nothing/at' }], headers)
    assert.equal(impossible.status, 422)
  })

  it('delete a resource, once and by a search', async () => {
    const created = await create({ effectiveDateTime: '2025-01-01T00:00:00Z' })
    const path = `Observation/${created.id}`
    assertStatus(await send('DELETE', path), 204)
    assertStatus(await send('GET', path), 410)
    assertStatus(await send('DELETE', path), 204)
    const second = await create({ effectiveDateTime: '2025-01-02T00:00:00Z' })
    assertStatus(await send('DELETE', `Observation?patient=${patient.ehrId}&date=2025-01-02`), 204)
    assertStatus(await send('GET', `Observation/${second.id}`), 410)
    assertStatus(await send('DELETE', 'Observation'), 412)
    assertStatus(await send('DELETE', `Observation?patient=${patient.ehrId}`), 412)
  })

  it('update by a search, or create', async () => {
    const query = `Condition?patient=${patient.ehrId}&code=http://snomed.info/sct|38341003`
    const condition = {
      resourceType: 'Condition',
      code: { coding: [{ system: 'http://snomed.info/sct', code: '38341003' }], text: 'High blood pressure' },
      subject: { reference: `Patient/${patient.ehrId}` },
    }
    assert.equal((await send('PUT', query, condition)).status, 201)
    const updated = await send('PUT', query, { ...condition, onsetDateTime: '2024-11-01' })
    assert.equal(updated.status, 200, JSON.stringify(updated.body))
    assert.equal(updated.body.onsetDateTime, '2024-11-01')
    const bundle = await readFhir(patient, query)
    assert.deepEqual(idsIn(bundle), [updated.body.id])
  })

  it('close a task, as the path family does', async () => {
    const goal = {
      resourceType: 'Goal',
      lifecycleStatus: 'active',
      description: { text: 'Walk every day' },
      subject: { reference: `Patient/${patient.ehrId}` },
    }
    const { id: goalId } = assertStatus(await send('POST', 'Goal', goal), 201)
    const task = {
      resourceType: 'Task',
      status: 'ready',
      intent: 'order',
      code: { text: 'Buy shoes' },
      for: { reference: `Patient/${patient.ehrId}` },
      focus: { reference: `Goal/${goalId}` },
    }
    const created = assertStatus(await send('POST', 'Task', task), 201)
    const completedTask = { ...created, status: 'completed', executionPeriod: { end: '2026-03-02' } }
    const closed = assertStatus(await send('PUT', `Task/${created.id}`, completedTask))
    assert.deepEqual([closed.status, closed.executionPeriod.end], ['completed', '2026-03-02'])
    const open = await send('PUT', `Task/${created.id}`, created)
    assert.equal(open.status, 422, JSON.stringify(open.body))
    assert.ok(issuesIn(open).some((issue) => issue.endsWith(' Task.status')))
    assert.deepEqual(idsIn(await readFhir(patient, `Task?patient=${patient.ehrId}&status=completed`)), [
      created.id,
    ])
  })

  it('are refused to readers, and hidden from strangers', async () => {
    const created = await create()
    const reader = await createPerson()
    const stranger = await createPerson()
    await addParticipant(carePlanId, reader, 'read')
    const path = `Observation/${created.id}`
    assertStatus(await callFhir(reader, 'GET', path))
    assertStatus(await callFhir(reader, 'PUT', path, created), 403)
    assertStatus(await callFhir(reader, 'POST', 'Observation', bloodPressureOf(patient.ehrId)), 403)
    assertStatus(await callFhir(stranger, 'PUT', path, created), 404)
    assertStatus(await callFhir(stranger, 'DELETE', path), 404)
    assertStatus(
      await callFhir(
        stranger,
        'POST',
        'Observation',
        bloodPressureOf(patient.ehrId, { basedOn: created.basedOn }),
      ),
      404,
    )
  })
})
