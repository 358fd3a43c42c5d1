import assert from 'node:assert/strict'
import { auditEntryCollection } from '../../../records/store/audit/audit-log.ts'
import { createPatient } from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitFor } from '../../harness/wait.ts'

const PATH = '/audit/verification'
const verifications = () => service.db.collection<{ _id: string }>('audit.verifications')

describe('the operations of administrators', () => {
  let admin: Person
  let user: Person
  before(async () => {
    ;[admin, user] = await Promise.all([createAdmin(), createPerson()])
  })

  const verify = async () => {
    const { state } = assertStatus(await admin.call('POST', PATH), 202)
    assert.notEqual(state, 'NEVER')
    return waitFor(async () => {
      const last = assertStatus(await admin.call('GET', PATH))
      return last.state === 'RUNNING' ? undefined : last
    })
  }

  it('are refused to others', async () => {
    for (const [method, path] of [
      ['GET', '/health/status'],
      ['GET', '/ehr/deleted'],
      ['GET', PATH],
      ['POST', PATH],
    ] as const)
      assertProblem(await user.call(method, path), 403, 'forbidden')
  })

  it('show the mails that wait, and those that were given up', async () => {
    const before = assertStatus(await admin.call('GET', '/health/status'))
    assert.match(before.version, /^\d+\.\d+\.\d+$/)
    assert.ok(before.databaseBytes === null || before.databaseBytes > 0)
    assert.equal(before.lastBackupAt, null)
    const time = new Date('2020-01-01T00:00:00Z')
    const mail = {
      to: 'somebody@example.org',
      template: 'pending-ehr',
      data: {},
      attempts: 1,
      createdAt: time,
    }
    const later = new Date(Date.now() + 600_000)
    const mails = service.db.collection('mails')
    const { insertedIds } = await mails.insertMany([
      { ...mail, dueAt: later },
      { ...mail, abandonedAt: new Date() },
    ])
    try {
      const { mailsAbandoned, oldestMailAt } = assertStatus(await admin.call('GET', '/health/status'))
      assert.equal(mailsAbandoned, before.mailsAbandoned + 1)
      assert.equal(oldestMailAt, time.toISOString())
    } finally {
      await mails.deleteMany({ _id: { $in: Object.values(insertedIds) } })
    }
  })

  it('list deleted EHRs with the time until which they can be restored, by pages', async () => {
    const first = await createPatient()
    const second = await createPatient()
    for (const { call, ehrId } of [first, second])
      assertStatus(await call('DELETE', `/med/ehr/${ehrId}`), 204)
    const page = assertStatus(await admin.call('GET', '/ehr/deleted?limit=1'))
    const [{ deletedAt, restorableUntil, ...last }] = page.items
    assert.deepEqual(last, { id: second.ehrId, subjectId: second.mvUid, isReturning: false })
    assert.equal(Date.parse(restorableUntil) - Date.parse(deletedAt), 30 * 86_400_000)
    const { items } = assertStatus(await admin.call('GET', `/ehr/deleted?limit=1&cursor=${page.page.next}`))
    assert.equal(items[0].id, first.ehrId)
    assertProblem(await admin.call('GET', '/ehr/deleted?cursor=abc'), 400, 'malformed-request')
    const audit = assertStatus(await admin.call('GET', `/ehr/${first.ehrId}/audit`)).items
    assert.ok(
      audit.some((one: { userId: string; type: string }) => one.userId === admin.mvUid && one.type === 'Ehr'),
    )
    assertStatus(await admin.call('POST', `/med/ehr/${first.ehrId}/restore`))
    const left = assertStatus(await admin.call('GET', '/ehr/deleted')).items
    assert.equal(
      left.some(({ id }: { id: string }) => id === first.ehrId),
      false,
    )
    const account = { _id: second.mvUid as never }
    await service.db.collection('_User').updateOne(account, { $set: { ehrId: 'newer' } })
    assertStatus(await admin.call('POST', `/med/ehr/${second.ehrId}/restore`))
    assert.equal((await service.db.collection('_User').findOne(account))?.ehrId, 'newer')
  })

  it('verify the audit, and name the first entry that was changed', async () => {
    const { state, entries, fault, startedAt, finishedAt } = await verify()
    assert.deepEqual([state, fault], ['INTACT', null])
    assert.ok(entries > 0 && startedAt <= finishedAt)
    const changed = await auditEntryCollection(service.db).findOne({}, { sort: { _id: 1 } })
    assert.ok(changed)
    const entry = { _id: changed._id }
    await auditEntryCollection(service.db).updateOne(entry, { $set: { requestId: 'another one' } })
    try {
      const broken = await verify()
      assert.deepEqual([broken.state, broken.fault.at], ['BROKEN', changed._id])
    } finally {
      await auditEntryCollection(service.db).replaceOne(entry, changed)
    }
  })

  it('say when the process that verified has ended, and verify again', async () => {
    const verification = { startedAt: new Date(), entries: 5, ofEntries: 10, leaseUntil: new Date(0) }
    await verifications().replaceOne({ _id: 'last' }, verification, { upsert: true })
    const { state, entries, finishedAt } = assertStatus(await admin.call('GET', PATH))
    assert.deepEqual([state, entries, finishedAt], ['INTERRUPTED', 5, null])
    assert.equal((await verify()).state, 'INTACT')
  })

  it('start no second verification while one is running', async () => {
    const startedAt = new Date()
    const verification = { startedAt, entries: 5, ofEntries: 10, leaseUntil: new Date(Date.now() + 30_000) }
    await verifications().replaceOne({ _id: 'last' }, verification, { upsert: true })
    const running = assertStatus(await admin.call('POST', PATH), 202)
    assert.deepEqual(
      [running.state, running.startedAt, running.entries],
      ['RUNNING', startedAt.toISOString(), 5],
    )
    await verifications().deleteOne({ _id: 'last' })
    assert.equal(assertStatus(await admin.call('GET', PATH)).state, 'NEVER')
  })
})
