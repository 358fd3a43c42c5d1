import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

interface Entry {
  at: string
  userId: string
  application: string
  action: string
  type: string
  ids: string[]
  outcome: string
  asked: string | null
  requestId: string
}

describe('the audit of an EHR', () => {
  let patient: Patient
  let planId: string
  beforeEach(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })

  /** All pages of the audit, the newest entries first. */
  async function auditFor(person: Person, limit = 1000, between = async () => {}): Promise<Entry[]> {
    const entries: Entry[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const more: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
      const { items, page } = assertStatus(
        await person.call('GET', `/ehr/${patient.ehrId}/audit?limit=${limit}${more}`),
      )
      entries.push(...items)
      cursor = page.next
      await between()
    }
    return entries
  }

  it('names the others who looked since a time, without the subject', async () => {
    const nurse = await createPerson()
    const profile = { name: { displayName: 'Nurse Bo' } }
    assertStatus(await nurse.call('PUT', `/profile/${nurse.mvUid}`, profile))
    await addParticipant(planId, nurse, 'read')
    assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${planId}`))
    const filtered = async (query: string): Promise<string[]> => {
      const { items } = assertStatus(
        await patient.call('GET', `/ehr/${patient.ehrId}/audit?count=true&${query}`),
      )
      return [...new Set<string>(items.map((one: { userName: string | null }) => one.userName))]
    }
    assert.deepEqual(await filtered('others=true'), ['Nurse Bo'])
    assert.deepEqual((await filtered('')).length, 2)
    const soon = new Date(Date.now() + 60_000).toISOString()
    assert.deepEqual(await filtered(`from=${soon}`), [])
  })

  it('names users by their accounts until they have a profile, and not after they deleted it', async () => {
    const nurse = await createPerson({ name: 'Bo Smit' })
    await addParticipant(planId, nurse, 'read')
    const nameSeen = async () => {
      assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${planId}`))
      const list = await patient.call('GET', `/ehr/${patient.ehrId}/audit?others=true&limit=1`)
      return assertStatus(list).items[0].userName
    }
    assert.equal(await nameSeen(), 'Bo Smit')
    const profile = `/profile/${nurse.mvUid}`
    assertStatus(await nurse.call('PUT', profile, { name: { displayName: 'Nurse Bo' } }))
    assert.equal(await nameSeen(), 'Nurse Bo')
    assertStatus(await nurse.call('DELETE', profile), 204)
    assert.equal(await nameSeen(), null)
  })

  it('shows its subject who saw what, when, by which application, with which outcome', async () => {
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'read')
    const before = Date.now()
    const path = `/ehr/${patient.ehrId}/careplan/${planId}`
    assertStatus(await nurse.call('GET', path, undefined, { 'x-request-id': 'the-look-of-the-nurse' }))
    assertProblem(await nurse.call('PUT', path, { name: 'Mine' }), 403, 'forbidden')
    assertProblem(await (await createPerson()).call('GET', path), 404, 'not-found')
    const [own, denied, refusal, ...looks] = await auditFor(patient)
    const [line] = looks.filter(({ action }) => action === 'read')
    assert.ok(line && Date.parse(line.at) >= before && Date.parse(line.at) <= Date.now())
    const { at: _, ...fields } = line
    assert.deepEqual(fields, {
      userId: nurse.mvUid,
      userName: null,
      onBehalfOf: null,
      application: 'path family',
      action: 'read',
      type: 'CarePlan',
      ids: [planId],
      outcome: 'done',
      asked: null,
      scope: 'ehr',
      requestId: 'the-look-of-the-nurse',
    })
    assert.deepEqual([own?.userId, own?.type], [patient.mvUid, 'Ehr'])
    assert.deepEqual([denied?.action, denied?.outcome], ['read', 'denied'])
    assert.deepEqual([refusal?.userId, refusal?.action, refusal?.outcome], [nurse.mvUid, 'update', 'refused'])
  })

  it('contains the properties of a query, without their values', async () => {
    assertStatus(await patient.call('GET', 'careplan'))
    assertStatus(await patient.call('GET', 'careplan?name=My%20secret&from=2026-01-01'))
    const queries = (await auditFor(patient))
      .filter(({ action }) => action === 'query')
      .map((line) => line.asked)
    assert.deepEqual(queries.slice(0, 2), ['newest: ehrId name createdAt:from', 'newest: ehrId'])
  })

  it('is paged while it grows, without duplicates or gaps', async () => {
    const look = async () => {
      for (let i = 0; i < 3; i++) assertStatus(await patient.call('GET', `careplan/${planId}`))
    }
    await look()
    const before = await auditFor(patient)
    const paged = await auditFor(patient, 2, look)
    const key = ({ requestId, type, action }: Entry) => `${requestId} ${type} ${action}`
    assert.equal(new Set(paged.map(key)).size, paged.length)
    const older = new Set(before.map(key))
    assert.equal(paged.filter((entry) => older.has(key(entry))).length, before.length)
  })

  it('is for its subject and administrators, and logs attempts by others', async () => {
    const [nurse, stranger, admin] = await Promise.all([createPerson(), createPerson(), createAdmin()])
    await addParticipant(planId, nurse, 'write')
    const path = `/ehr/${patient.ehrId}/audit`
    assertProblem(await nurse.call('GET', path), 403, 'forbidden')
    assertProblem(await nurse.call('DELETE', `/med/ehr/${patient.ehrId}`), 403, 'forbidden')
    assertProblem(await stranger.call('GET', path), 404, 'not-found')
    assertProblem(await stranger.call('DELETE', `/med/ehr/${patient.ehrId}`), 404, 'not-found')
    const lines = (await auditFor(admin)).map(
      ({ userId, action, type, outcome }) => `${userId} ${action} ${type} ${outcome}`,
    )
    for (const line of [
      `${nurse.mvUid} query Ehr refused`,
      `${nurse.mvUid} delete Ehr refused`,
      `${stranger.mvUid} read Ehr denied`,
      `${stranger.mvUid} delete Ehr denied`,
    ])
      assert.equal(lines.filter((one) => one === line).length, 1, line)
  })

  it('outlives the EHR: then only administrators read it', async () => {
    const admin = await createAdmin()
    const path = `/ehr/${patient.ehrId}/audit`
    assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
    assertProblem(await patient.call('GET', path), 404, 'not-found')
    const [own, , ...lines] = await auditFor(admin)
    assert.deepEqual(
      [own?.userId, own?.action, own?.type, own?.outcome],
      [admin.mvUid, 'query', 'Ehr', 'done'],
    )
    assert.ok(lines.some(({ action, type, outcome }) => `${action} ${type} ${outcome}` === 'delete Ehr done'))
    assertProblem(await admin.call('GET', '/ehr/unknown0000/audit'), 404, 'not-found')
  })

  it('cannot be changed over HTTP', async () => {
    const admin = await createAdmin()
    for (const method of ['POST', 'PUT', 'DELETE'])
      for (const person of [patient, admin]) {
        const { status } = await person.call(method, `/ehr/${patient.ehrId}/audit`, {})
        assert.equal(status, 405)
      }
    assert.ok((await service.db.collection('audit.entries').countDocuments({ ehrId: patient.ehrId })) > 0)
  })
})
