import assert from 'node:assert/strict'
import { BSON } from 'mongodb'
import { type AuditEntry, computeMac } from '../../../../records/store/audit/chains/chain.ts'
import {
  decodeAuditEntry,
  encodeAuditEntry,
  type StoredAuditEntry,
} from '../../../../records/store/audit/chains/entry-format.ts'

const entry: AuditEntry = {
  _id: '3-1-000000000042',
  at: new Date('2026-11-23T10:00:00Z'),
  requestId: '0f7c7a52-1b52-4b0e-8a0e-5b6c3f1d2e4a',
  userId: 'abcdefghij',
  application: 'app',
  action: 'read',
  ehrId: 'ehr1234567',
  type: 'CarePlan',
  ids: ['plan123456'],
  outcome: 'done',
  mac: computeMac('key', 'text'),
}
/** The entry as the driver returns it. */
const roundTrip = (one: AuditEntry): AuditEntry =>
  decodeAuditEntry(BSON.deserialize(BSON.serialize(encodeAuditEntry(one))) as StoredAuditEntry)

describe('the stored form of an audit entry', () => {
  it('returns the same entry, whatever its request id and outcome', () => {
    for (const requestId of [
      entry.requestId,
      entry.requestId.toUpperCase(),
      'own-id',
      '',
      `${entry.requestId}0`,
    ])
      for (const outcome of ['done', 'denied', 'refused'] as const)
        for (const fields of [{}, { asked: 'systolic' }]) {
          const one: AuditEntry = { ...entry, requestId, outcome, ...fields }
          assert.deepEqual(roundTrip(one), one)
        }
  })

  it('reads entries of earlier releases unchanged', () =>
    assert.deepEqual(decodeAuditEntry(BSON.deserialize(BSON.serialize(entry)) as StoredAuditEntry), entry))

  it('keeps unknown fields, which the MAC covers', () =>
    assert.deepEqual(decodeAuditEntry({ ...encodeAuditEntry(entry), added: 1 } as StoredAuditEntry), {
      ...entry,
      added: 1,
    }))

  it('takes at least 45 bytes less', () => {
    const [plain, stored] = [entry, encodeAuditEntry(entry)].map((one) => BSON.calculateObjectSize(one))
    assert.ok((plain ?? 0) - (stored ?? 0) >= 45, `${plain} and ${stored}`)
  })
})
