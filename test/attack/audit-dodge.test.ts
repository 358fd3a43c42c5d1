import assert from 'node:assert/strict'
import { verifyAudit } from '../../records/store/audit/verifier.ts'
import { ehrOf, newPlan } from '../harness/care/by-class-family.ts'
import { letIn } from '../harness/care/patients.ts'
import { classesOf } from '../harness/clients/class-client.ts'
import { ok } from '../harness/clients/path-client.ts'
import { newPerson, type Person } from '../harness/people/people.ts'
import { config, request, service } from '../harness/service/service.ts'

/** Who may read an EHR learns from a query that finds nothing, too: it leaves a trace. */
describe('attack: queries that learn something without a trace', () => {
  let patient: Person
  let nurse: Person
  let ehrId: string
  let ownCustom: string

  before(async () => {
    ;[patient, nurse] = await Promise.all([newPerson(), newPerson()])
    const plan = await newPlan(patient)
    ;({ ehrId } = plan)
    await letIn(plan.carePlanId, nurse, 'read')
    const custom = { ...(await newPlan(nurse)), modelClassName: 'Mine', payload: { hiv: true } }
    ownCustom = (await classesOf(nurse).post('Custom', custom).expect(201)).body.objectId
  })

  /** What the nurse's work leaves in the audit of the patient, as the patient reads it. */
  async function tracesOf(work: () => PromiseLike<unknown>): Promise<string[]> {
    const read = async () => ok(await patient.call('GET', `/ehr/${ehrId}/audit?limit=100&count=true`))
    const known = (await read()).items.length
    await work()
    const { items } = await read()
    return items
      .filter(({ userId }: { userId: string }) => userId === nurse.mvUid)
      .slice(0, items.length - known - 1)
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

  it('by finding nothing', async () => {
    assert.deepEqual(await tracesOf(() => list(hiv)), [trace])
    assert.deepEqual(await tracesOf(() => list({ ...hiv, ehrId: { $in: [ehrId] } })), [
      'query Custom done ehrId modelClassName payload.hiv ehr',
    ])
  })

  it('by showing nothing: no result, a skip past the end, a number, values, a subquery', async () => {
    for (const more of [
      { limit: 0 },
      { skip: 1_000 },
      { limit: 0, count: 1 },
      { distinct: 'modelClassName' },
    ])
      assert.deepEqual(await tracesOf(() => list(hiv, more)), [trace], JSON.stringify(more))
    const inCustom = {
      comment: { $select: { key: 'modelClassName', query: { className: 'Custom', where: hiv } } },
    }
    const traces = await tracesOf(() =>
      request()
        .get('/1/classes/BloodPressure')
        .set(nurse.headers)
        .query({ where: JSON.stringify(inCustom) })
        .expect(200),
    )
    assert.deepEqual(traces.sort(), ['query BloodPressure done comment ehr', trace])
  })

  it('by finding something else beside it', async () => {
    const traces = await tracesOf(async () => {
      const { body } = await list({ $or: [hiv, { objectId: ownCustom }] })
      assert.equal(body.results.length, 1)
    })
    assert.deepEqual(traces, ['query Custom done modelClassName objectId payload.hiv ehr'])
  })

  it('not of EHRs in which it could find nothing', async () => {
    const own = await ehrOf(nurse)
    assert.deepEqual(await tracesOf(() => list({ ...hiv, ehrId: own })), [])
    assert.deepEqual(await tracesOf(() => list({ objectId: ownCustom })), [])
  })

  it('by asking in many EHRs at once: one entry, which each subject sees', async () => {
    const many = await newPerson()
    const patients = [patient, nurse]
    for (const one of patients) await letIn((await newPlan(one)).carePlanId, many, 'read')
    for (let i = 0; i < 19; i++)
      await classesOf(many)
        .post('Ehr', { subjectId: `patient ${i}` })
        .expect(201)
    const entries = service.db.collection('audit.entries')
    const known = await entries.countDocuments({ userId: many.mvUid })
    await request()
      .get('/1/classes/Custom')
      .set(many.headers)
      .query({ where: JSON.stringify(hiv) })
      .expect(200)
    assert.equal(await entries.countDocuments({ userId: many.mvUid }), known + 1)
    for (const one of patients) {
      const id = await ehrOf(one)
      const { items, page } = ok(await one.call('GET', `/ehr/${id}/audit?limit=100&count=true`))
      const seen = items.filter(({ userId }: { userId: string }) => userId === many.mvUid)
      assert.deepEqual(
        seen.map(({ type, asked, scope }: Record<string, string>) => [type, asked, scope]),
        [['Custom', 'modelClassName payload.hiv', 'readable']],
      )
      assert.equal(page.total, items.length)
    }
    assert.deepEqual(await tracesOf(async () => {}), [])
    assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)
  })
})
