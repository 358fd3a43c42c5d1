import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { communicationMapping } from '../../../records/chat/fhir/communication-mapping.ts'
import { isMapped } from '../../../records/fhir/mapping.ts'
import { attachableCollectionOf, CLASS_NAMES, classKindOf } from '../../../records/kinds.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, createRoleHolder } from '../../harness/people/people.ts'

// biome-ignore lint/suspicious/noExplicitAny: resources have any form
type Json = any

const userOf = (value: string) => ({
  type: 'Practitioner',
  identifier: { system: 'urn:health-record-service:user', value },
})

describe('events, messages, questionnaires and the audit in FHIR', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })

  const post = async (path: string, body: object): Promise<Json> =>
    assertStatus(await patient.call('POST', path, body), 201)
  const get = async (path: string, status = 200): Promise<Json> =>
    assertStatus(await patient.call('GET', `/fhir/R4/${path}`), status)
  const find = async (path: string): Promise<Json[]> =>
    ((await get(path)).entry ?? []).map(({ resource }: Json) => resource)

  it('show an event as an Appointment with its participants', async () => {
    const nurse = await createPerson()
    const { id } = await post(`/med/${patient.ehrId}/event`, {
      type: 'appointment',
      title: 'Check-up',
      start: '2026-03-01T08:30:00Z',
      location: 'Room 12',
      end: '2026-03-01T09:00:00Z',
      carePlanId,
      severity: 'LOW',
      participants: [{ mvUid: nurse.mvUid, status: 'INVITED' }],
    })
    const appointment = await get(`Appointment/${id}`)
    assert.deepEqual(appointment.participant, [
      { actor: { reference: `Patient/${patient.ehrId}` }, status: 'accepted' },
      { actor: userOf(nurse.mvUid), status: 'needs-action' },
      { actor: { type: 'Location', display: 'Room 12' }, status: 'accepted' },
    ])
    assert.deepEqual(
      [
        appointment.status,
        appointment.description,
        appointment.start,
        appointment.end,
        appointment.supportingInformation,
      ],
      [
        'booked',
        'Check-up',
        '2026-03-01T08:30:00.000Z',
        '2026-03-01T09:00:00.000Z',
        [{ reference: `CarePlan/${carePlanId}` }],
      ],
    )
    const moment = await post(`/med/${patient.ehrId}/event`, {
      type: 'fall',
      title: 'Fell',
      start: '2026-03-02T08:30:00Z',
    })
    const without = await get(`Appointment/${moment.id}`)
    assert.deepEqual(without._end.extension[0].valueCode, 'not-applicable')
    const ofPatient = `Appointment?patient=${patient.ehrId}`
    for (const [query, ids] of [
      ['', [id, moment.id]],
      ['&_sort=-date', [moment.id, id]],
      ['&date=2026-03-02', [moment.id]],
      [`&practitioner=${nurse.mvUid}`, [id]],
      ['&appointment-type=fall', [moment.id]],
    ] as const)
      assert.deepEqual(
        (await find(`${ofPatient}${query}`)).map((one) => one.id),
        ids,
        query,
      )
  })

  it('show a chat message as a Communication, without its text after deletion', async () => {
    const reading = { carePlanId, timestamp: '2026-03-01T08:30:00Z', heartRate: 61, heartRateUnit: '/min' }
    const { id: measurement } = await post('procedure/heartrate', reading)
    const topic = await post(`/chat/careplan/${carePlanId}`, {
      title: 'Tablets',
      text: 'With meals?',
      attachments: [{ type: 'HeartRate', id: measurement }],
    })
    const [message] = await find(`Communication?patient=${patient.ehrId}`)
    assert.deepEqual(message.payload, [
      { contentString: 'With meals?' },
      { contentReference: { reference: `Observation/${measurement}` } },
    ])
    assert.deepEqual(message.about, [{ reference: `CarePlan/${carePlanId}` }])
    assert.deepEqual(message.sender, {
      reference: `Practitioner/${patient.mvUid}`,
      ...userOf(patient.mvUid),
    })
    assert.equal(message.status, 'completed')
    const path = `/chat/careplan/${carePlanId}/${topic.id}/message/${message.id}`
    assertStatus(await patient.call('DELETE', path), 204)
    const deleted = await get(`Communication/${message.id}`)
    assert.deepEqual([deleted.status, deleted.payload], ['entered-in-error', undefined])
    for (const history of [`Communication/${message.id}/_history`, 'Communication/_history']) {
      const versions = await find(history)
      assert.deepEqual(
        versions.filter(({ id }) => id === message.id).map(({ status, payload }) => [status, payload]),
        [
          ['entered-in-error', undefined],
          ['completed', undefined],
        ],
      )
    }
    const firstVersion = await get(`Communication/${message.id}/_history/1`)
    assert.deepEqual([firstVersion.status, firstVersion.payload], ['completed', undefined])
    assert.deepEqual(await find(`Communication?patient=${patient.ehrId}&status=completed`), [])
    assert.equal((await patient.call('DELETE', `/fhir/R4/Communication/${message.id}`)).status, 405)
  })

  it('refer to attachments by the resource type of their kind', () => {
    for (const kind of CLASS_NAMES.map(classKindOf)) {
      if (attachableCollectionOf(kind.name) === undefined || !isMapped(kind.fhir)) continue
      const attachments = [{ type: kind.name, id: 'm1' }]
      const parts = communicationMapping.elements.map((element) => element.show({ attachments }))
      const [payload] = parts.flatMap((one) => (one.payload as Json[]) ?? [])
      assert.equal(payload.contentReference.reference, `${kind.fhir.type}/m1`)
    }
  })

  it('are refused by the element that says the kind, or by the field that FHIR has no element for', async () => {
    const refused = async (resource: Json) => {
      const sent = await patient.call('POST', `/fhir/R4/${resource.resourceType}`, resource)
      const [{ expression, diagnostics }] = assertStatus(sent, 422).issue
      return [expression, diagnostics]
    }
    const subject = { reference: `Patient/${patient.ehrId}` }
    const response = { resourceType: 'QuestionnaireResponse', status: 'completed', subject }
    const authored = '2026-03-01T08:30:00Z'
    const [element, text] = await refused({ ...response, authored, questionnaire: 'urn:x:phq9' })
    assert.deepEqual(element, ['QuestionnaireResponse.questionnaire'])
    assert.match(text, /must be a questionnaire that this service stores/)
    const modeller = await createRoleHolder('modeller')
    const type = `t-${randomUUID()}`
    const schema = { type: 'object', properties: { cause: {} }, required: ['cause'] }
    assertStatus(await modeller.call('POST', '/data/type/event', { type, name: 'Fall', schema }), 201)
    const [, reason] = await refused({
      resourceType: 'Observation',
      status: 'final',
      subject,
      code: { coding: [{ system: 'urn:health-record-service:event-type', code: type }] },
      effectiveDateTime: authored,
    })
    assert.match(reason, /has no element for data\.cause, which is required/)
  })

  it('show answers by the items of a Questionnaire that they name', async () => {
    const common = { carePlanId, timestamp: '2026-03-01T08:30:00Z' }
    const answers = {
      acq: { version: 6, answers: [2, 1, 2, 1, 1, 2] },
      hads: { answers: [2, 1, 1, 0, 2, 1, 1, 0, 1, 0, 1, 1, 0, null] },
      dsmq: { answers: [3, 2, 3, 'NR', 1, 'NR', 0, 1, 2, 1, 2, 1, 1, 0, 2, 1] },
    }
    const questionnaires = await find('Questionnaire')
    assert.deepEqual(
      questionnaires.map(({ id }) => id),
      ['acq-5', 'acq-6', 'acq-7', 'hads', 'dsmq'],
    )
    const further = questionnaires.slice(0, 3).map(({ version, item }) => item.slice(Number(version)))
    assert.deepEqual(
      further.map((items) => items.map(({ linkId }: Json) => linkId)),
      [['age'], ['relieverPuffs', 'age'], ['relieverPuffs', 'fev1PercentPredicted', 'age']],
    )
    // The service stores responses without any answer.
    assert.ok(questionnaires.every(({ item }) => item.every((one: Json) => !one.required)))
    for (const [kind, body] of Object.entries(answers)) {
      const { id } = await post(`procedure/${kind}`, { ...common, ...body })
      const response = await get(`QuestionnaireResponse/${id}`)
      const [url, version = '1'] = response.questionnaire.split('|')
      const [questionnaire] = await find(`Questionnaire?url=${url}&version=${version}`)
      const linkIds = questionnaire.item.map(({ linkId }: Json) => linkId)
      for (const { linkId } of response.item) assert.ok(linkIds.includes(linkId), linkId)
      const values = response.item.map(
        ({ answer: [{ valueInteger, valueCoding }] = [{}] }: Json) =>
          valueInteger ?? valueCoding?.code ?? null,
      )
      assert.deepEqual(values, body.answers)
      const foundResponses = await find(`QuestionnaireResponse?patient=${patient.ehrId}&questionnaire=${url}`)
      assert.deepEqual(
        foundResponses.map((one) => one.id),
        [id],
      )
      for (const other of [version, '5', '99']) {
        const ofVersion = `${url}|${other}`
        const responses = await find(
          `QuestionnaireResponse?patient=${patient.ehrId}&questionnaire=${ofVersion}`,
        )
        assert.equal(responses.length, other === version ? 1 : 0, ofVersion)
      }
      assert.deepEqual(await find(`Questionnaire?url=${url}|${version}`), [questionnaire])
    }
  })

  it('show the audit to the subject alone, with who did what', async () => {
    const [entry] = await find(`AuditEvent?patient=${patient.ehrId}&action=C&_count=100`)
    assert.deepEqual(await find(`AuditEvent?patient=${patient.ehrId}&type=|rest`), [])
    assert.equal(entry.outcome, '0')
    assert.equal(entry.agent[0].who.identifier.value, patient.mvUid)
    assert.equal(entry.entity[0].what.reference, `Patient/${patient.ehrId}`)
    const { total } = await get(`AuditEvent?patient=${patient.ehrId}&_summary=count`)
    assert.ok(total > 10)
    const firstPage = await get(`AuditEvent?patient=Patient/${patient.ehrId}&_count=2`)
    const next = firstPage.link.find(({ relation }: Json) => relation === 'next').url
    assert.equal((await find(next.slice(next.indexOf('AuditEvent')))).length, 2)
    await get('AuditEvent', 400)
    const nurse = await createPerson()
    const path = `/fhir/R4/AuditEvent?patient=${patient.ehrId}`
    assert.equal(assertStatus(await nurse.call('GET', path)).entry, undefined)
    await addParticipant(carePlanId, nurse, 'write')
    assertStatus(await nurse.call('GET', path), 403)
  })

  it('take answers with the texts of their Questionnaire, and explain faults in terms of FHIR', async () => {
    const { url, version, item } = await get('Questionnaire/acq-5')
    const questions = item.filter(({ type }: Json) => type === 'choice')
    const response = (items: object[], questionnaire = `${url}|${version}`) => ({
      resourceType: 'QuestionnaireResponse',
      questionnaire,
      status: 'completed',
      subject: { reference: `Patient/${patient.ehrId}` },
      authored: '2026-03-01T08:30:00Z',
      item: items,
    })
    const items = questions.map(({ linkId, text }: Json) => ({ linkId, text, answer: [{ valueInteger: 1 }] }))
    const send = (resource: Json) => patient.call('POST', '/fhir/R4/QuestionnaireResponse', resource)
    assertStatus(await send(response(items)), 201)
    const [first, ...others] = items
    for (const [resource, fault] of [
      [response(items, url), /questionnaire must name a version of the Questionnaire/],
      [response(items.slice(0, 3)), /without answer where there is none. Missing: items 4, 5/],
      [response([...items, first]), /item\[5\] is not kept/],
      [
        response([{ ...first, answer: [first.answer[0], first.answer[0]] }, ...others]),
        /answer\[1\] is not kept/,
      ],
    ] as const) {
      const refusal = await send(resource)
      assert.equal(refusal.status, 422)
      assert.match(refusal.body.issue[0].diagnostics, fault)
    }
  })
})
