import assert from 'node:assert/strict'
import { engineOfBlock } from '@health-record-service/embedded-mongo/testing'
import { type AuditedAccess, openAuditLog } from '../../../records/store/audit/audit-log.ts'
import { removeEntriesBefore } from '../../../records/store/audit/checkpoints.ts'
import { recordKeyChange } from '../../../records/store/audit/key-change.ts'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { runTransaction } from '../../../records/store/documents/database.ts'

const KEYS = ['the first', 'the second', 'the third'] as const
const time = new Date('2026-01-01')
const clock = () => time

const access: AuditedAccess = {
  requestId: '',
  userId: 'u',
  application: 'a',
  action: 'read',
  outcome: 'done',
  ehrId: 'e',
  type: 'T',
  ids: ['i'],
}

describe('records/audit across key changes', () => {
  const engine = engineOfBlock()

  const run = async (key: string) => {
    const audit = await openAuditLog({
      db: engine.db,
      key,
      clock,
      onFault: (fault) => assert.fail(String(fault)),
    })
    for (const requestId of ['1', '2', '3']) await audit.record({ ...access, requestId })
    return audit
  }
  const change = (auditKey: string, formerAuditKey: string | undefined) =>
    runTransaction(engine, (session) =>
      recordKeyChange(engine.db, session, { variables: ['AUDIT_KEY'], auditKey, formerAuditKey }, time),
    )
  const verify = (key: string, ...before: string[]) => verifyAudit(engine.db, key, undefined, before)

  it('verifies with all keys, in any order, even after a later key has removed entries', async () => {
    const [first, second, third] = KEYS
    const running = await run(first)
    await change(second, first)
    await (await run(second)).close()
    await change(third, second)
    await (await run(third)).close()
    // This instance does not know of the change, and ends later.
    await running.record()
    await running.close()
    const whole = await verify(third, first, second)
    assert.deepEqual([whole.broken, whole.unverified, whole.entries], [null, [], 13])
    assert.equal(await removeEntriesBefore(engine.db, third, new Date('2026-01-02')), 13)
    const shortened = await verify(third, second, first)
    assert.deepEqual([shortened.broken, shortened.unverified, shortened.entries], [null, [], 0])
    const { broken, unverified } = await verify(third, second)
    assert.deepEqual([broken, unverified], [null, [{ from: 1, to: 2, lost: false, entries: 0 }]])
    assert.notEqual((await verify(second, first, third)).broken, null)
  })

  it('starts no run with a former key, nor with an unknown one', async () => {
    for (const key of [KEYS[0], KEYS[1], 'unknown'])
      await assert.rejects(run(key), /was written with another AUDIT_KEY/)
  })
})
