import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../harness/openehr-samples.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { callFhir, idsIn, type Json, readFhir } from '../fhir-client.ts'

const OPENEHR = 'application/openehr+json'

describe('compositions as documents in FHIR', () => {
  let patient: Patient
  let stranger: Person
  let carePlanId: string
  let template: string
  before(async () => {
    ;[patient, stranger, template] = await Promise.all([createPatient(), createPerson(), getStoredTemplate()])
    carePlanId = await createPlan(patient)
  })

  const store = async (systolic: number): Promise<string> => {
    const path = `/med/ehr/${patient.ehrId}/composition/json?carePlanId=${carePlanId}`
    const body = createPressureComposition(template, systolic)
    return assertStatus(await patient.call('POST', path, body), 201).compositionId
  }

  it('are DocumentReferences, whose content is a Binary', async () => {
    const id = await store(142)
    const documentReference = await readFhir(patient, `DocumentReference/${id}`)
    assert.equal(documentReference.status, 'current')
    assert.equal(documentReference.subject.reference, `Patient/${patient.ehrId}`)
    assert.deepEqual(documentReference.context.related, [{ reference: `CarePlan/${carePlanId}` }])
    assert.equal(documentReference.type.coding[0].code, template)
    const { contentType, url } = documentReference.content[0].attachment
    assert.equal(contentType, OPENEHR)
    const { pathname } = new URL(url)
    const canonical = assertStatus(
      await patient.call('GET', `/med/ehr/${patient.ehrId}/composition/${id}/json`),
    )
    for (const accept of [OPENEHR, '*/*']) {
      const answer = await patient.call('GET', pathname, undefined, { accept })
      assert.equal(answer.headers.get('content-type'), OPENEHR)
      assert.equal(answer.headers.get('etag'), 'W/"1"')
      const { body } = answer
      assert.deepEqual(Buffer.isBuffer(body) ? JSON.parse(body.toString()) : body, canonical)
    }
    const answer = await patient.call('GET', pathname, undefined, { accept: 'application/fhir+json' })
    const binary = assertStatus(answer)
    assert.equal(binary.contentType, OPENEHR)
    assert.deepEqual(JSON.parse(Buffer.from(binary.data, 'base64').toString()), canonical)
    for (const path of [`DocumentReference/${id}`, `Binary/${id}`]) await readFhir(stranger, path, 404)
  })

  it('are found by patient, template and date, page by page', async () => {
    const ids = [await store(143), await store(144)]
    const allReferences = await readFhir(
      patient,
      `DocumentReference?patient=${patient.ehrId}&_total=accurate`,
    )
    for (const id of ids) assert.ok(idsIn(allReferences).includes(id))
    assert.equal(allReferences.total, idsIn(allReferences).length)
    for (const [query, isFound] of [
      [`type=${template}`, true],
      [`format=${template}`, true],
      ['contenttype=application/openehr%2Bjson', true],
      [`related=CarePlan/${carePlanId}`, true],
      ['related=CarePlan/other', false],
      [`_id=${ids[0]}`, true],
      ['_id=other', false],
      ['_lastUpdated=lt2000', false],
      ['type=other', false],
      ['date=ge2026-01-01', true],
      ['date=lt2000-01-01', false],
      ['status=current', true],
      ['status=superseded', false],
    ] as const)
      assert.equal(
        idsIn(await readFhir(patient, `DocumentReference?patient=${patient.ehrId}&${query}`)).length > 0,
        isFound,
        query,
      )
    const first = await readFhir(patient, `DocumentReference?patient=${patient.ehrId}&_count=1`)
    const { url } = first.link.find(({ relation }: Json) => relation === 'next')
    const second = await readFhir(patient, url.slice(url.indexOf('DocumentReference')))
    assert.notDeepEqual(idsIn(second), idsIn(first))
    assert.deepEqual(idsIn(await readFhir(stranger, `DocumentReference?patient=${patient.ehrId}`)), [])
    assert.deepEqual(idsIn(await readFhir(patient, 'DocumentReference')), idsIn(allReferences))
    const { entry } = await readFhir(patient, `Patient/${patient.ehrId}/$everything?_type=DocumentReference`)
    assert.equal(entry.length, allReferences.total)
  })

  it('are gone after their deletion', async () => {
    const id = await store(145)
    assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}/composition/${id}`), 204)
    for (const path of [`DocumentReference/${id}`, `Binary/${id}`]) await readFhir(patient, path, 410)
    const references = await readFhir(patient, `DocumentReference?patient=${patient.ehrId}`)
    assert.ok(!idsIn(references).includes(id))
  })
})

describe('the changes of a resource in FHIR', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const changesOf = async (who: Person, target: string): Promise<Json[]> =>
    ((await readFhir(who, `Provenance?target=${target}`)).entry ?? []).map(({ resource }: Json) => resource)

  it('say who did what to which version', async () => {
    const body = { condition: 'Asthma', clinicalStatus: 'ACTIVE', verificationStatus: 'CONFIRMED' }
    const created = await callFhir(patient, 'POST', 'Condition', {
      resourceType: 'Condition',
      subject: { reference: `Patient/${patient.ehrId}` },
      code: { text: body.condition },
      clinicalStatus: {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'active' }],
      },
      verificationStatus: {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-ver-status', code: 'confirmed' }],
      },
    })
    const { id, ...resource } = assertStatus(created, 201)
    assertStatus(await callFhir(patient, 'PUT', `Condition/${id}`, { id, ...resource }))
    assertStatus(await callFhir(patient, 'DELETE', `Condition/${id}`), 204)
    const changes = await changesOf(patient, `Condition/${id}`)
    assert.deepEqual(
      changes.map(({ target, activity, agent }) => [
        target[0].reference,
        activity.coding[0].code,
        agent[0].who.reference,
      ]),
      [
        [`Condition/${id}/_history/3`, 'DELETE', `Practitioner/${patient.mvUid}`],
        [`Condition/${id}/_history/2`, 'UPDATE', `Practitioner/${patient.mvUid}`],
        [`Condition/${id}/_history/1`, 'CREATE', `Practitioner/${patient.mvUid}`],
      ],
    )
    const [second] = await changesOf(patient, `Condition/${id}/_history/2`)
    assert.deepEqual(second, changes[1])
    assert.deepEqual(await changesOf(patient, `Condition/${id}&recorded=lt2000-01-01`), [])
    assert.deepEqual(await changesOf(await createPerson(), `Condition/${id}`), [])
  })

  it('are refused without a target that can be one', async () => {
    await readFhir(patient, 'Provenance', 400)
    await readFhir(patient, 'Provenance?target=nothing', 400)
    assert.deepEqual(await changesOf(patient, 'Encounter/1'), [])
  })
})

describe('data of own types in FHIR', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const observation = (system: string, code: string, more: object) => ({
    resourceType: 'Observation',
    status: 'final',
    effectiveDateTime: '2026-03-01T20:00:00+01:00',
    code: { coding: [{ system: `urn:health-record-service:${system}`, code }] },
    subject: { reference: `Patient/${patient.ehrId}` },
    ...more,
  })
  const steps = (value: number) => ({
    valueQuantity: { value, unit: 'steps', system: 'http://unitsofmeasure.org', code: '{steps}' },
  })

  it('is Observations with codes of our own, which can be written', async () => {
    const resource = observation('data-type', 'steps', {
      ...steps(8214),
      basedOn: [{ reference: `CarePlan/${carePlanId}` }],
    })
    const stored = assertStatus(await callFhir(patient, 'POST', 'Observation', resource), 201)
    assert.equal(stored.code.text, 'Steps')
    const own = assertStatus(
      await patient.call('GET', `/data/${patient.mvUid}/measurement?dataType=steps`),
    ).items
    assert.deepEqual([own[0].value, own[0].unit, own[0].id], [8214, '{steps}', stored.id])
    const query = `Observation?patient=${patient.ehrId}&code=urn:health-record-service:data-type|steps`
    assert.deepEqual(idsIn(await readFhir(patient, query)), [stored.id])
    for (const other of ['code=http://loinc.org|85354-9', 'category=vital-signs', 'code=weight'])
      assert.deepEqual(
        idsIn(await readFhir(patient, `Observation?patient=${patient.ehrId}&${other}`)),
        [],
        other,
      )
    const { valueQuantity, ...rest } = stored
    const changed = { ...rest, valueQuantity: { ...valueQuantity, value: 9000 } }
    const updated = assertStatus(await callFhir(patient, 'PUT', `Observation/${stored.id}`, changed))
    assert.deepEqual([updated.valueQuantity.value, updated.status], [9000, 'amended'])
  })

  it('is an occurrence for an event type', async () => {
    const resource = observation('event-type', 'fall', { note: [{ text: 'On the stairs' }] })
    const stored = assertStatus(await callFhir(patient, 'POST', 'Observation', resource), 201)
    assert.equal(stored.code.text, 'Fall')
    assert.equal(stored.note[0].text, 'On the stairs')
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${stored.id}`), 204)
    await readFhir(patient, `Observation/${stored.id}`, 410)
  })

  it('is refused where the type is unknown, or the value does not match it', async () => {
    for (const [code, more, path] of [
      ['nothing', steps(1), 'Observation.code.coding[0].code'],
      ['steps', steps(-1), 'Observation.valueQuantity.value'],
      ['steps', {}, 'Observation.valueQuantity.value'],
      ['steps', { valueString: 'many' }, 'Observation.valueQuantity.value'],
    ] as const) {
      const answer = await callFhir(patient, 'POST', 'Observation', observation('data-type', code, more))
      assert.equal(answer.status, 422, JSON.stringify(answer.body))
      const places = answer.body.issue.flatMap(({ expression = [] }: Json) => expression)
      assert.ok(places.includes(path), `${code} ${JSON.stringify(answer.body)}`)
    }
  })
})
