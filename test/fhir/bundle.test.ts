import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { bloodPressureOf, callFhir, idsIn, issuesIn, type Json, readFhir } from './fhir-client.ts'

describe('bundles in FHIR', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
  })

  const bundle = (type: string, entry: object[]) => ({ resourceType: 'Bundle', type, entry })
  const post = (who: Patient, type: string, entry: object[]) => callFhir(who, 'POST', '', bundle(type, entry))
  const subject = () => ({ reference: `Patient/${patient.ehrId}` })
  const pressure = (day: string, more: object = {}) => ({
    resource: bloodPressureOf(patient.ehrId, { effectiveDateTime: `${day}T08:00:00Z`, ...more }),
    request: { method: 'POST', url: 'Observation' },
  })
  const idsOfDay = async (day: string): Promise<string[]> =>
    idsIn(await readFhir(patient, `Observation?patient=${patient.ehrId}&date=${day}`))

  it('carry out all entries of a transaction, whose references name each other', async () => {
    const plan = {
      fullUrl: 'urn:uuid:0f6ee8bb-9e3a-4c53-8c5f-0c8a9e7f2b01',
      resource: {
        resourceType: 'CarePlan',
        status: 'active',
        intent: 'plan',
        title: 'Lose weight',
        subject: subject(),
      },
      request: { method: 'POST', url: 'CarePlan' },
    }
    const basedOn = [{ reference: plan.fullUrl }]
    const { entry } = assertStatus(
      await post(patient, 'transaction', [
        { request: { method: 'GET', url: `Patient/${patient.ehrId}` } },
        pressure('2025-05-01', { basedOn }),
        plan,
      ]),
    )
    assert.deepEqual(
      entry.map(({ response }: Json) => response.status),
      ['200', '201', '201'],
    )
    const [patientResource, measured, created] = entry.map(({ resource }: Json) => resource)
    assert.equal(patientResource.id, patient.ehrId)
    assert.deepEqual(measured.basedOn, [{ reference: `CarePlan/${created.id}` }])
    assertStatus(await patient.call('DELETE', `careplan/${created.id}`), 204)
  })

  it('create a care plan, its goal and a task of that goal in one transaction', async () => {
    const ownPatient = await createPatient()
    const patientReference = { reference: `Patient/${ownPatient.ehrId}` }
    const urn = (digit: number) => `urn:uuid:0f6ee8bb-9e3a-4c53-8c5f-0c8a9e7f2b0${digit}`
    const creation = (digit: number, resource: { resourceType: string }) => ({
      fullUrl: urn(digit),
      resource,
      request: { method: 'POST', url: resource.resourceType },
    })
    const plan = {
      resourceType: 'CarePlan',
      status: 'active',
      intent: 'plan',
      title: 'Walk',
      subject: patientReference,
    }
    const goal = {
      resourceType: 'Goal',
      lifecycleStatus: 'active',
      description: { text: 'Walk each day' },
      subject: patientReference,
      extension: [{ url: 'urn:health-record-service:care-plan', valueReference: { reference: urn(1) } }],
    }
    const task = {
      resourceType: 'Task',
      status: 'ready',
      intent: 'order',
      code: { text: 'Buy shoes' },
      for: patientReference,
      focus: { reference: urn(2) },
    }
    const { entry } = assertStatus(
      await post(ownPatient, 'transaction', [creation(3, task), creation(2, goal), creation(1, plan)]),
    )
    const [buying, walking, walks] = entry.map(({ resource }: Json) => resource)
    assert.deepEqual(buying.focus, { reference: `Goal/${walking.id}` })
    assert.deepEqual(buying.basedOn, [{ reference: `CarePlan/${walks.id}` }])
    assert.equal(walking.extension[0].valueReference.reference, `CarePlan/${walks.id}`)
  })

  it('carry out each entry of a batch alone, also if others are malformed', async () => {
    const { entry } = assertStatus(
      await post(patient, 'batch', [
        { request: { method: 'GET', url: `Patient/${patient.ehrId}/$everything` } },
        { request: { method: 'HEAD', url: `Patient/${patient.ehrId}` } },
        ...(['x', null] as never[]),
        { request: { method: 'GET', url: `Patient/${patient.ehrId}` } },
      ]),
    )
    assert.deepEqual(
      entry.map(({ response }: Json) => [response.status, response.outcome?.issue[0].expression[0]]),
      [
        ['400', 'Bundle.entry[0].request.url'],
        ['400', 'Bundle.entry[1].request.method'],
        ['400', 'Bundle.entry[2].request.method'],
        ['400', 'Bundle.entry[3].request.method'],
        ['200', undefined],
      ],
    )
    const ifNoneMatch = entry[4].response.etag
    const conditionalRead = { request: { method: 'GET', url: `Patient/${patient.ehrId}`, ifNoneMatch } }
    const [again] = assertStatus(await post(patient, 'batch', [conditionalRead])).entry
    assert.deepEqual([again.response.status, again.resource], ['304', undefined])
  })

  it('refuse an address that two entries have, and a patch that is none', async () => {
    const fullUrl = 'urn:uuid:0f6ee8bb-9e3a-4c53-8c5f-0c8a9e7f2b02'
    const twice = [1, 2].map(() => ({ ...pressure('2025-08-01'), fullUrl }))
    const answer = await post(patient, 'transaction', twice)
    assert.equal(answer.status, 400)
    assert.deepEqual(issuesIn(answer), ['duplicate Bundle.entry[1].fullUrl'])
    assert.deepEqual(await idsOfDay('2025-08-01'), [])
    const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
    for (const resource of [
      { resourceType: 'Binary', data: '%%%' },
      { resourceType: 'Parameters', parameter: [] },
      { resourceType: 'Binary', data: base64([1, { op: 'add', path: 5 }]) },
      { resourceType: 'Binary', data: base64([{ op: 'merge', from: '/title', path: '/description' }]) },
      { resourceType: 'Binary', data: base64([{ op: 'add', path: '/note', value: { toString: 1 } }]) },
      { resourceType: 'Binary', data: base64(Array(1001).fill({ op: 'remove', path: '/note' })) },
    ]) {
      const request = { method: 'PATCH', url: 'CarePlan/unknown123' }
      const refusal = await post(patient, 'transaction', [{ request, resource }])
      assert.equal(refusal.status, 400)
      assert.deepEqual(issuesIn(refusal), ['value Bundle.entry[0].resource'])
    }
  })

  it('refuse an interaction that the type does not have', async () => {
    for (const request of [
      { method: 'GET', url: `Patient/${patient.ehrId}/_history/1` },
      { method: 'DELETE', url: `Patient/${patient.ehrId}` },
    ]) {
      const refusal = await post(patient, 'transaction', [{ request }])
      assert.equal(refusal.status, 405, JSON.stringify(refusal.body))
      assert.deepEqual(issuesIn(refusal), ['not-supported Bundle.entry[0]'])
    }
  })

  it('carry out no entry of a transaction of which one fails, and name it', async () => {
    const answer = await post(patient, 'transaction', [
      pressure('2025-06-01'),
      pressure('2025-06-01', { status: 'preliminary' }),
    ])
    assert.equal(answer.status, 422, JSON.stringify(answer.body))
    assert.deepEqual(issuesIn(answer), ['not-supported Bundle.entry[1].resource.status'])
    assert.deepEqual(await idsOfDay('2025-06-01'), [])
  })

  it('create many resources in one transaction, answer in their order, and name the one that fails', async () => {
    const allergyTo = (text: string) => ({
      resource: {
        resourceType: 'AllergyIntolerance',
        clinicalStatus: {
          coding: [
            { system: 'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical', code: 'active' },
          ],
        },
        patient: subject(),
        code: { text },
      },
      request: { method: 'POST', url: 'AllergyIntolerance' },
    })
    const minute = (i: number) => `2025-06-02T08:${String(i).padStart(2, '0')}:00Z`
    const many = Array.from({ length: 45 }, (_, i) => pressure('', { effectiveDateTime: minute(i) }))
    const twice = await post(patient, 'transaction', [allergyTo('nuts'), ...many, allergyTo('Nuts')])
    assert.deepEqual(issuesIn(twice), ['conflict Bundle.entry[46]'])
    const { entry } = assertStatus(await post(patient, 'transaction', [allergyTo('nuts'), ...many]))
    const resources = entry.map(({ resource }: Json) => resource)
    assert.deepEqual(
      resources.slice(1).map(({ effectiveDateTime }: Json) => Date.parse(effectiveDateTime)),
      many.map((_, i) => Date.parse(minute(i))),
    )
    assert.equal(new Set(resources.map(({ id }: Json) => id)).size, 46)
    const faulty = many.map((one, i) =>
      i === 30 ? pressure('', { effectiveDateTime: minute(50), status: 'preliminary' }) : one,
    )
    const answer = await post(patient, 'transaction', faulty)
    assert.deepEqual(issuesIn(answer), ['not-supported Bundle.entry[30].resource.status'])
    const page = `Observation?patient=${patient.ehrId}&date=2025-06-02&code=85354-9&_summary=count`
    assert.equal((await readFhir(patient, page)).total, 45)
  })

  it('carry out each entry of a batch alone', async () => {
    const answer = await post(patient, 'batch', [
      pressure('2025-07-01'),
      pressure('2025-07-01', { status: 'preliminary' }),
      { request: { method: 'GET', url: 'Observation/unknown123' } },
      { request: { method: 'GET', url: `Observation?patient=${patient.ehrId}&date=2025-07-01` } },
    ])
    const { entry } = assertStatus(answer)
    assert.deepEqual(
      entry.map(({ response }: Json) => response.status),
      ['201', '422', '404', '200'],
    )
    assert.equal(entry[1].response.outcome.resourceType, 'OperationOutcome')
    assert.deepEqual(idsIn(entry[3].resource), [entry[0].resource.id])
  })

  it('delete, replace and create in a transaction, and find resources by conditions', async () => {
    const [old, recent] = await Promise.all(
      ['2025-08-01', '2025-08-02'].map(async (day) =>
        assertStatus(await callFhir(patient, 'POST', 'Observation', pressure(day).resource), 201),
      ),
    )
    const ifNoneExist = `patient=${patient.ehrId}&date=2025-08-02`
    const { entry } = assertStatus(
      await post(patient, 'transaction', [
        { ...pressure('2025-08-02'), request: { method: 'POST', url: 'Observation', ifNoneExist } },
        { request: { method: 'DELETE', url: `Observation/${old.id}`, ifMatch: 'W/"1"' } },
      ]),
    )
    assert.deepEqual([entry[0].resource.id, entry[0].response.status], [recent.id, '200'])
    assert.deepEqual(await idsOfDay('2025-08-01'), [])
    const twice = await post(patient, 'transaction', [
      { resource: recent, request: { method: 'PUT', url: `Observation/${recent.id}` } },
      { request: { method: 'DELETE', url: `Observation/${recent.id}` } },
    ])
    assert.equal(twice.status, 422)
    assert.deepEqual(issuesIn(twice), ['duplicate Bundle.entry[1]'])
  })

  it('have a limit, and name malformed entries', async () => {
    const many = await post(patient, 'batch', Array(501).fill({ request: { method: 'GET', url: 'Patient' } }))
    assert.equal(many.status, 413)
    const one = pressure('2025-08-01')
    const references = Array.from({ length: 501 }, (_, i) => ({
      reference: `Patient?_id=${patient.ehrId},${'x'.repeat(1 + (i % 30))}${i}`,
    }))
    const searching = { ...one, resource: { ...one.resource, performer: references } }
    const costly = await post(patient, 'transaction', [searching])
    assert.equal(costly.status, 413)
    assert.match(JSON.stringify(costly.body), /at most 500 different conditional references/)
    const faulty = await post(patient, 'transaction', [{ request: { method: 'LIST', url: '//' } }, {}])
    assert.equal(faulty.status, 400)
    assert.equal(issuesIn(faulty).length, 2)
  })

  it('change nothing of somebody else', async () => {
    const stranger = await createPatient()
    const answer = await post(stranger, 'transaction', [pressure('2025-09-01')])
    assert.ok([404, 422].includes(answer.status), JSON.stringify(answer.body))
    assert.deepEqual(await idsOfDay('2025-09-01'), [])
  })
})
