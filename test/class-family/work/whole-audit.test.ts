import assert from 'node:assert/strict'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { ehrOf, newPlan, newPressure } from '../../harness/care/by-class-family.ts'
import { classesOf } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { config, request, service } from '../../harness/service/service.ts'

/** A line of the audit: `read CarePlan done`, by whom, of what. */
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
    ;[patient, stranger] = await Promise.all([newPerson(), newPerson()])
    ehrId = await ehrOf(patient)
    ;({ carePlanId } = await newPlan(patient))
    const { body } = await classesOf(patient).post('BloodPressure', newPressure(carePlanId)).expect(201)
    pressureId = body.objectId
  })

  /** What `work` leaves in the audit, apart from the subject's own look at it. */
  async function linesOf(work: () => PromiseLike<unknown>, filter: object = { ehrId }): Promise<Line[]> {
    const since = await service.db.collection('audit.entries').countDocuments(filter)
    await work()
    const entries = await service.db.collection('audit.entries').find(filter).sort({ at: 1 }).toArray()
    return entries.slice(since).map(({ action, type, outcome, userId, ids, requestId, asked = null }) => ({
      what: `${action} ${type} ${outcome}`,
      ...{ userId, ids, requestId, asked },
    }))
  }

  it('knows a read before its answer, by its request id', async () => {
    const [line, ...more] = await linesOf(() =>
      classesOf(patient)
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

  it('knows a query with what it showed, and by which properties it asked, without their values', async () => {
    const where = { carePlanId, systolic: { $gte: 120 } }
    const [line] = await linesOf(() => classesOf(patient).list('BloodPressure', where).expect(200))
    assert.deepEqual(
      [line?.what, line?.ids, line?.asked],
      ['query BloodPressure done', [pressureId], 'carePlanId systolic'],
    )
  })

  it('knows what was shown though the client left the EHR out of what it asked for', async () => {
    const [line] = await linesOf(() =>
      request()
        .get('/1/classes/BloodPressure')
        .set(patient.headers)
        .query({ keys: 'systolic', where: JSON.stringify({ carePlanId }) })
        .expect(200),
    )
    assert.deepEqual(line?.ids, [pressureId])
  })

  it('knows a query that found nothing, and the unique values of a field', async () => {
    const lines = await linesOf(async () => {
      await classesOf(patient).list('Goal', { ehrId }).expect(200)
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

  it('knows every part of a batch', async () => {
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

  it('knows what a stranger asked for in vain', async () => {
    const lines = await linesOf(() => classesOf(stranger).get('CarePlan', carePlanId).expect(404), {
      ehrId,
      userId: stranger.mvUid,
      ids: carePlanId,
    })
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['read CarePlan denied'],
    )
  })

  it('knows an update, and its former version is kept', async () => {
    const lines = await linesOf(async () => {
      await classesOf(patient).put('CarePlan', carePlanId, { notes: 'Less salt' }).expect(200)
      await classesOf(patient).put('CarePlan', carePlanId, { status: 'CLOSED' }).expect(400)
    })
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['update CarePlan announced', 'update CarePlan refused'],
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

  it('knows a deletion', async () => {
    const { body } = await classesOf(patient).post('BloodPressure', newPressure(carePlanId)).expect(201)
    const lines = await linesOf(() => classesOf(patient).delete('BloodPressure', body.objectId).expect(200))
    assert.deepEqual(
      lines.map(({ what }) => what),
      ['delete BloodPressure announced'],
    )
  })

  it('holds together', async () => {
    const verdict = await verifyAudit(service.db, config.auditKey)
    assert.equal(verdict.broken, null)
  })
})
