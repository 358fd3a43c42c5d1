import assert from 'node:assert/strict'
import { type MongoClient, MongoServerError } from 'mongodb'
import { type AuditedAccess, auditEntryCollection } from '../../../../records/store/audit/audit-log.ts'
import { verifyAudit } from '../../../../records/store/audit/verifier.ts'
import { BulkWriteSupport } from '../../../../records/store/batching/pending-writes.ts'
import { historyCollection } from '../../../../records/store/writing/history.ts'
import { runStoreTransaction, type StoreContext } from '../../../../records/store/writing/transaction.ts'
import { AUDIT_KEY, createNoteStore, useTestStore } from '../../../harness/test-store.ts'

const ACCESS: Omit<AuditedAccess, 'ehrId' | 'requestId'> = {
  userId: 'ann',
  application: 'tests',
  type: 'Note',
  ids: ['x'],
  action: 'read',
  outcome: 'done',
}

interface Document {
  _id: string
  n: number
}

/** A server before MongoDB 8. */
class NoBulkWrite extends BulkWriteSupport {
  override has = async () => false
}

/** A client of a server that was downgraded: it refuses the command `bulkWrite` after the first one. */
function downgrade(client: MongoClient, code: number): MongoClient {
  let commands = 0
  const bulkWrite: MongoClient['bulkWrite'] = (...args) => {
    commands += 1
    if (commands === 1) return client.bulkWrite(...args)
    return Promise.reject(new MongoServerError({ code, message: 'no such command' }))
  }
  const get = (_: object, key: keyof MongoClient) => {
    if (key === 'bulkWrite') return bulkWrite
    const value: unknown = client[key]
    return typeof value === 'function' ? value.bind(client) : value
  }
  return new Proxy(client, { get } as ProxyHandler<MongoClient>)
}

describe('the pending writes of a transaction', () => {
  const opened = useTestStore()
  let context: StoreContext
  beforeEach(async () => {
    await opened.db.collection('first').drop()
    await opened.db.collection('second').drop()
    await opened.db.collection<Document>('first').insertOne({ _id: 'known', n: 1 })
  })

  const first = () => opened.db.collection<Document>('first')
  const second = () => opened.db.collection<Document>('second')
  const documents = async () => [await first().countDocuments(), await second().countDocuments()]

  for (const [server, bulkWrites] of [
    ['MongoDB 7', new NoBulkWrite()],
    ['MongoDB 8', new BulkWriteSupport()],
  ] as const)
    describe(`on ${server}`, () => {
      beforeEach(() => {
        context = { ...opened.context, bulkWrites }
      })

      it('are there when the transaction has ended', async () => {
        await runStoreTransaction(context, async ({ pending }) => {
          pending.insert(first(), [{ _id: 'new', n: 1 }])
          pending.insert(second(), [{ _id: 'new', n: 2 }])
          pending.add(first(), [{ updateOne: { filter: { _id: 'known' }, update: { $inc: { n: 1 } } } }])
        })
        assert.deepEqual(await documents(), [2, 1])
        assert.equal((await first().findOne({ _id: 'known' }))?.n, 2)
      })

      it('can be read before it ends', async () => {
        await runStoreTransaction(context, async ({ pending, session }) => {
          pending.insert(first(), [{ _id: 'new', n: 1 }])
          pending.insert(second(), [{ _id: 'new', n: 2 }])
          await pending.flushBeforeReading('second')
          assert.equal((await first().findOne({ _id: 'new' }, { session }))?.n, 1)
          assert.equal((await second().findOne({ _id: 'new' }, { session }))?.n, 2)
        })
      })

      it('are all undone when one of them affects no document', async () => {
        const work = runStoreTransaction(context, async ({ pending }) => {
          pending.insert(second(), [{ _id: 'new', n: 2 }])
          pending.add(first(), [{ deleteOne: { filter: { _id: 'unknown' } } }])
        })
        await assert.rejects(work, { error: 'Conflict' })
        assert.deepEqual(await documents(), [1, 0])
      })

      it('are all undone when an id is taken, which the error of the server says', async () => {
        const work = runStoreTransaction(context, async ({ pending }) => {
          pending.insert(second(), [{ _id: 'new', n: 2 }])
          pending.insert(first(), [{ _id: 'known', n: 2 }])
        })
        await assert.rejects(work, (error: unknown) => {
          assert.ok(error instanceof MongoServerError)
          assert.match(error.message, /^E11000 .* index: _id_ /)
          return error.code === 11_000
        })
        assert.deepEqual(await documents(), [1, 0])
      })

      it('leave no gap in the audit when an attempt with entries fails and the next one has none', async () => {
        const access = { ...ACCESS, ehrId: 'another', requestId: server }
        let attempts = 0
        await runStoreTransaction(context, async ({ pending, session, accesses }) => {
          attempts += 1
          if (attempts > 1) return
          await first().findOne({ _id: 'known' }, { session })
          await first().updateOne({ _id: 'known' }, { $inc: { n: 1 } })
          pending.add(first(), [{ updateOne: { filter: { _id: 'known' }, update: { $inc: { n: 1 } } } }])
          accesses.push(access)
        })
        assert.equal(attempts, 2)
        await context.audit.record(access)
        await runStoreTransaction(context, async ({ accesses }) => void accesses.push(access))
        await opened.audit.close()
        const { broken } = await verifyAudit(opened.db, AUDIT_KEY)
        await opened.reopen()
        assert.equal(broken, null)
      })

      it('hold the history and the audit entry of a record', async () => {
        const caller = { userId: 'ann', roles: [], application: 'tests', requestId: server }
        const permissions = { read: ['ann'], write: ['ann'] }
        await createNoteStore(context).create(caller, { ehrId: server, text: 'x' }, permissions)
        assert.equal(await historyCollection(opened.db).countDocuments({ _id: new RegExp(`^${server}/`) }), 1)
        assert.equal(await auditEntryCollection(opened.db).countDocuments({ ehrId: server }), 1)
      })
    })
  for (const code of [59, 115])
    it(`are sent in another way after a downgrade of the server (${code})`, async () => {
      const client = downgrade(opened.context.client, code)
      context = { ...opened.context, client, bulkWrites: new BulkWriteSupport() }
      for (const id of ['one', 'two'])
        await runStoreTransaction(context, async ({ pending }) => {
          pending.insert(first(), [{ _id: id, n: 1 }])
          pending.insert(second(), [{ _id: id, n: 2 }])
        })
      assert.deepEqual(await documents(), [3, 2])
    })
})
