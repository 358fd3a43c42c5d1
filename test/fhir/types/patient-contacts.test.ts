import assert from 'node:assert/strict'
import { connectUsers } from '../../harness/care/owners.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { callFhir, idsIn, issuesIn, readFhir } from '../fhir-client.ts'

const EXTENSIONS = 'http://hl7.org/fhir/StructureDefinition'

describe('contacts and addresses of a Patient', () => {
  let patient: Patient
  let friend: Person
  let nurse: Person
  let contactId: string
  let path: string
  before(async () => {
    ;[patient, friend, nurse] = await Promise.all([createPatient(), createPerson(), createPerson()])
    path = `Patient/${patient.ehrId}`
    const profile = `/profile/${patient.mvUid}`
    const person = { name: { displayName: 'Ann' }, nationality: 'NL' }
    assertStatus(await patient.call('PUT', profile, person))
    await connectUsers(patient, friend)
    const carePlanId = await createPlan(patient)
    for (const reader of [friend, nurse]) await addParticipant(carePlanId, reader, 'read')
    for (const contact of [
      { type: 'PHONE', value: '+31 20 624 1111', primary: true, usage: 'WORK' },
      { type: 'MOBILE', value: '+31 6 1234 5678', primary: true, usage: 'HOME' },
      { type: 'EMAIL', value: 'ann@example.org', primary: true },
      { type: 'SKYPE', value: 'ann.example', primary: true },
    ])
      contactId = assertStatus(await patient.call('POST', `${profile}/contact`, contact), 201).contactId
    for (const address of [
      {
        usage: 'HOME',
        streetAddress: 'Dam 1',
        locality: 'Amsterdam',
        region: 'Noord-Holland',
        postalCode: '1012 JS',
        country: 'NL',
        lat: 52.37,
        lng: 4.89,
      },
      { usage: 'POSTAL', locality: 'Zürich' },
    ])
      assertStatus(await patient.call('POST', `${profile}/address`, address), 201)
  })

  const telecom = [
    { system: 'phone', value: '+31 20 624 1111', use: 'work', rank: 1 },
    { system: 'phone', value: '+31 6 1234 5678', use: 'mobile', rank: 1 },
    { system: 'email', value: 'ann@example.org', rank: 1 },
    { system: 'other', value: 'ann.example', rank: 1 },
  ]

  it('are shown to the patient, the contacts also to connected users, and nothing to others', async () => {
    const ownAnswer = await readFhir(patient, path)
    assert.deepEqual(ownAnswer.telecom, telecom)
    assert.deepEqual(ownAnswer.address, [
      {
        extension: [
          {
            url: `${EXTENSIONS}/geolocation`,
            extension: [
              { url: 'latitude', valueDecimal: 52.37 },
              { url: 'longitude', valueDecimal: 4.89 },
            ],
          },
        ],
        use: 'home',
        line: ['Dam 1'],
        city: 'Amsterdam',
        state: 'Noord-Holland',
        postalCode: '1012 JS',
        country: 'NL',
      },
      { type: 'postal', city: 'Zürich' },
    ])
    const [nationality] = ownAnswer.extension
    assert.equal(nationality.url, `${EXTENSIONS}/patient-nationality`)
    assert.equal(nationality.extension[0].valueCodeableConcept.coding[0].code, 'NL')

    const { address, extension, ...rest } = await readFhir(friend, path)
    assert.deepEqual([rest.telecom, address, extension], [telecom, undefined, undefined])
    const unknown = await readFhir(nurse, path)
    assert.deepEqual([unknown.name, unknown.telecom, unknown.address], [undefined, undefined, undefined])
  })

  it('are found by those who see them', async () => {
    for (const [query, foundByPatient, foundByFriend] of [
      ['telecom=ann.example', true, true],
      ['email=ann@example.org', true, true],
      ['email=ann.example', false, false],
      [`phone=${encodeURIComponent('+31 6 1234 5678')}`, true, true],
      ['phone:missing=true', false, false],
      ['address-city=amsterdam', true, false],
      ['address-city=zurich', true, false],
      ['address-city:exact=Amsterdam', true, false],
      ['address=dam', true, false],
      ['address-country=NL&address-postalcode=1012&address-state=noord', true, false],
      ['address:missing=true', false, true],
    ] as const)
      for (const [reader, isFound] of [
        [patient, foundByPatient],
        [friend, foundByFriend],
        [nurse, query.endsWith('missing=true')],
      ] as const) {
        const ids = idsIn(await readFhir(reader, `Patient?_id=${patient.ehrId}&${query}`))
        assert.deepEqual(ids, isFound ? [patient.ehrId] : [], query)
      }
  })

  it('are found for the ids that all conditions name, at most 100', async () => {
    const answer = await readFhir(patient, `Patient?_id=${patient.ehrId}&_id=unknown`)
    assert.deepEqual(idsIn(answer), [])
    const ids = Array.from({ length: 101 }, (_, i) => `unknown${i}`)
    const refusal = await callFhir(patient, 'GET', `Patient?_id=${ids}`)
    assert.deepEqual([refusal.status, issuesIn(refusal)], [400, ['too-costly http._id']])
  })

  it('give the Patient a version of its own with each change', async () => {
    const read = (etag?: string) =>
      callFhir(patient, 'GET', path, undefined, etag === undefined ? {} : { 'if-none-match': etag })
    const before = await read()
    assert.equal((await read(before.etag)).status, 304)
    assertStatus(await patient.call('DELETE', `/profile/${patient.mvUid}/contact/${contactId}`), 204)
    const after = await read(before.etag)
    assert.equal(after.status, 200)
    assert.equal(after.body.telecom.length, 3)
    const home = { usage: 'HOME', locality: 'Utrecht' }
    assertStatus(await patient.call('POST', `/profile/${patient.mvUid}/address`, home), 201)
    assert.equal((await read(after.etag)).body.address.length, 3)
  })
})
