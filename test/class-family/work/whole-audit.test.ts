import assert from 'node:assert/strict'
import { auditEntryCollection } from '../../../records/store/audit/audit-log.ts'
import { decodeAuditEntry } from '../../../records/store/audit/chains/entry-format.ts'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { config, request, service } from '../../harness/service/service.ts'

/** A line of the audit: access (`read CarePlan done`), user and ids. */
interface Line {
  what: string
  userId: string
  ids: string[]
  requestId: string
  asked: string | null
}

describe('the audit of the class family', () => {
  let patient: Person
  let stranger: Person
  let ehrId: string
  let carePlanId: string
  let pressureId: string

  before(async () => {
    ;[patient, stranger] = await Promise.all([createPerson(), createPerson()])
    ehrId = await ehrOf(patient)
    ;({ carePlanId } = await createPlanInOwnEhr(patient))
    const { body } = await createClassClient(patient)
      .post('BloodPressure', createPressureObject(carePlanId))
      .expect(201)
    pressureId = body.objectId
  })

  /** The audit lines that `work` leaves, without the subject's own read of the audit. */
  async function linesOf(work: () => PromiseLike<unknown>, filter: object = { ehrId }): Promise<Line[]> {
    const since = await service.db.collection('audit.entries').countDocuments(filter)
    await work()
    const entries = await auditEntryCollection(service.db).find(filter).sort({ at: 1 }).toArray()
    return entries
      .slice(since)
      .map(decodeAuditEntry)
      .map(({ action, type, outcome, userId, ids, requestId, asked = null }) => ({
        what: `${action} ${type} ${outcome}`,
        userId,
        ids,
        requestId,
        asked,
      }))
  }

  it('logs a read before its response, with the request id', async () => {
    const [line, ...more] = await linesOf(() =>
      createClassClient(patient)
        .get('BloodPressure', pressureId)
        .set('X-Request-Id', 'request-of-a-test')
        .expect(200),
    )
    assert.deepEqual(more, [])
    assert.deepEqual(line, {
      what: 'read BloodPressure done',
      userId: patient.mvUid,
      ids: [pressureId],
      requestId: 'request-of-a-test',
      asked: null,
    })
  })

  it('logs a query with its results and the queried properties, without their values', async () => {
    const where = { carePlanId, systolic: { $gte: 120 } }
    const [line] = await linesOf(() => createClassClient(patient).list('BloodPressure', where).expect(200))
    assert.deepEqual(
      [line?.what, line?.ids, line?.asked],
      ['query BloodPressure done', [pressureId], 'carePlanId systolic'],
    )
  })

  it('logs results even if the client omitted the EHR from the requested fields', async () => {
    const [line] = await linesOf(() =>
      request()
        .get('/1/classes/BloodPressure')
        .set(patient.headers)
        .query({ keys: 'systolic', where: JSON.stringify({ carePlanId }) })
        .expect(200),
    )
    assert.deepEqual(line?.ids, [pressureId])
  })

  it('logs a query without results, and the unique values of a field', async () => {
    const lines = await linesOf(async () => {
      await createClassClient(patient).list('Goal', { ehrId }).expect(200)
      await request()
        .get('/1/classes/BloodPressure')
        .set(patient.headers)
        .query({ distinct: 'systolic', where: JSON.stringify({ ehrId }) })
        .expect(200)
    })
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['query Goal done', 'query BloodPressure done'],
    )
  })

  it('logs every part of a batch', async () => {
    const lines = await linesOf(() =>
      request()
        .post('/1/batch')
        .set(patient.headers)
        .send({
          requests: [
            { method: 'GET', path: `/1/classes/BloodPressure/${pressureId}` },
            { method: 'GET', path: `/1/classes/CarePlan/${carePlanId}` },
          ],
        })
        .expect(200),
    )
    assert.deepEqual(lines.map(({ what }) => what).sort(), ['read BloodPressure done', 'read CarePlan done'])
  })

  it("logs a stranger's refused requests", async () => {
    const lines = await linesOf(() => createClassClient(stranger).get('CarePlan', carePlanId).expect(404), {
      ehrId,
      userId: stranger.mvUid,
      ids: carePlanId,
    })
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['read CarePlan denied'],
    )
  })

  it('logs an update, and the history keeps the former version', async () => {
    const lines = await linesOf(async () => {
      await createClassClient(patient).put('CarePlan', carePlanId, { notes: 'Less salt' }).expect(200)
      await createClassClient(patient).put('CarePlan', carePlanId, { status: 'CLOSED' }).expect(400)
    })
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['update CarePlan done', 'update CarePlan refused'],
    )
    const changes = await service.db
      .collection<{ _id: string; version: number; before: { notes?: string }; changed: string[] }>(
        'history.changes',
      )
      .find({ _id: { $regex: `^${ehrId}/CarePlan/${carePlanId}/` } as never })
      .toArray()
    const { version, before, changed } = changes.at(-1)!
    assert.deepEqual([version, before.notes, changed], [2, undefined, ['notes']])
  })

  it('logs a deletion', async () => {
    const { body } = await createClassClient(patient)
      .post('BloodPressure', createPressureObject(carePlanId))
      .expect(201)
    const lines = await linesOf(() =>
      createClassClient(patient).delete('BloodPressure', body.objectId).expect(200),
    )
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['delete BloodPressure done'],
    )
  })

  it('is verified as intact', async () => {
    const verdict = await verifyAudit(service.db, config.auditKey)
    assert.equal(verdict.broken, null)
  })
})
