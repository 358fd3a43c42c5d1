import assert from 'node:assert/strict'
import sharp from 'sharp'
import { connectUsers } from '../../harness/care/owners.ts'
import { createPatient, createPlan, letTakePart, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { callFhir, idsIn, type Json, readFhir } from '../fhir-client.ts'

const resourcesIn = ({ entry = [] }: Json): Json[] => entry.map(({ resource }: Json) => resource)

describe('people in FHIR', () => {
  let patient: Patient
  let friend: Person
  let nurse: Person
  let stranger: Person
  let carePlanId: string
  before(async () => {
    ;[patient, friend, nurse, stranger] = await Promise.all([
      createPatient(),
      createPerson(),
      createPerson(),
      createPerson(),
    ])
    const name = { displayName: 'Ann de Wit', givenName: 'Ann', familyName: 'Wit', prefixFamilyName: 'de' }
    const more = { birthDate: '1980-02-03', gender: 'FEMALE', language: 'nl' }
    assertStatus(await friend.call('PUT', `/profile/${friend.mvUid}`, { name, ...more }))
    const black = sharp({ create: { width: 8, height: 8, channels: 3, background: 'black' } })
    const png = await black.png().toBuffer()
    const picture = `/profile/${friend.mvUid}/picture`
    assertStatus(await friend.call('POST', picture, png, { 'content-type': 'image/png' }), 201)
    await connectUsers(patient, friend)
    carePlanId = await createPlan(patient)
    for (const [{ mvUid }, role] of [
      [friend, 'Brother'],
      [nurse, 'Diabetes nurse'],
    ] as const) {
      const body = { mvUid, access: 'WRITE', role, end: '2030-01-01T00:00:00.000Z' }
      assertStatus(await patient.call('POST', `careplan/${carePlanId}/participant`, body), 201)
    }
  })

  it('show a connected user as Practitioner, with name and picture alone', async () => {
    const practitioner = await readFhir(patient, `Practitioner/${friend.mvUid}`)
    const { meta: _, name, photo, ...rest } = practitioner
    assert.deepEqual(rest, {
      resourceType: 'Practitioner',
      id: friend.mvUid,
      active: true,
      identifier: [{ system: 'urn:health-record-service:user', value: friend.mvUid }],
    })
    assert.deepEqual([name[0].text, name[0].family, name[0].given], ['Ann de Wit', 'de Wit', ['Ann']])
    const { pathname } = new URL(photo[0].url)
    assertStatus(await patient.call('GET', pathname))
    assertStatus(await stranger.call('GET', pathname), 404)
  })

  it('find the connected users, and nobody else', async () => {
    assert.deepEqual(
      idsIn(await readFhir(patient, 'Practitioner')).sort(),
      [patient.mvUid, friend.mvUid].sort(),
    )
    for (const [query, ids] of [
      ['name=ann', [friend.mvUid]],
      ['family=wit', [friend.mvUid]],
      [`identifier=urn:health-record-service:user|${friend.mvUid}`, [friend.mvUid]],
      [`_id=${friend.mvUid},${nurse.mvUid}`, [friend.mvUid]],
      [`_id=${friend.mvUid}&_id=${patient.mvUid}`, []],
      [`_id=${Array.from({ length: 200 }, (_, i) => `unknown${i}`)},${friend.mvUid}`, [friend.mvUid]],
      ['name=nobody', []],
    ] as const)
      assert.deepEqual(idsIn(await readFhir(patient, `Practitioner?${query}`)), ids, query)
    assert.deepEqual(idsIn(await readFhir(stranger, 'Practitioner')), [stranger.mvUid])
    await readFhir(patient, `Practitioner/${nurse.mvUid}`, 404)
    await readFhir(stranger, `Practitioner/${friend.mvUid}`, 404)
    await readFhir(patient, 'Practitioner/nobody.at-all', 404)
  })

  it('give user ids with underscores a dot in FHIR', async () => {
    const mvUid = `a_${nurse.mvUid.slice(2)}`
    const ids = [`${patient.mvUid}-${mvUid}`, `${mvUid}-${patient.mvUid}`]
    const [connection] = await service.db
      .collection('profile.connections')
      .find({ mvUid: patient.mvUid })
      .toArray()
    assert.ok(connection)
    await service.db
      .collection('profile.connections')
      .insertOne({ ...connection, _id: ids[0] as never, other: mvUid })
    const person = await service.db.collection('profile.persons').findOne({ _id: friend.mvUid as never })
    assert.ok(person)
    const readers = person._rperm.map((one: string) => one.replace(friend.mvUid, mvUid))
    await service.db
      .collection('profile.persons')
      .insertOne({ ...person, _id: mvUid as never, _rperm: readers })
    const practitioner = await readFhir(patient, `Practitioner/${mvUid.replace('_', '.')}`)
    assert.equal(practitioner.id, mvUid.replace('_', '.'))
    assert.equal(practitioner.identifier[0].value, mvUid)
    for (const collection of ['profile.connections', 'profile.persons'])
      await service.db.collection(collection).deleteMany({ _id: { $in: [ids[0], mvUid] as never } })
  })

  it('show the participants of a care plan as CareTeam, which the plan names', async () => {
    const plan = await readFhir(patient, `CarePlan/${carePlanId}`)
    assert.deepEqual(plan.careTeam, [{ reference: `CareTeam/${carePlanId}` }])
    const team = await readFhir(patient, `CareTeam/${carePlanId}`)
    assert.deepEqual(
      [team.status, team.name, team.subject.reference],
      ['active', 'Lower blood pressure', `Patient/${patient.ehrId}`],
    )
    assert.deepEqual(
      team.participant.map(({ role, member, period }: Json) => [role[0].text, member.reference, period.end]),
      [
        ['Brother', `Practitioner/${friend.mvUid}`, '2030-01-01T00:00:00.000Z'],
        ['Diabetes nurse', undefined, '2030-01-01T00:00:00.000Z'],
      ],
    )
    assert.equal(team.participant[1].member.identifier.value, nurse.mvUid)
    assert.deepEqual(idsIn(await readFhir(nurse, `CareTeam?patient=${patient.ehrId}`)), [carePlanId])
    assert.deepEqual(idsIn(await readFhir(nurse, 'CareTeam?status=inactive')), [])
    const ofUser = async (mvUid: string) =>
      idsIn(await readFhir(nurse, `CareTeam?patient=${patient.ehrId}&participant=Practitioner/${mvUid}`))
    assert.deepEqual(await ofUser(nurse.mvUid), [carePlanId])
    assert.deepEqual(await ofUser(stranger.mvUid), [])
    assert.deepEqual(idsIn(await readFhir(stranger, `CareTeam?patient=${patient.ehrId}`)), [])
    await readFhir(stranger, `CareTeam/${carePlanId}`, 404)
  })

  it('change the version of a CareTeam with its participants, and end the period of archived ones', async () => {
    const before = await readFhir(patient, `CareTeam/${carePlanId}`)
    const { mvUid } = stranger
    const participants = `careplan/${carePlanId}/participant`
    const { participationId } = assertStatus(
      await patient.call('POST', participants, { mvUid, access: 'READ' }),
      201,
    )
    const joined = await readFhir(patient, `CareTeam/${carePlanId}`)
    assert.notEqual(joined.meta.versionId, before.meta.versionId)
    assertStatus(await patient.call('DELETE', `${participants}/${participationId}`), 204)
    const left = await readFhir(patient, `CareTeam/${carePlanId}`)
    assert.notEqual(left.meta.versionId, joined.meta.versionId)
    assert.ok(left.participant[2].period.end)
    await readFhir(stranger, `CareTeam/${carePlanId}`, 404)
  })

  it('show all participants of a care plan, however many have been there before', async () => {
    const id = await createPlan(patient)
    const { participationId } = await letTakePart(patient, id, nurse, { access: 'READ' })
    const participations = service.db.collection<{ _id: string }>('plan.participants')
    const one = (await participations.findOne({ _id: participationId }))!
    const former = { ...one, status: 'ARCHIVED', _created_at: new Date(0) }
    await participations.insertMany(Array.from({ length: 1000 }, (_, i) => ({ ...former, _id: `${id}${i}` })))
    const { participant } = await readFhir(patient, `CareTeam/${id}`)
    assert.equal(participant.length, 1001)
    assert.equal(participant.at(-1).period.end, undefined)
  })

  it('show the relations of the patient to the patient alone', async () => {
    const relation = { name: { displayName: 'Piet' }, type: 'SIBLING', birthDate: '1990-01-01' }
    assertStatus(await patient.call('POST', `/profile/${patient.mvUid}/relation`, relation), 201)
    const [relatedPerson] = resourcesIn(
      await readFhir(patient, `RelatedPerson?patient=Patient/${patient.ehrId}`),
    )
    assert.deepEqual(relatedPerson.relationship, [
      {
        coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'SIB' }],
        text: 'SIBLING',
      },
    ])
    assert.deepEqual([relatedPerson.name[0].text, relatedPerson.birthDate], ['Piet', '1990-01-01'])
    assert.deepEqual(await readFhir(patient, `RelatedPerson/${relatedPerson.id}`), relatedPerson)
    const none = await readFhir(patient, `RelatedPerson?patient=${patient.ehrId}&name=Klaas`)
    assert.deepEqual(idsIn(none), [])
    for (const [date, isFound] of [
      ['ge1990-01-01T12:00:00Z', true],
      ['le1990-01-01T12:00:00Z', true],
      ['sa1990-01-01T12:00:00Z', false],
    ] as const) {
      const born = await readFhir(patient, `RelatedPerson?patient=${patient.ehrId}&birthdate=${date}`)
      assert.deepEqual(idsIn(born), isFound ? [relatedPerson.id] : [], date)
    }
    for (const other of [friend, nurse, stranger]) {
      assert.deepEqual(idsIn(await readFhir(other, `RelatedPerson?patient=${patient.ehrId}`)), [])
      await readFhir(other, `RelatedPerson/${relatedPerson.id}`, 404)
    }
    for (const id of [`${patient.ehrId}.99`, patient.ehrId, 'nothing.1'])
      await readFhir(patient, `RelatedPerson/${id}`, 404)
  })

  it('are named by references where the reader may know them, and by identifiers elsewhere', async () => {
    const { id } = assertStatus(
      await patient.call('POST', `/med/${patient.ehrId}/event`, {
        type: 'appointment',
        title: 'Check-up',
        start: '2026-03-01T08:30:00Z',
        carePlanId,
        participants: [
          { mvUid: friend.mvUid, status: 'INVITED' },
          { mvUid: nurse.mvUid, status: 'ACCEPTED' },
        ],
      }),
      201,
    )
    const invited = async (who: Person) =>
      (await readFhir(who, `Appointment/${id}`)).participant
        .map(({ actor }: Json) => [actor.reference, actor.identifier?.value])
        .slice(1)
    assert.deepEqual(await invited(patient), [
      [`Practitioner/${friend.mvUid}`, friend.mvUid],
      [undefined, nurse.mvUid],
    ])
    assert.deepEqual(await invited(nurse), [
      [undefined, friend.mvUid],
      [`Practitioner/${nurse.mvUid}`, nurse.mvUid],
    ])
    const [foundAppointment] = resourcesIn(
      await readFhir(
        patient,
        `Appointment?patient=${patient.ehrId}&practitioner=Practitioner/${friend.mvUid}`,
      ),
    )
    assert.equal(foundAppointment.id, id)
    const { entry } = await readFhir(nurse, `Appointment/${id}/_history`)
    assert.equal(entry[0].resource.participant[1].actor.reference, undefined)
    const appointment = { ...foundAppointment, participant: [...foundAppointment.participant] }
    appointment.participant[1] = { actor: { reference: `Practitioner/${friend.mvUid}` }, status: 'declined' }
    const updated = assertStatus(await callFhir(patient, 'PUT', `Appointment/${id}`, appointment))
    assert.equal(updated.participant[1].actor.identifier.value, friend.mvUid)
  })
})
