import assert from 'node:assert/strict'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { callFhir, idsIn, issuesIn, type Json, readFhir, readPages } from '../fhir-client.ts'

const VALUES = {
  pressure: { systolic: 128, systolicUnit: 'mmHg', diastolic: 82, diastolicUnit: 'mmHg', heartRate: 70 },
  bmi: { weight: 70, weightUnit: 'kg', height: 175, heightUnit: 'cm' },
}

const SNOMED_ASTHMA = { system: 'http://snomed.info/sct', code: '195967001' }

/** The beginning of a relative reference. */
const REFERENCE = /([=,])(?=[A-Z][A-Za-z]+\/)/g

describe('the search parameters of R4', () => {
  let patient: Patient
  let nurse: Person
  const ids: Record<string, string> = {}
  const post = async (path: string, body: object): Promise<string> =>
    assertStatus(await patient.call('POST', path, body), 201).id
  before(async () => {
    patient = await createPatient()
    nurse = await createPerson()
    const carePlanId = await createPlan(patient)
    await addParticipant(carePlanId, nurse, 'read')
    const measure = (kind: string, body: object) =>
      post(`procedure/${kind}`, { carePlanId, timestamp: '2026-03-01T08:30:00.000Z', ...body })
    const device = async (body: object): Promise<string> =>
      assertStatus(await patient.call('PUT', 'device', body), 201).id
    const event = { title: 'Check-up', start: '2026-03-01T08:30:00Z', carePlanId }
    const goal = await createGoal(patient, carePlanId)
    Object.assign(ids, {
      plan: carePlanId,
      goal,
      task: await createTask(patient, carePlanId, goal),
      pressure: await measure('bloodpressure', VALUES.pressure),
      bmi: await measure('bmi', VALUES.bmi),
      weight: await createWeight(patient, carePlanId, 71),
      visit: await post(`/med/${patient.ehrId}/event`, {
        type: 'appointment',
        ...event,
        participants: [{ mvUid: nurse.mvUid, status: 'INVITED' }],
      }),
      alone: await post(`/med/${patient.ehrId}/event`, { type: 'walk', ...event }),
      expired: await device({ name: 'Old monitor', expiry: '2020-01-01' }),
      device: await device({ name: 'Möbius monitor', manufacturer: 'ACME-2 B.V.', model: 'X' }),
      diagnosis: await post('diagnosis', { name: 'Asthma', code: SNOMED_ASTHMA, onset: '2026-02-10' }),
      error: await post('diagnosis', {
        name: 'Gout',
        certainty: 'entered-in-error',
        status: 'resolved',
        resolved: '2026-02-10',
      }),
      ended: await post('medication', { name: 'A', start: '2026-01-01', end: '2026-01-31' }),
      going: await post('medication', { name: 'B', start: '2026-02-01', informationSource: 'patient' }),
      undated: await post('medication', { name: 'C' }),
    })
  })

  const practitioner = () => `Practitioner/${nurse.mvUid.replaceAll('_', '.')}`
  const identifier = () => `urn:health-record-service:user|${nurse.mvUid}`

  /** The expected matches of the patient's search: names of `ids`, with the suffix of a part. */
  const ROWS: readonly (readonly [search: () => string, found: readonly string[]])[] = [
    [() => `Observation?derived-from=Observation/${ids.bmi}`, ['bmi.h', 'bmi.w']],
    [() => `Observation?derived-from=${ids.bmi}.w`, []],
    [() => `Observation?has-member=Observation/${ids.pressure}.hr`, ['pressure']],
    [
      () => `Observation?has-member=Observation/${ids.bmi}.w,Observation/${ids.pressure}.hr`,
      ['bmi', 'pressure'],
    ],
    [() => 'Observation?has-member:missing=false', ['bmi', 'pressure']],
    [() => 'Observation?combo-code-value-quantity=8480-6$gt127', ['pressure']],
    [() => 'Observation?combo-code-value-quantity=8462-4$gt127', []],
    [
      () =>
        'Observation?combo-code-value-quantity=http://loinc.org|29463-7$ge70|http://unitsofmeasure.org|kg',
      ['bmi.w', 'weight'],
    ],
    [() => 'Observation?component-code-value-quantity=8480-6$gt129,8462-4$lt83', ['pressure']],
    [() => 'Observation?code-value-quantity=8867-4$70', ['pressure.hr']],
    [() => 'Observation?code-value-quantity=8867-4$gt70', []],
    [() => 'Observation?code=8867-4&value-quantity=lt70', []],
    [() => 'Observation?code=8867-4&value-quantity:missing=true', []],
    [() => 'Observation?code=8867-4&value-quantity:missing=false', ['pressure.hr']],
    [() => 'Observation?component-code:not=8480-6', ['bmi', 'bmi.h', 'bmi.w', 'pressure.hr', 'weight']],
    [() => `Appointment?actor=Patient/${patient.ehrId}`, ['alone', 'visit']],
    [() => `Appointment?actor=${practitioner()}`, ['visit']],
    [() => `Appointment?actor:Practitioner=${practitioner()}`, ['visit']],
    [() => `Appointment?practitioner:identifier=${identifier()}`, ['visit']],
    [() => `Appointment?supporting-info=CarePlan/${ids.plan}&actor=${patient.ehrId}`, ['alone', 'visit']],
    [() => 'CarePlan?category=assess-plan', ['plan']],
    [() => 'CarePlan?category=other', []],
    [() => `CarePlan?care-team=CareTeam/${ids.plan}&intent=plan`, ['plan']],
    [
      () => 'Goal?achievement-status=http://terminology.hl7.org/CodeSystem/goal-achievement|in-progress',
      ['goal'],
    ],
    [() => 'Goal?achievement-status:not=in-progress', []],
    [() => 'Task?intent=order&period:missing=true', ['task']],
    [() => 'Task?period=2026', []],
    [() => 'Device?status=active', ['device']],
    [() => 'Device?status=inactive', ['expired']],
    [() => 'Device?status:not=inactive', ['device']],
    [() => 'Device?status=unknown', []],
    [() => 'Device?device-name=mob', ['device']],
    [() => 'Device?device-name=monitor', []],
    [() => 'Device?device-name:exact=Möbius monitor', ['device']],
    [() => 'Device?device-name:exact=mobius monitor', []],
    [() => 'Device?manufacturer=acme 2&model=x', ['device']],
    [() => 'Device?manufacturer=X', []],
    [() => 'Device?manufacturer=-', []],
    [() => 'Device?model=%23', []],
    [() => 'Device?udi-carrier:missing=true', ['device', 'expired']],
    [() => `MedicationStatement?source=Patient/${patient.ehrId}`, ['going']],
    [() => 'MedicationStatement?effective=2026-01', ['ended']],
    [() => 'MedicationStatement?effective=2026-02', []],
    [() => 'MedicationStatement?effective=ne2026-01', ['going']],
    [() => 'MedicationStatement?effective=ge2026-02', ['going']],
    [() => 'MedicationStatement?effective=gt2026-03-01', ['going']],
    [() => 'MedicationStatement?effective=lt2026-02', ['ended']],
    [() => 'MedicationStatement?effective=le2026-02-01', ['ended', 'going']],
    [() => 'MedicationStatement?effective=sa2026-01', ['going']],
    [() => 'MedicationStatement?effective=eb2026-02', ['ended']],
    [() => 'MedicationStatement?effective=ge2026-01-10&effective=le2026-01-20', ['ended']],
    [() => 'MedicationStatement?effective=ap2026-02-15', ['ended', 'going']],
    [() => 'MedicationStatement?effective:missing=false', ['ended', 'going']],
    ...['le', 'lt', 'ge', 'gt', 'ne', 'ap'].map(
      (prefix) => [() => `Condition?onset-date=${prefix}2026-02-10T12:00:00Z`, ['diagnosis']] as const,
    ),
    ...[
      'sa2026-02-10T12:00:00Z',
      'eb2026-02-10T12:00:00Z',
      '2026-02-10T12:00:00Z',
      'lt2026-02-10T00:00:00Z',
    ].map((date) => [() => `Condition?onset-date=${date}`, []] as const),
    [() => 'Condition?code=http://snomed.info/sct|', ['diagnosis']],
    [() => 'Condition?code:not=http://snomed.info/sct|', ['error']],
    [() => 'Condition?code:not=http://loinc.org|', ['diagnosis', 'error']],
    [() => 'Condition?code:not=http://loinc.org|,http://snomed.info/sct|', ['error']],
    [() => 'Condition?clinical-status=active', ['diagnosis']],
    [() => 'Condition?clinical-status=active,resolved', ['diagnosis']],
    [() => 'Condition?clinical-status:not=active', ['error']],
    [() => 'Condition?clinical-status:not=active,resolved', ['error']],
    [() => 'Condition?clinical-status:not=resolved', ['diagnosis', 'error']],
    [() => 'Condition?clinical-status:missing=true', ['error']],
    [() => 'Condition?clinical-status:missing=false', ['diagnosis']],
    [() => 'Condition?clinical-status=resolved&verification-status=entered-in-error', []],
    [() => 'Condition?abatement-date=2026-02-10', []],
    [() => 'Condition?abatement-date:missing=true', ['diagnosis', 'error']],
    [() => 'Condition?onset-date=sa2026-02-09T12:00:00Z', ['diagnosis']],
    [() => 'Condition?onset-date=le2026-02-09T23:59:59.999Z', []],
    [() => 'MedicationStatement?effective=le2026-02-01T08:00:00Z', ['ended', 'going']],
    [() => 'MedicationStatement?effective=lt2026-02-01T08:00:00Z', ['ended', 'going']],
    [() => 'MedicationStatement?effective=sa2026-02-01T08:00:00Z', []],
    [() => 'MedicationStatement?effective=sa2026-01-31T08:00:00Z', ['going']],
    [() => 'MedicationStatement?effective=eb2026-01-31T08:00:00Z', []],
    [() => 'MedicationStatement?effective:missing=true', ['undated']],
    [() => 'MedicationStatement?effective=gt2900', ['going']],
    ...['ne2020', 'ge2020'].map(
      (date) => [() => `MedicationStatement?effective=${date}`, ['ended', 'going']] as const,
    ),
    ...['lt2020', 'le2020', 'eb2020', 'ap2020'].map(
      (date) => [() => `MedicationStatement?effective=${date}`, []] as const,
    ),
    ...['lt2900', 'ge1900', 'ne2020'].map((date) => [() => `Task?period=${date}`, []] as const),
    [() => 'Goal?target-date:missing=true', ['goal']],
    [() => 'Goal?target-date:missing=false', []],
  ]

  it('find what they describe', async () => {
    const nameOf = (id: string) => {
      const [record, part] = id.split('.')
      const [name] = Object.entries(ids).find(([, own]) => own === record) ?? []
      return part === undefined ? name : `${name}.${part}`
    }
    for (const [search, expected] of ROWS) {
      const foundIds = await readPages(patient, `${search()}&patient=${patient.ehrId}`)
      assert.deepEqual(foundIds.map(nameOf).sort(), expected, search())
    }
  })

  it('take references with the address of this service, and find nothing by that of another one', async () => {
    const inTable = ROWS.map(([search]) => search()).filter((search) => search.match(REFERENCE))
    assert.ok(inTable.length > 8)
    const searches = [
      ...inTable,
      `Provenance?target=Goal/${ids.goal}`,
      `Provenance?agent=Practitioner/${patient.mvUid.replaceAll('_', '.')}`,
      `AuditEvent?entity=Goal/${ids.goal}`,
    ]
    const find = async (search: string) =>
      idsIn(await readFhir(patient, `${search}&patient=${patient.ehrId}`))
    for (const search of searches) {
      const findAt = (address: string) => find(search.replaceAll(REFERENCE, `$1${address}/`))
      assert.deepEqual(await findAt(`${service.url}/fhir/R4`), await find(search), search)
      assert.deepEqual(await findAt('https://other.example.org/fhir/R4'), [], search)
    }
    for (const search of searches.slice(inTable.length)) assert.ok((await find(search)).length > 0, search)
  })

  it('lead from a resource to others, and back', async () => {
    const included = async (query: string) =>
      (await readFhir(patient, query)).entry
        .filter(({ search }: Json) => search.mode === 'include')
        .map(({ resource }: Json) => `${resource.resourceType}/${resource.id}`)
        .sort()
    const ofPatient = `patient=${patient.ehrId}`
    assert.deepEqual(
      await included(`Observation?${ofPatient}&_id=${ids.bmi}&_include=Observation:has-member`),
      [`Observation/${ids.bmi}.h`, `Observation/${ids.bmi}.w`],
    )
    assert.deepEqual(
      await included(`Observation?${ofPatient}&_id=${ids.bmi}&_revinclude=Observation:derived-from`),
      [`Observation/${ids.bmi}.h`, `Observation/${ids.bmi}.w`],
    )
    assert.deepEqual(await included(`Appointment?${ofPatient}&_id=${ids.visit}&_include=Appointment:actor`), [
      `Patient/${patient.ehrId}`,
    ])
    assert.deepEqual(await included(`CarePlan?${ofPatient}&_include=CarePlan:care-team`), [
      `CareTeam/${ids.plan}`,
    ])
    assert.deepEqual(await included(`Goal?${ofPatient}&_revinclude=Provenance:target`), [
      `Provenance/Goal.${ids.goal}.1`,
    ])
  })

  it('find the changes of several targets, and of a patient, page by page', async () => {
    const targets = ['goal', 'plan', 'task'].map((name) => ids[name] as string)
    const query = `target=Goal/${targets[0]},CarePlan/${targets[1]},Goal/unknown123,Task/${targets[2]}`
    const changes = [`Goal.${targets[0]}.1`, `CarePlan.${targets[1]}.1`, `Task.${targets[2]}.1`]
    for (const count of [1, 2, 20])
      assert.deepEqual(await readPages(patient, `Provenance?${query}&_count=${count}`), changes)
    const allIds = await readPages(patient, `Provenance?patient=${patient.ehrId}&_count=3`)
    assert.equal(new Set(allIds).size, allIds.length)
    assert.ok(changes.every((one) => allIds.includes(one)))
    const findByAgent = (agent: string) =>
      readPages(patient, `Provenance?patient=${patient.ehrId}&agent=${agent}`)
    assert.deepEqual(await findByAgent(`Practitioner/${patient.mvUid.replaceAll('_', '.')}`), allIds)
    assert.deepEqual(await findByAgent(practitioner()), [])
    const [entry] = (await readFhir(patient, `Provenance?patient=${patient.ehrId}`)).entry
    assert.equal(entry.resource.agent[0].who.identifier.value, patient.mvUid)
    const stranger = await createPatient()
    assert.deepEqual(await readPages(stranger, `Provenance?${query}`), [])
    assert.deepEqual(await readPages(stranger, `Provenance?patient=${patient.ehrId}`), [])
  })

  it('find accesses by what was accessed, and how', async () => {
    await readFhir(patient, `Goal/${ids.goal}`)
    const find = async (query: string) => {
      const bundle = await readFhir(patient, `AuditEvent?patient=${patient.ehrId}&_count=1000&${query}`)
      return idsIn(bundle).length
    }
    assert.ok((await find(`entity=Goal/${ids.goal}&subtype=read`)) > 0)
    assert.equal(await find('entity=Goal/unknown123'), 0)
    const events = await find('type=http://terminology.hl7.org/CodeSystem/audit-event-type|rest')
    // Each search is an access, too.
    assert.equal(await find(`entity=Patient/${patient.ehrId}`), events + 1)
    assert.equal(await find('type=other'), 0)
    assert.ok((await find('action=http://hl7.org/fhir/audit-event-action|R')) > 0)
  })

  it('refuse chains and other conditions that would be left out, by their names', async () => {
    for (const name of [
      'patient.name',
      'subject:Patient.name',
      '_has:Goal:patient:status',
      '_list',
      '_text',
    ]) {
      const answer = await callFhir(patient, 'GET', `Observation?patient=${patient.ehrId}&${name}=x`)
      assert.equal(answer.status, 400, name)
      assert.deepEqual(issuesIn(answer), [`not-supported http.${name}`])
    }
  })
})
