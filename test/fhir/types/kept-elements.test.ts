import assert from 'node:assert/strict'
import { droppedPaths } from '../../../records/fhir/dropped-elements.ts'
import { createGoal, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { type Answer, assertStatus } from '../../harness/clients/path-client.ts'
import { service } from '../../harness/service/service.ts'
import { bloodPressureOf, callFhir, issuesIn, type Json, readFhir } from '../fhir-client.ts'

const EXTENSION = [{ url: 'http://example.org/negated', valueBoolean: true }]

describe('a resource that a client sends to FHIR', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })

  const send = (resource: Json, prefer?: string): Promise<Answer> =>
    callFhir(patient, 'POST', resource.resourceType, resource, prefer === undefined ? {} : { prefer })
  const pressure = (more: object = {}) => bloodPressureOf(patient.ehrId, more)

  const device = (more: object = {}) => ({
    resourceType: 'Device',
    status: 'active',
    patient: { reference: `Patient/${patient.ehrId}` },
    deviceName: [{ name: `Monitor ${Math.random()}`, type: 'user-friendly-name' }],
    ...more,
  })
  const bodyMassIndex = (valueQuantity: object) => ({
    ...pressure({ code: { coding: [{ system: 'http://loinc.org', code: '39156-5' }] }, valueQuantity }),
    component: undefined,
  })

  it('is refused, or reported, if metadata, narratives and words without codes would be lost', async () => {
    const security = [{ system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality', code: 'R' }]
    const div = '<div xmlns="http://www.w3.org/1999/xhtml">Measured after a walk</div>'
    const rows: [more: object, path: string][] = [
      [{ meta: { security } }, 'meta.security[0]'],
      [{ meta: { tag: [{ code: 'trial' }] } }, 'meta.tag[0]'],
      [{ meta: { source: 'http://example.org/monitor' } }, 'meta.source'],
      [{ text: { status: 'additional', div } }, 'text'],
      [{ category: [...pressure().category, { text: 'At home' }] }, 'category[1]'],
      [{ code: { coding: [...pressure().code.coding, { display: 'Pressure at home' }] } }, 'code.coding[1]'],
    ]
    for (const [more, path] of rows) {
      assert.deepEqual(issuesIn(await send(pressure(more))), [`not-supported Observation.${path}`])
      const lenientAnswer = await send(pressure(more), 'handling=lenient')
      assert.deepEqual(
        [lenientAnswer.status, ...issuesIn(lenientAnswer)],
        [201, `not-supported Observation.${path}`],
      )
    }
    const usual = { meta: { versionId: '7', lastUpdated: '2020-01-01T00:00:00Z' } }
    assertStatus(await send(pressure({ ...usual, text: { status: 'generated', div } })), 201)
  })

  it('is refused, or reported, if digits of its time would be lost, or FHIR forbids it', async () => {
    for (const time of ['T08:00:00.123999Z', 'T08:00:00+15:00', 'T24:00:00Z']) {
      const resource = pressure({ effectiveDateTime: `2026-03-01${time}` })
      assert.deepEqual(issuesIn(await send(resource)), ['not-supported Observation.effectiveDateTime'], time)
    }
    for (const time of ['T08:00:00.12300Z', 'T08:00:00+14:00', 'T23:59:59-12:00'])
      assertStatus(await send(pressure({ effectiveDateTime: `2026-03-01${time}` })), 201)
  })

  it('is refused, or reported, if the reference to who reports a medication would be lost', async () => {
    const statement = (informationSource: object) => ({
      resourceType: 'MedicationStatement',
      status: 'active',
      medicationCodeableConcept: { text: 'Metformin' },
      subject: { reference: `Patient/${patient.ehrId}` },
      informationSource,
    })
    for (const source of [
      { reference: 'Practitioner/p1' },
      { reference: 'Practitioner/p1', type: 'Practitioner' },
      { reference: 'RelatedPerson/p1', type: 'RelatedPerson' },
    ]) {
      const path = 'not-supported MedicationStatement.informationSource'
      assert.match(String(issuesIn(await send(statement(source)))), new RegExp(`^${path}`))
      const lenient = await send(statement(source), 'handling=lenient')
      assert.equal(lenient.status, 201)
      assert.match(String(issuesIn(lenient)), new RegExp(`^${path}`))
    }
    assertStatus(await send(statement({ type: 'Practitioner', display: 'Practitioner' })), 201)
  })

  it('is refused, or reported, for each item of a list that another item alone would keep', async () => {
    const statement = (dosage: object[]) => ({
      resourceType: 'MedicationStatement',
      status: 'active',
      medicationCodeableConcept: { text: 'Metoprolol' },
      subject: { reference: `Patient/${patient.ehrId}` },
      dosage,
    })
    const regular = { text: '1 tablet' }
    const asNeeded = { ...regular, asNeededBoolean: true }
    const [systolic, diastolic] = pressure().component
    const rows: [resource: Json, path: string][] = [
      [statement([asNeeded, regular]), 'MedicationStatement.dosage[1]'],
      [statement([regular, asNeeded]), 'MedicationStatement.dosage[1]'],
      [statement([regular, regular]), 'MedicationStatement.dosage[1]'],
      [pressure({ component: [systolic, diastolic, { code: systolic?.code }] }), 'Observation.component[2]'],
    ]
    for (const [resource, path] of rows) {
      const answer = await send(resource)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [422, `not-supported ${path}`])
      const lenient = await send(resource, 'handling=lenient')
      assert.deepEqual([lenient.status, ...issuesIn(lenient)], [201, `not-supported ${path}`])
    }
    assertStatus(await send(pressure({ component: [diastolic, systolic] })), 201)
  })

  it('is refused even to a lenient client if what is lost changes its meaning', async () => {
    const [systolic, diastolic] = pressure().component
    const above = { ...systolic, valueQuantity: { ...systolic?.valueQuantity, comparator: '>' } }
    const immunisation = {
      resourceType: 'Immunization',
      status: 'completed',
      vaccineCode: { text: 'Influenza' },
      patient: { reference: `Patient/${patient.ehrId}` },
      occurrenceDateTime: '2026-01-05',
    }
    const rows: [resource: Json, path: string][] = [
      [pressure({ status: 'entered-in-error' }), 'Observation.status'],
      [pressure({ status: 'cancelled' }), 'Observation.status'],
      [pressure({ modifierExtension: EXTENSION }), 'Observation.modifierExtension[0]'],
      [pressure({ implicitRules: 'http://example.org/rules' }), 'Observation.implicitRules'],
      [pressure({ component: [above, diastolic] }), 'Observation.component[0].valueQuantity.comparator'],
      [{ ...immunisation, isSubpotent: true }, 'Immunization.isSubpotent'],
      [bodyMassIndex({ value: 85, unit: '%', code: '%' }), 'Observation.valueQuantity.code'],
      [bodyMassIndex({ value: 85, unit: '%' }), 'Observation.valueQuantity.unit'],
      [device({ status: 'inactive' }), 'Device.status'],
    ]
    for (const [resource, path] of rows) {
      const answer = await send(resource, 'handling=lenient')
      assert.deepEqual([answer.status, ...issuesIn(answer)], [422, `not-supported ${path}`])
    }
  })

  it('may have a status that follows from other elements as it was, or as it becomes, and no other', async () => {
    const put = (resource: Json) =>
      callFhir(patient, 'PUT', `${resource.resourceType}/${resource.id}`, resource)
    const refused = async (resource: Json, path: string) => {
      const answer = await put(resource)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [422, `not-supported ${path}`])
    }
    const { id } = assertStatus(await send(device()), 201)
    const monitor = await readFhir(patient, `Device/${id}`)
    await refused({ ...monitor, status: 'inactive' }, 'Device.status')
    const patch = [{ op: 'replace', path: '/status', value: 'inactive' }]
    const headers = { 'content-type': 'application/json-patch+json' }
    assertStatus(await callFhir(patient, 'PATCH', `Device/${id}`, patch, headers), 422)
    const expired = assertStatus(await put({ ...monitor, expirationDate: '2020-01-01' }))
    assert.equal(expired.status, 'inactive')
    await refused({ ...expired, status: 'active' }, 'Device.status')

    const goal = await readFhir(patient, `Goal/${await createGoal(patient, planId)}`)
    const achievement = 'Goal.achievementStatus.coding[0].code'
    const [coding] = goal.achievementStatus.coding
    const achieved = { achievementStatus: { coding: [{ ...coding, code: 'achieved' }] } }
    await refused({ ...goal, ...achieved }, achievement)
    const completed = assertStatus(await put({ ...goal, lifecycleStatus: 'completed' }))
    assert.deepEqual(completed.achievementStatus, achieved.achievementStatus)

    const event = { type: 'walk', title: 'Walk', start: '2026-03-01T08:30:00Z' }
    const visit = assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 201)
    const appointment = await readFhir(patient, `Appointment/${visit.id}`)
    for (const status of ['arrived', 'fulfilled', 'cancelled'])
      await refused({ ...appointment, status }, 'Appointment.status')
  })

  it('may name resources by the address of this service, but not by that of another one', async () => {
    const subjectAt = (address: string) => ({ subject: { reference: `${address}/Patient/${patient.ehrId}` } })
    assertStatus(await send(pressure(subjectAt(`${service.url}/fhir/R4`))), 201)
    const elsewhere = {
      ...subjectAt('https://other.example.org/fhir'),
      basedOn: [{ reference: `CarePlan/${planId}` }],
    }
    for (const prefer of ['handling=strict', 'handling=lenient']) {
      const answer = await send(pressure(elsewhere), prefer)
      assert.deepEqual([answer.status, ...issuesIn(answer)], [422, 'not-supported Observation.subject'])
    }
    for (const path of [
      'Observation?_count=1',
      'Observation/_history?_count=1',
      'Observation/$lastn?max=1',
      'AuditEvent?_count=1',
      'Provenance?_count=1',
    ]) {
      const countFound = async (address: string): Promise<number> => {
        const search = `${path}&patient=${address}/Patient/${patient.ehrId}`
        return (await readFhir(patient, search)).entry?.length ?? 0
      }
      assert.ok((await countFound(`${service.url}/fhir/R4`)) > 0, path)
      assert.equal(await countFound('https://other.example.org/fhir'), 0, path)
    }
  })

  it('shows a pressure that nobody knows with a reason, as its profile demands', async () => {
    const [systolic, diastolic] = pressure().component
    const absent = (code: string) => ({
      code: diastolic?.code,
      dataAbsentReason: {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/data-absent-reason', code }],
      },
    })
    for (const component of [[systolic], [systolic, absent('unknown')]]) {
      const { id } = assertStatus(await send(pressure({ component })), 201)
      const observation = await readFhir(patient, `Observation/${id}`)
      const [, { dataAbsentReason, valueQuantity }] = observation.component
      assert.deepEqual([dataAbsentReason, valueQuantity], [absent('unknown').dataAbsentReason, undefined])
      assertStatus(await callFhir(patient, 'PUT', `Observation/${id}`, observation))
    }
    const refusal = await send(pressure({ component: [systolic, absent('not-performed')] }))
    assert.deepEqual(issuesIn(refusal), [
      'not-supported Observation.component[1].dataAbsentReason.coding[0].code',
    ])
  })

  it('shows no empty text, which FHIR forbids', async () => {
    const units = { systolicUnit: 'mm[Hg]', diastolicUnit: 'mm[Hg]', timestamp: '2026-02-01T08:00:00Z' }
    const measurement = { carePlanId: planId, systolic: 120, diastolic: 80, ...units, comment: '' }
    const { id } = assertStatus(await patient.call('POST', 'procedure/bloodpressure', measurement), 201)
    assert.equal((await readFhir(patient, `Observation/${id}`)).note, undefined)
  })

  const participantsOf = (count: number): Json[] => {
    const user = (name: string, status: string): Json => ({
      actor: { identifier: { system: 'urn:health-record-service:user', value: name } },
      status,
    })
    const indexes = Array.from({ length: count }, (_, i) => i)
    return [
      { actor: { reference: `Patient/${patient.ehrId}` }, status: 'accepted' },
      ...indexes.map((i) => user(`accepted-${i}`, 'accepted')),
      ...indexes.flatMap((i) => [{ status: 'accepted' }, user(`declined-${i}`, 'declined')]),
    ]
  }

  it('is refused with many participants, some of them without an actor', async () => {
    const appointment = {
      resourceType: 'Appointment',
      status: 'booked',
      description: 'Consultation',
      appointmentType: { text: 'Consultation' },
      start: '2027-03-01T08:30:00Z',
      end: '2027-03-01T09:00:00Z',
    }
    const withoutActor = Array.from({ length: 10 }, (_, i) => `participant[${11 + 2 * i}]`)
    for (const [count, issues] of [
      [10, withoutActor.map((path) => `not-supported Appointment.${path}`)],
      [200, ['business-rule Appointment.participant']],
    ] as const) {
      const answer = await send({ ...appointment, participant: participantsOf(count) })
      assert.deepEqual([answer.status, ...issuesIn(answer)], [422, ...issues])
    }
  })

  it('is compared with what the service keeps by a bounded number of comparisons', () => {
    let readCount = 0
    const counted = (participant: Json): Json => ({
      ...participant,
      get status() {
        readCount++
        return participant.status
      },
    })
    const lostIn = (count: number): readonly string[] => {
      readCount = 0
      const sent = participantsOf(count)
      const stored = sent.filter(({ actor }) => actor)
      return droppedPaths(sent.map(counted), stored, 'participant', { accepted: {} })
    }
    const withoutActor = Array.from({ length: 33 }, (_, i) => `participant[${34 + 2 * i}]`)
    assert.deepEqual(lostIn(33), withoutActor)
    assert.ok(readCount < 200_000, String(readCount))
    assert.ok(lostIn(2000).includes('participant[2001]'))
    assert.ok(readCount < 200_000, String(readCount))
  })
})
