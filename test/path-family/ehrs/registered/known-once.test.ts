import assert from 'node:assert/strict'
import { request } from 'node:http'
import { byClass } from '../../../family-kinds.ts'
import { createPatient, type Patient } from '../../../harness/care/patients.ts'
import { assertError } from '../../../harness/clients/class-client.ts'
import {
  type Answer,
  assertProblem,
  assertProblemPlaces,
  assertStatus,
} from '../../../harness/clients/path-client.ts'
import { createPerson } from '../../../harness/people/people.ts'
import { service } from '../../../harness/service/service.ts'

type Listed = Record<string, string>

describe('records with a natural key', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  const pathOf = (substance: string) => `adversereaction/${encodeURIComponent(substance)}`
  const putReaction = (substance: string, body: object = {}, headers: Record<string, string> = {}) =>
    patient.call('PUT', pathOf(substance), body, headers)
  const putDevice = (body: object, headers: Record<string, string> = {}) =>
    patient.call('PUT', 'device', body, headers)
  const listValues = async (path: string, field: string): Promise<string[]> =>
    assertStatus(await patient.call('GET', path))
      .items.map((one: Listed) => one[field])
      .sort()

  describe('an adverse reaction', () => {
    it('exists once for each substance, ignoring case and blanks', async () => {
      const first = await putReaction('Penicillin  G', { criticality: 'high' })
      const { id, substance, lastUpdated, status, reactions } = assertStatus(first, 201)
      assert.deepEqual([substance, status, reactions], ['Penicillin  G', 'active', []])
      assert.ok(Date.parse(lastUpdated) > 0)
      assert.equal(first.headers.get('location'), `/ehr/${patient.ehrId}/adversereaction/Penicillin%20%20G`)
      const second = assertStatus(
        await putReaction(' penicillin g ', { substance: 'PENICILLIN g', category: 'medication' }),
      )
      assert.deepEqual(
        [second.id, second.version, second.substance, second.criticality, second.category],
        [id, 2, 'PENICILLIN g', null, 'medication'],
      )
      assert.equal(assertStatus(await patient.call('GET', pathOf('peniCILLIN\u00a0G'))).id, id)
      assert.equal(
        assertStatus(await patient.call('GET', `${pathOf('PENICILLIN G')}/history`)).items.length,
        2,
      )
      assert.equal(
        assertStatus(await patient.call('POST', `${pathOf('penicillin g')}/restore`, { version: 1 })).version,
        3,
      )
      assertProblem(await putReaction('Penicillin G', { substance: 'Aspirin' }), 400, 'id-mismatch')
      assertProblem(await putReaction('Penicillin G', { id: 'another' }), 400, 'id-mismatch')
    })

    it('is created and replaced under conditions', async () => {
      const onlyNew = { 'if-none-match': '*' }
      const answer = await putReaction('Latex', {}, onlyNew)
      assertStatus(answer, 201)
      const duplicate = await putReaction('LATEX', {}, onlyNew)
      assertProblem(duplicate, 412, 'precondition-failed')
      assert.equal(duplicate.etag, '"1"')
      assertProblem(await putReaction('latex', {}, { 'if-match': '"7"' }), 412, 'precondition-failed')
      assertStatus(await putReaction('latex', {}, { 'if-match': answer.etag }))
      assertProblem(await putReaction('Nickel', {}, { 'if-match': '"1"' }), 412, 'precondition-failed')
      assertProblem(await putReaction('Nickel', {}, { 'if-none-match': '"1"' }), 400, 'malformed-request')
      assertStatus(await patient.call('DELETE', pathOf('lateX'), undefined, { 'if-match': '"2"' }), 204)
      assertProblem(await patient.call('GET', pathOf('Latex')), 404, 'not-found')
      assertStatus(await putReaction('Latex', {}, onlyNew), 201)
    })

    /** Sends the path unchanged; fetch would normalize it. */
    const raw = (method: string, substance: string): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${patient.authToken}`, 'content-type': 'application/json' }
        const path = `/ehr/${patient.ehrId}/adversereaction/${substance}`
        request(service.url + path, { method, path, headers }, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk) => chunks.push(chunk))
          answer.on('end', () => {
            const body = JSON.parse(Buffer.concat(chunks).toString())
            resolve({ status: answer.statusCode ?? 0, body, etag: '', headers: new Headers() })
          })
        })
          .on('error', reject)
          .end(method === 'PUT' ? '{}' : undefined)
      })

    it('accepts any substance as it is written', async () => {
      patient = await createPatient()
      for (const substance of [
        '../..',
        '/',
        '%2F',
        '\u{1F95C} peanut',
        'a?b#c',
        '$where',
        'ß-lactam',
        'x'.repeat(200),
      ]) {
        const path = encodeURIComponent(substance)
        assert.equal((await raw('PUT', path)).body.substance, substance)
        assert.equal((await raw('GET', path)).body.substance, substance)
      }
      assert.equal((await raw('GET', 'SS-lactam')).body.substance, 'ß-lactam')
      assert.equal((await listValues('adversereaction', 'substance')).length, 8)
      for (const [substance, status] of [
        ['%20', 422],
        ['%00', 400],
        ['.', 422],
        ['..', 422],
        ['%ff', 400],
        ['x'.repeat(1000), 400],
        ['a/b', 404],
      ] as const)
        assert.equal((await raw('PUT', substance)).status, status, substance.slice(0, 9))
      assert.equal((await listValues('adversereaction', 'substance')).length, 8)
    })

    it('refuses a substance that no path can contain, in the class family, too', async () => {
      for (const substance of ['.', '..', 'a\0b'])
        assertError(
          await byClass(patient).post('AdverseReaction', { ehrId: patient.ehrId, substance }),
          142,
          /substance must not be \. or \.\. or contain NUL because it is part of a URL$/,
        )
    })

    it('is found by its substance, its reaction and its code', async () => {
      const code = { system: 'ATC', code: 'J01CE' }
      const reactions = [{ manifestation: 'Nesselfieber', onset: '2020-02-29' }]
      assertStatus(await putReaction('Amoxicilline', { code, reactions, category: 'medication' }), 201)
      for (const query of [
        'search=amoxi',
        'search=NESSEL',
        'code=J01CE',
        'code=ATC|J01CE',
        'category=medication',
      ])
        assert.deepEqual(await listValues(`adversereaction?${query}`, 'substance'), ['Amoxicilline'], query)
      assert.deepEqual(await listValues('adversereaction?search=amoxi&status=resolved', 'substance'), [])
    })

    it('reports all violations', async () => {
      const faulty = {
        firstOnset: '2026-02-01',
        lastOnset: '2026-01-01',
        reactions: [{ manifestation: 'x', onset: '2021-02-29' }],
      }
      assert.deepEqual(assertProblemPlaces(await putReaction('x', faulty), 422, 'rule-violated'), [
        'body.lastOnset',
        'body.reactions.0.onset',
      ])
      const { post } = byClass(patient)
      assertError(
        await post('AdverseReaction', {
          ehrId: patient.ehrId,
          substance: 'x',
          reactions: faulty.reactions,
        }),
        142,
        /^reactions\.0\.onset must be a day of the calendar$/,
      )
    })
  })

  describe('a device', () => {
    it('is identified by its serial number or its UDI, otherwise by its name', async () => {
      const answer = await putDevice({ name: 'Thermometer' })
      const { id } = assertStatus(answer, 201)
      assert.equal(answer.headers.get('location'), `/ehr/${patient.ehrId}/device/${id}`)
      assert.equal(assertStatus(await putDevice({ name: ' THERMOMETER', model: 'T-1' })).id, id)
      const labelled = assertStatus(await putDevice({ name: 'Thermometer', serial: 'SN 1' }), 201)
      const record = assertStatus(
        await putDevice({ name: 'Ear thermometer', serial: 'sn  1', udi: '(01)0950' }),
      )
      assert.deepEqual([record.id, record.version, record.name], [labelled.id, 2, 'Ear thermometer'])
      assert.equal(assertStatus(await putDevice({ name: 'Any', udi: '(01)0950' })).id, labelled.id)
      const other = assertStatus(await putDevice({ name: 'Ear thermometer', serial: 'SN 2' }), 201)
      assertProblem(await putDevice({ name: 'x', serial: 'SN 2', udi: '(01)0950' }), 409, 'conflict')
      assertProblem(
        await patient.call('PUT', `device/${other.id}`, { name: 'x', udi: '(01)0950' }),
        409,
        'conflict',
      )
      assertProblem(
        await putDevice({ name: 'x', serial: 'SN 2' }, { 'if-none-match': '*' }),
        412,
        'precondition-failed',
      )
      assert.equal(assertStatus(await patient.call('GET', `device/${other.id}`)).version, 1)
      assert.deepEqual(await listValues('device', 'name'), [' THERMOMETER', 'Any', 'Ear thermometer'])
    })
  })

  it('exist once across both families, also after concurrent requests', async () => {
    patient = await createPatient()
    const { ehrId } = patient
    const { post, put } = byClass(patient)
    const created = await Promise.all([
      ...Array.from({ length: 8 }, () => putReaction('Aspirin', {})),
      ...Array.from({ length: 4 }, () => putReaction('ASPIRIN', {}, { 'if-none-match': '*' })),
    ])
    const count = (status: number) => created.filter((one) => one.status === status).length
    assert.equal(count(201), 1)
    assert.equal(count(200) + count(412), 11)
    assert.ok(count(412) >= 3, String(created.map(({ status }) => status)))
    const byClasses = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        post('AdverseReaction', { ehrId, substance: `Nuts${' '.repeat(i)}` }),
      ),
    )
    assert.deepEqual(byClasses.map(({ status }) => status).sort(), [201, 400, 400, 400, 400, 400])
    for (const { body } of byClasses.filter(({ status }) => status === 400)) assert.equal(body.code, 137)
    assertError(await post('AdverseReaction', { ehrId, substance: 'aspirin' }), 137)
    const nuts = byClasses.find(({ status }) => status === 201)?.body.objectId
    assertError(await put('AdverseReaction', nuts, { substance: 'Aspirin' }), 137)
    await put('AdverseReaction', nuts, { substance: 'Hazelnuts' }).expect(200)
    assert.equal(assertStatus(await patient.call('GET', pathOf('hazelnuts'))).id, nuts)
    assertProblem(await patient.call('GET', pathOf('nuts')), 404, 'not-found')
    assert.deepEqual(
      (await listValues('adversereaction', 'substance')).map((one) => one.toLowerCase()),
      ['aspirin', 'hazelnuts'],
    )
    assertStatus(await putReaction('Nuts', {}), 201)
    // Its former name belongs to another record now.
    assertProblem(
      await patient.call('POST', `${pathOf('hazelnuts')}/restore`, { version: 1 }),
      409,
      'conflict',
    )
  })

  it('reveal nothing to a stranger, whatever the conditions', async () => {
    const stranger = await createPerson()
    for (const substance of ['Aspirin', 'Unknown'])
      for (const headers of [{}, { 'if-none-match': '*' }, { 'if-match': '"1"' }] as Record<
        string,
        string
      >[]) {
        const path = `/ehr/${patient.ehrId}/${pathOf(substance)}`
        assertProblem(await stranger.call('PUT', path, {}, headers), 404, 'not-found')
        assertProblem(await stranger.call('GET', path), 404, 'not-found')
      }
    assertProblem(await stranger.call('PUT', `/ehr/${patient.ehrId}/device`, { name: 'x' }), 404, 'not-found')
  })
})
