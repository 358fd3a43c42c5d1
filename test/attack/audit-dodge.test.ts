import assert from 'node:assert/strict'
import { verifyAudit } from '../../records/store/audit/verifier.ts'
import { createPlanInOwnEhr, ehrOf } from '../harness/care/by-class-family.ts'
import { addParticipant } from '../harness/care/patients.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { config, request, service } from '../harness/service/service.ts'

/** A query that finds nothing tells a reader of the EHR something, too, and must leave an audit entry. */
describe('attack: queries that reveal something without an audit entry', () => {
  let patient: Person
  let nurse: Person
  let ehrId: string
  let ownCustom: string

  before(async () => {
    ;[patient, nurse] = await Promise.all([createPerson(), createPerson()])
    const plan = await createPlanInOwnEhr(patient)
    ;({ ehrId } = plan)
    await addParticipant(plan.carePlanId, nurse, 'read')
    const custom = { ...(await createPlanInOwnEhr(nurse)), modelClassName: 'Mine', payload: { hiv: true } }
    ownCustom = (await createClassClient(nurse).post('Custom', custom).expect(201)).body.objectId
  })

  /** The audit entries that the nurse's work leaves, as the patient reads them. */
  async function tracesOf(work: () => PromiseLike<unknown>): Promise<string[]> {
    const read = async () =>
      assertStatus(await patient.call('GET', `/ehr/${ehrId}/audit?limit=100&count=true`))
    const previousCount = (await read()).items.length
    await work()
    const { items } = await read()
    return items
      .filter(({ userId }: { userId: string }) => userId === nurse.mvUid)
      .slice(0, items.length - previousCount - 1)
      .map(
        (entry: Record<string, string>) =>
          `${entry.action} ${entry.type} ${entry.outcome} ${entry.asked} ${entry.scope}`,
      )
  }
  const list = (where: object, more: object = {}) =>
    request()
      .get('/1/classes/Custom')
      .set(nurse.headers)
      .query({ where: JSON.stringify(where), ...more })
      .expect(200)

  const hiv = { 'payload.hiv': true, modelClassName: 'Status' }
  const trace = 'query Custom done modelClassName payload.hiv ehr'

  it('logs a query that finds nothing', async () => {
    assert.deepEqual(await tracesOf(() => list(hiv)), [trace])
    assert.deepEqual(await tracesOf(() => list({ ...hiv, ehrId: { $in: [ehrId] } })), [
      'query Custom done ehrId modelClassName payload.hiv ehr',
    ])
  })

  it('logs a query that shows nothing: no result, a skip past the end, a number, values, a subquery', async () => {
    for (const more of [
      { limit: 0 },
      { skip: 1_000 },
      { limit: 0, count: 1 },
      { distinct: 'modelClassName' },
    ])
      assert.deepEqual(await tracesOf(() => list(hiv, more)), [trace], JSON.stringify(more))
    const inCustom = {
      carePlanId: { $select: { key: 'modelClassName', query: { className: 'Custom', where: hiv } } },
    }
    const traces = await tracesOf(() =>
      request()
        .get('/1/classes/BloodPressure')
        .set(nurse.headers)
        .query({ where: JSON.stringify(inCustom) })
        .expect(200),
    )
    assert.deepEqual(traces.sort(), ['query BloodPressure done carePlanId ehr', trace])
  })

  it('logs an EHR in which it found nothing next to results from others', async () => {
    const traces = await tracesOf(async () => {
      const { body } = await list({ $or: [hiv, { objectId: ownCustom }] })
      assert.equal(body.results.length, 1)
    })
    assert.deepEqual(traces, ['query Custom done modelClassName objectId payload.hiv ehr'])
  })

  it('does not log EHRs in which it could find nothing', async () => {
    const ownEhr = await ehrOf(nurse)
    assert.deepEqual(await tracesOf(() => list({ ...hiv, ehrId: ownEhr })), [])
    assert.deepEqual(await tracesOf(() => list({ objectId: ownCustom })), [])
  })

  it('logs a query over many EHRs in one entry, which each subject sees', async () => {
    const many = await createPerson()
    const patients = [patient, nurse]
    for (const one of patients) await addParticipant((await createPlanInOwnEhr(one)).carePlanId, many, 'read')
    for (let i = 0; i < 19; i++)
      await createClassClient(many)
        .post('Ehr', { subjectId: `patient ${i}` })
        .expect(201)
    const entries = service.db.collection('audit.entries')
    const previousCount = await entries.countDocuments({ userId: many.mvUid })
    await request()
      .get('/1/classes/Custom')
      .set(many.headers)
      .query({ where: JSON.stringify(hiv) })
      .expect(200)
    assert.equal(await entries.countDocuments({ userId: many.mvUid }), previousCount + 1)
    for (const one of patients) {
      const id = await ehrOf(one)
      const { items, page } = assertStatus(await one.call('GET', `/ehr/${id}/audit?limit=100&count=true`))
      const auditEntries = items.filter(({ userId }: { userId: string }) => userId === many.mvUid)
      assert.deepEqual(
        auditEntries.map(({ type, asked, scope }: Record<string, string>) => [type, asked, scope]),
        [['Custom', 'modelClassName payload.hiv', 'readable']],
      )
      assert.equal(page.total, items.length)
    }
    assert.deepEqual(await tracesOf(async () => {}), [])
    assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)
  })
})
