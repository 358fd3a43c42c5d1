import assert from 'node:assert/strict'
import { idsIn, readFhir } from '../../fhir/fhir-client.ts'
import { connectUsers } from '../../harness/care/owners.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { actFor, createHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { request } from '../../harness/service/service.ts'

describe('data that a helper does not see', () => {
  let patient: Patient
  let reading: Person
  before(async () => {
    const [person, helper] = await Promise.all([createPatient(), createPerson()])
    patient = person
    await createHelper(patient, helper, ['READ', 'PLAN'])
    reading = await actFor(patient, helper)
  })

  it('are the profile of the person, and whom they know', async () => {
    const profile = `/profile/${patient.mvUid}`
    const name = { displayName: 'Ann Jansen' }
    const friend = await createPerson()
    await connectUsers(patient, friend)
    assertStatus(await patient.call('PUT', profile, { name, birthDate: '1980-02-03', gender: 'FEMALE' }))
    assertStatus(
      await patient.call('POST', `${profile}/contact`, { type: 'SKYPE', value: 'ann.jansen', primary: true }),
      201,
    )
    assertStatus(await patient.call('POST', `${profile}/address`, { usage: 'HOME', locality: 'Zwolle' }), 201)
    const relation = { name: { displayName: 'Piet' }, type: 'SIBLING' }
    assertStatus(await patient.call('POST', `${profile}/relation`, relation), 201)
    const relations = `RelatedPerson?patient=${patient.ehrId}`
    const named = `Patient?_id=${patient.ehrId}&name=Ann`
    for (const search of ['Practitioner', `Practitioner?_id=${friend.mvUid}`, relations, named]) {
      assert.ok(idsIn(await readFhir(patient, search)).length > 0, search)
      assert.deepEqual(idsIn(await readFhir(reading, search)), [], search)
    }
    const [relationId] = idsIn(await readFhir(patient, relations))
    for (const path of [`RelatedPerson/${relationId}`, `Practitioner/${friend.mvUid}`])
      await readFhir(reading, path, 404)
    for (const path of [`Patient/${patient.ehrId}`, `Patient/${patient.ehrId}/$everything`])
      assert.doesNotMatch(
        JSON.stringify(await readFhir(reading, path)),
        /Ann|1980|female|ann\.jansen|Zwolle|Piet/,
        path,
      )
    const card = `/ehr/${patient.ehrId}/patient`
    assert.equal(assertStatus(await patient.call('GET', card)).birthDate, '1980-02-03')
    const { name: shownName, birthDate, gender } = assertStatus(await reading.call('GET', card))
    assert.deepEqual([shownName, birthDate, gender], [null, null, null])
  })

  it('are the account and messages, through pointers', async () => {
    const planId = await createPlan(patient)
    const topic = { title: 'The new tablets', text: 'Which?' }
    const { id } = assertStatus(await patient.call('POST', `/chat/careplan/${planId}`, topic), 201)
    const pointerTo = (className: string, objectId: string) => ({ __type: 'Pointer', className, objectId })
    const pointers = {
      user: pointerTo('_User', patient.mvUid),
      topic: pointerTo('ChatTopic', id),
      plan: pointerTo('CarePlan', planId),
    }
    const start = parseDate('2026-03-01T08:30:00.000Z')
    const event = { ehrId: patient.ehrId, type: 'appointment', title: 'Check-up', start, data: pointers }
    const { objectId } = (await createClassClient(reading).post('Event', event).expect(201)).body
    const path = `/1/classes/Event/${objectId}`
    const see = async (who: Person, name: string): Promise<string | undefined> => {
      const { body } = await request()
        .get(path)
        .query({ include: `data.${name}` })
        .set(who.headers)
        .expect(200)
      return body.data[name]?.__type
    }
    const names = Object.keys(pointers)
    const seeAll = async (who: Person) => Promise.all(names.map((name) => see(who, name)))
    assert.deepEqual(await seeAll(patient), ['Object', 'Object', 'Object'])
    assert.deepEqual(await seeAll(reading), [undefined, undefined, 'Object'])
    await request().post('/1/logout').set(reading.headers).expect(200)
    await createClassClient(reading).get('Event', objectId).expect(401)
  })
})
