import assert from 'node:assert/strict'
import { byClass } from '../../../family-kinds.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertError, parseDate } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../../harness/people/people.ts'
import { assertNoScan, recordCommands } from '../../../harness/service/database-commands.ts'

const atc = 'http://www.whocc.no/atc'

describe('medications and immunisations', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const add = async (resource: string, body: object) =>
    assertStatus(await patient.call('POST', resource, body), 201)
  const findIds = async (resource: string, query: Record<string, string>): Promise<string[]> => {
    const { items } = assertStatus(await patient.call('GET', `${resource}?${new URLSearchParams(query)}`))
    return items.map(({ name, vaccine }: Record<string, string>) => name ?? vaccine)
  }

  it('are active and completed unless the client says otherwise, in both families', async () => {
    assert.equal((await add('medication', { name: 'Paracetamol' })).status, 'active')
    assert.equal((await add('immunisation', { vaccine: 'Tetanus vaccine' })).status, 'completed')
    const { get, post } = byClass(patient)
    const { objectId } = (
      await post('Medication', { ehrId: patient.ehrId, name: 'Metformin', status: 'stopped' }).expect(201)
    ).body
    assert.equal((await get('Medication', objectId).expect(200)).body.status, 'stopped')
    const same = assertStatus(await patient.call('GET', `medication/${objectId}`))
    assert.deepEqual([same.name, same.status, same.end], ['Metformin', 'stopped', null])
  })

  it('are rejected if they contradict themselves, with every violation, in both families', async () => {
    const assertRefused = async (resource: string, body: object, ...paths: string[]) =>
      assert.deepEqual(
        assertProblemPlaces(await patient.call('POST', resource, body), 422, 'rule-violated'),
        paths,
      )
    const days = { start: '2026-02-02', end: '2026-02-01' }
    await assertRefused('medication', { name: ' ', ...days }, 'body.name', 'body.end')
    const doses = { doseNumber: 3, seriesDoses: 2, primarySource: true, reportOrigin: 'recall' }
    await assertRefused(
      'immunisation',
      { vaccine: ' ', ...doses },
      'body.vaccine',
      'body.doseNumber',
      'body.reportOrigin',
    )
    const { post, put } = byClass(patient)
    const vaccinated = { ehrId: patient.ehrId, vaccine: 'Hepatitis B vaccine' }
    assertError(
      await post('Immunisation', { ...vaccinated, ...doses }),
      142,
      /^doseNumber must not be greater/,
    )
    const { objectId } = (await post('Immunisation', { ...vaccinated, seriesDoses: 2 }).expect(201)).body
    assertError(
      await put('Immunisation', objectId, { doseNumber: 3 }),
      142,
      /^doseNumber must not be greater/,
    )
    await put('Immunisation', objectId, { doseNumber: 2 }).expect(200)
    const medication = { ehrId: patient.ehrId, name: 'Iron', start: parseDate('2026-02-02T00:00:00.000Z') }
    const { objectId: iron } = (await post('Medication', medication).expect(201)).body
    const sooner = { end: parseDate('2026-02-01T00:00:00.000Z') }
    assertError(await put('Medication', iron, sooner), 142, /^end must not be before start/)
  })

  it('are found by words, code and status, by the index of their EHR', async () => {
    patient = await createPatient()
    await add('medication', {
      name: 'Ménière drops',
      reason: 'Diabetes',
      code: { system: atc, code: 'A10BA02' },
    })
    await add('medication', { name: 'Ibuprofen', comment: 'Against a sore knee', status: 'on-hold' })
    await add('immunisation', { vaccine: 'Flu vaccine', targetDisease: 'Influenza' })
    await add('immunisation', { vaccine: 'MMR', code: { system: atc, code: 'J07BD52' }, status: 'not-done' })
    for (const [resource, query, expected] of [
      ['medication', { search: 'meniere' }, ['Ménière drops']],
      ['medication', { search: 'DIA' }, ['Ménière drops']],
      ['medication', { search: 'knee' }, ['Ibuprofen']],
      ['medication', { search: 'res' }, []],
      ['medication', { code: `${atc}|A10BA02` }, ['Ménière drops']],
      ['medication', { status: 'on-hold' }, ['Ibuprofen']],
      ['immunisation', { search: 'INFLUENZA' }, ['Flu vaccine']],
      ['immunisation', { code: 'J07BD52' }, ['MMR']],
      ['immunisation', { status: 'completed' }, ['Flu vaccine']],
    ] as const)
      assert.deepEqual(await findIds(resource, query), expected, JSON.stringify(query))
    for (const [resource, collection] of [
      ['medication', 'Medication'],
      ['immunisation', 'Immunisation'],
    ]) {
      const query = `${resource}?search=x&code=1&status=completed&count=true`
      const commands = await recordCommands(() => patient.call('GET', query))
      await assertNoScan(commands.filter((command) => command[command.commandName] === collection))
    }
  })

  it('are in the timeline: a medication from its start until its end, an immunisation on its day', async () => {
    patient = await createPatient()
    const code = { system: atc, code: 'A10BA02' }
    await add('medication', { name: 'Metformin', start: '2026-01-01', code })
    await add('medication', { name: 'Iron', start: '2026-02-01', end: '2026-03-01', status: 'completed' })
    await add('immunisation', { vaccine: 'Flu vaccine', date: '2026-01-15' })
    const { events, groups } = assertStatus(
      await patient.call('GET', 'summary/timeline?order=asc&kinds=medication&kinds=immunisation'),
    )
    assert.deepEqual(
      events.map((one: Record<string, unknown>) => [one.content, one.kind, one.type, one.summary, one.code]),
      [
        ['Metformin', 'medication', 'range', 'active', code],
        ['Flu vaccine', 'immunisation', 'point', 'completed', null],
        ['Iron', 'medication', 'range', 'completed', null],
      ],
    )
    assert.deepEqual(
      events.map(({ start, end, ongoing }: Record<string, unknown>) => [start, end, ongoing]),
      [
        ['2026-01-01T00:00:00.000Z', null, true],
        ['2026-01-15T00:00:00.000Z', null, false],
        ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z', false],
      ],
    )
    assert.ok(groups.some(({ id }: { id: string }) => id === 'immunisations'))
    const later = assertStatus(await patient.call('GET', 'summary/timeline?from=2026-04-01T00:00:00Z'))
    assert.deepEqual(
      later.events.map(({ content }: { content: string }) => content),
      ['Metformin'],
    )
  })

  it('are readable for participants of a plan, not writable, and unknown to strangers', async () => {
    const nurse: Person = await createPerson()
    const paths = ['medication', 'immunisation'].map((resource) => `/ehr/${patient.ehrId}/${resource}`)
    for (const path of paths) assertProblem(await nurse.call('GET', path), 404, 'not-found')
    await addParticipant(await createPlan(patient), nurse, 'write')
    for (const path of paths) {
      const [one] = assertStatus(await nurse.call('GET', path)).items
      assertProblem(await nurse.call('DELETE', `${path}/${one.id}`), 403, 'forbidden')
    }
  })
})
