import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { addParticipant, createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import {
  BLOOD_PRESSURE,
  createPressureComposition,
  createPressuresComposition,
  createTemplateXml,
  getStoredTemplate,
  sendXml,
  TEST_OBSERVATION,
} from '../../../harness/openehr-samples.ts'
import { createPerson, createRoleHolder, type Person } from '../../../harness/people/people.ts'

describe('former versions of compositions', () => {
  let modeller: Person
  let patient: Patient
  before(async () => {
    ;[modeller, patient] = await Promise.all([createRoleHolder('modeller'), createPatient()])
  })

  const pathOf = (more = '') => `/med/ehr/${patient.ehrId}/composition${more}`
  const addTemplate = async (template: string, observation = TEST_OBSERVATION) =>
    assertStatus(
      await sendXml(
        modeller,
        'POST',
        '/med/knowledge/template',
        createTemplateXml(template, 'Any', observation),
      ),
      201,
    )
  const removeTemplate = (template: string) =>
    modeller.call('DELETE', `/med/knowledge/template/${encodeURIComponent(template)}`)
  const commit = async (composition: object, place = ''): Promise<string> =>
    assertStatus(await patient.call('POST', pathOf(`/json${place}`), composition), 201).compositionId
  const replace = async (id: string, composition: object) => {
    const { etag } = await patient.call('GET', pathOf(`/${id}/json`))
    assertStatus(await patient.call('PUT', pathOf(`/${id}/json`), composition, { 'if-match': etag }))
  }
  const remove = async (id: string) => assertStatus(await patient.call('DELETE', pathOf(`/${id}`)), 204)
  const restore = (id: string, version: number, by: Pick<Person, 'call'> = patient, headers = {}) =>
    by.call('POST', pathOf(`/${id}/restore`), { version }, headers)
  const read = async (id: string) => {
    const { uid, ...content } = assertStatus(await patient.call('GET', pathOf(`/${id}/json`)))
    return { uid: uid.value, content }
  }

  it('return as a new version, also after a deletion', async () => {
    const template = `Restored ${randomUUID()}`
    await addTemplate(template)
    const composition = createPressureComposition(template, 142)
    const id = await commit(composition)
    await replace(id, createPressureComposition(template, 150))
    const third = await restore(id, 1)
    assert.deepEqual(assertStatus(third), {
      compositionId: id,
      uid: `${id}::hrs.local::3`,
      ehrId: patient.ehrId,
    })
    assert.equal(third.etag, `"${id}::hrs.local::3"`)
    assert.deepEqual(await read(id), { uid: `${id}::hrs.local::3`, content: composition })
    await remove(id)
    assertStatus(await restore(id, 2))
    const { uid, content } = await read(id)
    assert.deepEqual([uid, content], [`${id}::hrs.local::5`, createPressureComposition(template, 150)])
    const { items } = assertStatus(await patient.call('GET', pathOf(`/${id}/history`)))
    assert.deepEqual(
      items.map(({ action }: { action: string }) => action),
      ['update', 'delete', 'update', 'update', 'create'],
    )
    const { items: compositions } = assertStatus(await patient.call('GET', pathOf()))
    assert.ok(compositions.some(({ compositionId }: { compositionId: string }) => compositionId === id))
  })

  it('return with their measurements, and can be found by queries again', async () => {
    const template = await getStoredTemplate(BLOOD_PRESSURE)
    const id = await commit(createPressuresComposition(template, BLOOD_PRESSURE, [[118.5, 76]]))
    const pressures = async () => {
      const { items } = assertStatus(await patient.call('GET', 'procedure/bloodpressure'))
      return items.filter(({ compositionId }: { compositionId: string }) => compositionId === id)
    }
    const rows = async () => {
      const q = `SELECT c/uid/value FROM EHR e[ehr_id/value='${patient.ehrId}'] CONTAINS COMPOSITION c
        CONTAINS OBSERVATION o[${BLOOD_PRESSURE.archetype}]`
      return assertStatus(await patient.call('POST', '/med/aql', { q })).rows
    }
    const [before] = await pressures()
    await remove(id)
    assert.deepEqual([await pressures(), await rows()], [[], []])
    assertStatus(await restore(id, 1))
    const [after, ...others] = await pressures()
    assert.deepEqual([after.id, after.systolic, others], [before.id, 118.5, []])
    assert.deepEqual(await rows(), [[`${id}::hrs.local::3`]])
  })

  it('are replaced, deleted and restored with their ETag, whose UUID may be in capitals', async () => {
    const template = await getStoredTemplate()
    for (const inCapitals of [true, false]) {
      const id = randomUUID()
      const sent = inCapitals ? id.toUpperCase() : id
      const uid = { _type: 'HIER_OBJECT_ID', value: sent }
      const [next, first] = [142, 150].map((one) => createPressureComposition(template, one))
      assert.ok(first && next)
      await commit({ ...first, uid })
      // Also with the letters of the tag and of the address the other way round.
      for (const [path, tag] of [
        [sent, id],
        [id, id.toUpperCase()],
      ]) {
        const { etag } = await patient.call('GET', pathOf(`/${path}/json`))
        const version = Number(etag.split('::')[2]?.replace('"', ''))
        const condition = (more: number) => ({ 'if-match': `"${tag}::hrs.local::${version + more}"` })
        const call = (
          method: string,
          more: string,
          body: object | undefined,
          headers: Record<string, string>,
        ) => patient.call(method, pathOf(`/${path}${more}`), body, headers)
        assertStatus(await call('PUT', '/json', next, condition(0)))
        assertProblem(await call('DELETE', '', undefined, condition(0)), 412, 'precondition-failed')
        assertStatus(await call('DELETE', '', undefined, condition(1)), 204)
        assertStatus(await call('POST', '/restore', { version }, condition(2)))
      }
    }
  })

  it('are refused if they are unknown, a deletion, or not expected', async () => {
    const template = `Refused ${randomUUID()}`
    await addTemplate(template)
    const id = await commit(createPressureComposition(template, 142))
    await remove(id)
    assertProblem(await restore(randomUUID(), 1), 404, 'not-found')
    // The latest version is not a former one.
    for (const version of [2, 9]) {
      const answer = await restore(id, version)
      assertProblem(answer, 404, 'not-found')
      assert.equal(answer.body.detail, `There is no former version ${version}.`)
    }
    const stale = await restore(id, 1, patient, { 'if-match': `"${id}::hrs.local::1"` })
    assertProblem(stale, 412, 'precondition-failed')
    assert.equal(stale.etag, `"${id}::hrs.local::2"`)
    assertStatus(await restore(id, 1, patient, { 'if-match': stale.etag }))
    assert.deepEqual(assertProblemPlaces(await restore(id, 2), 422, 'rule-violated'), ['body.version'])
  })

  it('are refused if their template is deleted, or has another structure now', async () => {
    const template = `Changed ${randomUUID()}`
    await addTemplate(template)
    const id = await commit(createPressureComposition(template, 142))
    await remove(id)
    assertStatus(await removeTemplate(template), 204)
    assertProblem(await restore(id, 1), 422, 'rule-violated')
    await addTemplate(template, { ...TEST_OBSERVATION, event: 'at0099' })
    assertProblem(await restore(id, 1), 422, 'rule-violated')
    assertStatus(await removeTemplate(template), 204)
    await addTemplate(template)
    assertStatus(await restore(id, 1))
    assertProblem(await removeTemplate(template), 409, 'conflict')
  })

  it('never lose their template, even if it is deleted while they return', async () => {
    for (let round = 0; round < 4; round++) {
      const template = `Raced ${randomUUID()}`
      await addTemplate(template)
      const id = await commit(createPressureComposition(template, 142))
      await remove(id)
      const restoring = restore(id, 1)
      for (let i = 0; i < round; i++) await patient.call('GET', pathOf(`/${id}/history`))
      const removed = await removeTemplate(template)
      const { status } = await restoring
      assert.ok([200, 409, 422].includes(status), String(status))
      assert.equal(removed.status, status === 200 ? 409 : 204)
    }
  })

  it('are restored by those who can write, and do not exist for a stranger', async () => {
    const template = await getStoredTemplate(BLOOD_PRESSURE)
    const [reader, writer, stranger, planId] = await Promise.all([
      createPerson(),
      createPerson(),
      createPerson(),
      createPlan(patient),
    ])
    await addParticipant(planId, reader, 'read')
    await addParticipant(planId, writer, 'write')
    const composition = createPressuresComposition(template, BLOOD_PRESSURE, [[120, 80]])
    const id = await commit(composition, `?carePlanId=${planId}`)
    await remove(id)
    assertProblem(await restore(id, 1, reader), 403, 'forbidden')
    assertProblem(await restore(id, 1, stranger), 404, 'not-found')
    assertStatus(await restore(id, 1, writer))
  })
})
