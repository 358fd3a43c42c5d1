import assert from 'node:assert/strict'
import { byClass } from '../../../family-kinds.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertError, parseDate } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../../harness/people/people.ts'
import { assertNoScan, recordCommands } from '../../../harness/service/database-commands.ts'

const snomed = 'http://snomed.info/sct'

describe('diagnoses', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const add = async (body: object) => assertStatus(await patient.call('POST', 'diagnosis', body), 201)
  const findIds = async (query: Record<string, string>): Promise<string[]> => {
    const { items } = assertStatus(await patient.call('GET', `diagnosis?${new URLSearchParams(query)}`))
    return items.map(({ name }: { name: string }) => name)
  }

  it('are stored in words and in codes', async () => {
    const { id, status, code, resolved } = await add({ name: 'Bad back' })
    assert.deepEqual([status, code, resolved], ['active', null, null])
    const coded = { name: 'Hypertension', code: { system: snomed, code: '38341003' } }
    assertStatus(await patient.call('PUT', `diagnosis/${id}`, coded))
    assert.deepEqual(assertStatus(await patient.call('GET', `diagnosis/${id}`)).code, coded.code)
    assertStatus(await patient.call('DELETE', `diagnosis/${id}`), 204)
    const over = await add({ name: 'Flu', resolved: '2026-01-01' })
    assert.equal(over.status, 'resolved')
    assert.equal(
      assertStatus(await patient.call('PUT', `diagnosis/${over.id}`, { name: 'Flu' })).status,
      'active',
    )
    assertStatus(await patient.call('DELETE', `diagnosis/${over.id}`), 204)
  })

  it('are rejected if they contradict themselves, in both families', async () => {
    const days = { onset: '2026-02-01', recognised: '2026-01-01', resolved: '2025-01-01' }
    const faulty = { name: ' ', ...days, status: 'active' }
    assert.deepEqual(
      assertProblemPlaces(await patient.call('POST', 'diagnosis', faulty), 422, 'rule-violated'),
      ['body.name', 'body.recognised', 'body.resolved', 'body.status'],
    )
    const { put, post } = byClass(patient)
    const over = { ehrId: patient.ehrId, name: 'Flu', resolved: parseDate('2026-01-01T00:00:00.000Z') }
    assertError(await post('Diagnosis', { ...over, status: 'active' }), 142, /^status must be inactive/)
    const { objectId, status } = (await post('Diagnosis', over).expect(201)).body
    assert.equal(status, 'resolved')
    assertError(await put('Diagnosis', objectId, { status: 'relapse' }), 142, /^status must be inactive/)
    await put('Diagnosis', objectId, { status: 'relapse', resolved: null }).expect(200)
    await put('Diagnosis', objectId, { status: 'active' }).expect(200)
    assertError(await put('Diagnosis', objectId, { words: ['x'] }), 142, 'words cannot be changed')
  })

  it('are not ongoing or severe when refuted or entered in error', async () => {
    const other = await createPatient()
    const onset = '2026-09-01'
    for (const certainty of ['refuted', 'entered-in-error', 'confirmed']) {
      const body = { name: certainty, onset, certainty, severity: 'severe' }
      assertStatus(await other.call('POST', 'diagnosis', body), 201)
    }
    const reaction = { substance: 'Nuts', status: 'active', criticality: 'high', verification: 'refuted' }
    assertStatus(await other.call('PUT', 'adversereaction/Nuts', reaction), 201)
    const { events } = assertStatus(await other.call('GET', 'summary/timeline?kinds=diagnosis,reaction'))
    assert.deepEqual(
      events
        .map((event: Record<string, unknown>) => [
          event.content,
          event.summary,
          event.ongoing,
          event.severity,
        ])
        .sort(),
      [
        ['Nuts', 'refuted', false, null],
        ['confirmed', 'active', true, 3],
        ['entered-in-error', 'entered-in-error', false, null],
        ['refuted', 'refuted', false, null],
      ],
    )
    const { annotations } = assertStatus(await other.call('GET', 'summary/medgraph'))
    assert.deepEqual(
      annotations.map(({ label }: { label: string }) => label),
      ['confirmed'],
    )
  })

  it('are not found by a clinical status when entered in error', async () => {
    const other = await createPatient()
    for (const certainty of ['entered-in-error', 'refuted', undefined])
      assertStatus(await other.call('POST', 'diagnosis', { name: `${certainty}`, certainty }), 201)
    for (const verification of ['entered-in-error', 'confirmed'])
      assertStatus(await other.call('PUT', `adversereaction/${verification}`, { verification }), 201)
    const find = async (path: string) => assertStatus(await other.call('GET', path)).items
    const diagnoses = await find('diagnosis?status=active')
    assert.deepEqual(diagnoses.map(({ name }: { name: string }) => name).sort(), ['refuted', 'undefined'])
    const [reaction, ...others] = await find('adversereaction?status=active')
    assert.deepEqual([reaction.substance, others], ['confirmed', []])
    assert.equal((await find('diagnosis')).length, 3)
  })

  it('have no days in the future', async () => {
    const future = { onset: '2099-01-01', recognised: '2099-01-01', resolved: '2099-01-01' }
    assert.deepEqual(
      assertProblemPlaces(
        await patient.call('POST', 'diagnosis', { name: 'Flu', ...future }),
        422,
        'rule-violated',
      ),
      ['body.onset', 'body.recognised', 'body.resolved'],
    )
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
    const { id } = await add({ name: 'Flu', onset: tomorrow })
    assertStatus(await patient.call('DELETE', `diagnosis/${id}`), 204)
    const { post } = byClass(patient)
    const object = {
      ehrId: patient.ehrId,
      substance: 'Soy',
      firstOnset: parseDate('2099-01-01T00:00:00.000Z'),
    }
    assertError(await post('AdverseReaction', object), 142, /^firstOnset must not be in the future/)
  })

  it('are found by beginnings of words, ignoring case and diacritics, and by nothing else', async () => {
    patient = await createPatient()
    await add({ name: 'Ménière’s disease', comment: 'Left ear (severe)' })
    await add({ name: 'Hypertension, stage 2', bodySite: 'Herz' })
    await add({ name: 'Straßenkrankheit', status: 'inactive' })
    for (const [search, expected] of [
      ['meniere', ['Ménière’s disease']],
      ['DISEASE MÉN', ['Ménière’s disease']],
      ['ear sev', ['Ménière’s disease']],
      ['strasse', ['Straßenkrankheit']],
      ['herz', ['Hypertension, stage 2']],
      ['h', ['Hypertension, stage 2']],
      ['tension', []],
      ['hyper ear', []],
      ['.*', []],
      ['^hyp', ['Hypertension, stage 2']],
      ['$where', []],
      ['\u{1F600}', []],
    ] as const)
      assert.deepEqual(await findIds({ search }), expected, search)
    const { post } = byClass(patient)
    await post('Diagnosis', { ehrId: patient.ehrId, name: 'Ängste' }).expect(201)
    assert.deepEqual(await findIds({ search: 'ang' }), ['Ängste'])
    assert.deepEqual(await findIds({ search: 's', status: 'inactive' }), ['Straßenkrankheit'])
    assertProblem(await patient.call('GET', `diagnosis?search=${'x'.repeat(201)}`), 400, 'invalid-input')
    assertProblem(await patient.call('GET', 'diagnosis?status=bad'), 400, 'invalid-input')
  })

  it('are found by their code, with or without its system', async () => {
    await add({ name: 'Asthma', code: { system: snomed, code: '195967001' } })
    await add({ name: 'Astma', code: { system: 'ICPC', code: '195967001' } })
    assert.deepEqual(await findIds({ code: '195967001' }), ['Astma', 'Asthma'])
    assert.deepEqual(await findIds({ code: `${snomed}|195967001` }), ['Asthma'])
    assert.deepEqual(await findIds({ code: '1959' }), [])
    const paged = assertStatus(await patient.call('GET', 'diagnosis?code=195967001&limit=1&count=true'))
    assert.equal(paged.page.total, 2)
    const next = `diagnosis?code=195967001&cursor=${paged.page.next}`
    assert.deepEqual(
      assertStatus(await patient.call('GET', next)).items.map(({ name }: { name: string }) => name),
      ['Asthma'],
    )
  })

  it('are searched within one EHR, by its index', async () => {
    const query = 'diagnosis?search=asthma%20x&code=195967001&status=active&count=true'
    const commands = await recordCommands(() => patient.call('GET', query))
    await assertNoScan(commands.filter((command) => command[command.commandName] === 'Diagnosis'))
  })

  it('are readable for participants of a plan, not writable', async () => {
    const nurse: Person = await createPerson()
    assertProblem(await nurse.call('GET', `/ehr/${patient.ehrId}/diagnosis`), 404, 'not-found')
    await addParticipant(await createPlan(patient), nurse, 'write')
    const { items } = assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/diagnosis?search=asthma`))
    assert.equal(items.length, 1)
    const path = `/ehr/${patient.ehrId}/diagnosis`
    assertProblem(await nurse.call('POST', path, { name: 'x' }), 403, 'forbidden')
    assertProblem(await nurse.call('PUT', `${path}/${items[0].id}`, { name: 'x' }), 403, 'forbidden')
  })
})
