import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientSession, type Collection, Long, MongoClient, MongoServerError, UUID } from 'mongodb'
import { sessions as commands } from '../../commands/sessions.ts'
import { Overlay } from '../../storage/disk/overlay.ts'
import { LastWrites } from '../../storage/last-writes.ts'
import { Transactions } from '../../storage/transactions.ts'
import { engineOfBlock, socketPathOf } from '../../testing.ts'

interface Account {
  _id: number
  owner?: string
  balance: number
}

describe('transactions', () => {
  const engine = engineOfBlock()
  let accounts: Collection<Account>
  let entries: Collection<{ _id: string; amount: number }>
  let sessions: ClientSession[]
  beforeEach(async () => {
    sessions = []
    await engine.db.dropDatabase()
    accounts = engine.db.collection('accounts')
    entries = engine.db.collection('entries')
    await accounts.createIndex({ owner: 1 }, { unique: true, sparse: true, name: 'owner_1' })
    await accounts.insertMany([
      { _id: 1, balance: 100 },
      { _id: 2, balance: 100 },
    ])
  })
  afterEach(() => Promise.all(sessions.map((session) => session.endSession())))

  /** A session with a transaction in progress. */
  function begin(client = engine.client): ClientSession {
    const session = client.startSession()
    sessions.push(session)
    session.startTransaction()
    return session
  }

  const balance = async (id: number, session?: ClientSession) =>
    (await accounts.findOne({ _id: id }, session && { session }))?.balance
  const add = (_id: number, amount: number, session?: ClientSession) =>
    accounts.updateOne({ _id }, { $inc: { balance: amount } }, session && { session })

  it('are idle from the end of their last command, and not while one runs', async () => {
    const items = Array.from({ length: 5000 }, (_, i) => ({ _id: 100 + i, balance: i }))
    await accounts.insertMany(items)
    const session = begin()
    const admin = engine.client.db('admin')
    const findIdleMs = async () => {
      const idle = await admin.aggregate([{ $currentOp: { idleSessions: true } }]).toArray()
      const own = idle.find(({ lsid }) => lsid.id.toString('hex') === session.id?.id.toString('hex'))
      return own && Number(own.transaction.timeInactiveMicros) / 1000
    }
    for (let attempt = 1; ; attempt++) {
      const start = performance.now()
      await accounts.updateMany({}, { $inc: { balance: 1 } }, { session })
      const ms = performance.now() - start
      const idleMs = await findIdleMs()
      assert.ok(idleMs !== undefined)
      // A busy machine may reply late.
      if (idleMs < ms / 2) break
      assert.ok(attempt < 10, `idle for ${idleMs} ms after an update that took ${ms} ms`)
    }
    await session.abortTransaction()
    assert.equal(await findIdleMs(), undefined)
  })

  it('run many at once, each on its own snapshot', async () => {
    for (let i = 0; i < 200; i++) {
      await accounts.insertOne({ _id: 1000 + i, balance: 0 }, { session: begin() })
      await entries.insertOne({ _id: `${i}`, amount: i })
    }
    assert.equal(await balance(1), 100)
    await Promise.all(sessions.map((session) => session.commitTransaction()))
    assert.equal(await accounts.countDocuments(), 202)
  })

  it('show the writes to two collections at the same moment after commit', async () => {
    const session = begin()
    await add(1, -10, session)
    await entries.insertOne({ _id: 'x', amount: 10 }, { session })
    assert.equal(await balance(1), 100)
    assert.equal(await entries.countDocuments(), 0)
    assert.equal(await balance(1, session), 90)
    assert.equal(await entries.countDocuments({}, { session }), 1)
    await session.commitTransaction()
    assert.equal(await balance(1), 90)
    assert.equal(await entries.estimatedDocumentCount(), 1)
  })

  it('leave nothing behind after abort', async () => {
    const session = begin()
    await accounts.insertOne({ _id: 3, owner: 'eve', balance: 1 }, { session })
    await accounts.deleteOne({ _id: 1 }, { session })
    await accounts.updateOne({ _id: 2 }, { $set: { owner: 'bob' } }, { session })
    await session.abortTransaction()
    assert.deepEqual(await accounts.find().sort({ _id: 1 }).toArray(), [
      { _id: 1, balance: 100 },
      { _id: 2, balance: 100 },
    ])
    assert.equal(await accounts.countDocuments({ owner: { $exists: true } }), 0)
    await accounts.insertOne({ _id: 4, owner: 'bob', balance: 0 })
    assert.equal(await accounts.estimatedDocumentCount(), 3)
  })

  it('read their own writes through every kind of plan', async () => {
    await accounts.createIndex({ balance: 1 })
    const session = begin()
    await accounts.insertOne({ _id: 3, owner: 'carol', balance: 50 }, { session })
    await add(1, 100, session)
    await accounts.deleteOne({ _id: 2 }, { session })
    const ids = async (cursor: { toArray(): Promise<Account[]> }) =>
      (await cursor.toArray()).map(({ _id }) => _id)
    assert.deepEqual(
      await ids(accounts.find({ balance: { $gt: 0 } }, { session }).sort({ balance: 1 })),
      [3, 1],
    )
    assert.deepEqual(await ids(accounts.find({ owner: 'carol' }, { session })), [3])
    assert.deepEqual((await accounts.distinct('balance', {}, { session })).sort(), [200, 50])
    const sum = [{ $group: { _id: null, sum: { $sum: '$balance' } } }]
    assert.equal((await accounts.aggregate(sum, { session }).next())?.sum, 250)
    assert.equal((await accounts.aggregate(sum).next())?.sum, 200)
    await session.abortTransaction()
  })

  it('read the snapshot of their first command', async () => {
    const session = begin()
    assert.equal(await balance(1, session), 100)
    await add(1, 5)
    await accounts.insertOne({ _id: 9, owner: 'late', balance: 0 })
    assert.equal(await balance(1, session), 100)
    assert.equal(await accounts.countDocuments({}, { session }), 2)
    assert.equal(await accounts.findOne({ owner: 'late' }, { session }), null)
    await session.commitTransaction()
    assert.equal(await balance(1), 105)
  })

  it('conflict on a document that changed after the snapshot', async () => {
    const session = begin()
    await balance(2, session)
    await add(1, 5)
    await isTransient(add(1, 1, session), 112)
    await session.abortTransaction()
    assert.equal(await balance(1), 105)
  })

  it('conflict if a second transaction writes the same document', async () => {
    const first = begin()
    const second = begin()
    await add(1, 1, first)
    await isTransient(add(1, 2, second), 112)
    await isTransient(balance(1, second), 251)
    await second.abortTransaction()
    await first.commitTransaction()
    assert.equal(await balance(1), 101)
  })

  it('do not conflict if different documents get the same value in an index', async () => {
    await accounts.createIndex({ balance: 1 })
    const first = begin()
    const second = begin()
    await accounts.insertOne({ _id: 3, balance: 7 }, { session: first })
    await accounts.updateOne({ _id: 1 }, { $set: { balance: 7 } }, { session: second })
    await accounts.insertOne({ _id: 4, balance: 7 })
    await second.commitTransaction()
    await first.commitTransaction()
    const ids = await accounts.find({ balance: 7 }).hint('balance_1').project({ _id: 1 }).toArray()
    assert.deepEqual(ids.map(({ _id }) => _id).sort(), [1, 3, 4])
    assert.equal(await accounts.countDocuments({ balance: 100 }, { hint: 'balance_1' }), 1)
  })

  it('conflict if a second transaction inserts the same unique key', async () => {
    const first = begin()
    const second = begin()
    await accounts.insertOne({ _id: 3, owner: 'carol', balance: 0 }, { session: first })
    await isTransient(accounts.insertOne({ _id: 4, owner: 'carol', balance: 0 }, { session: second }), 112)
    await second.abortTransaction()
    await first.commitTransaction()
    assert.deepEqual(await accounts.find({ owner: 'carol' }).project({ _id: 1 }).toArray(), [{ _id: 3 }])
  })

  it('end with 11000 after a duplicate key', async () => {
    await accounts.updateOne({ _id: 1 }, { $set: { owner: 'alice' } })
    const session = begin()
    await add(2, 1, session)
    await assert.rejects(accounts.insertOne({ _id: 3, owner: 'alice', balance: 0 }, { session }), {
      code: 11000,
      message:
        'E11000 duplicate key error collection: test.accounts index: owner_1 dup key: { owner: "alice" }',
    })
    await assert.rejects(session.commitTransaction(), { code: 251 })
    assert.equal(await balance(2), 100)
  })

  it('report a failed statement as outside, and carry out no other one', async () => {
    const documents = [{ _id: 1 }, { _id: 3 }]
    for (const ordered of [true, false]) {
      const session = begin()
      const reply = await engine.db.command({ insert: 'accounts', documents, ordered }, { session })
      assert.deepEqual(
        [reply.ok, reply.n, reply.writeErrors.length, reply.writeErrors[0].code],
        [1, 0, 1, 11000],
      )
      await assert.rejects(accounts.findOne({ _id: 2 }, { session }), { code: 251 })
    }
    assert.equal(await accounts.countDocuments(), 2)
  })

  it('make a writer outside wait until they end', async () => {
    const session = begin()
    await add(1, 1, session)
    let isDone = false
    const outside = add(1, 10).then(() => {
      isDone = true
    })
    await add(2, 10)
    await sleep(150)
    assert.equal(isDone, false)
    await session.commitTransaction()
    await outside
    assert.equal(await balance(1), 111)
  })

  it('succeed with withTransaction for all concurrent transfers', async function () {
    this.timeout(30_000)
    const transfer = (n: number) =>
      engine.client.withSession((session) =>
        session.withTransaction(async () => {
          await add(1 + (n % 2), -1, session)
          await add(2 - (n % 2), 1, session)
          await entries.insertOne({ _id: `${n}`, amount: 1 }, { session })
        }),
      )
    await Promise.all(Array.from({ length: 12 }, (_, n) => transfer(n)))
    assert.equal(await entries.countDocuments(), 12)
    assert.deepEqual([await balance(1), await balance(2)], [100, 100])
  })

  it('lose no write while others write outside', async function () {
    this.timeout(60_000)
    const { client } = engine
    const inside = (i: number) =>
      client.withSession((session) =>
        session.withTransaction(async () => {
          const before = await balance(1, session)
          await accounts.updateOne({ _id: 1 }, { $set: { balance: Number(before) + 1 } }, { session })
          await entries.insertOne({ _id: `inside ${i}`, amount: 1 }, { session })
        }),
      )
    const each = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? inside(i) : add(1, 1)))
    await Promise.all(each)
    assert.equal(await balance(1), 160)
    assert.equal(await entries.countDocuments(), 20)
  })

  it('expire and release their claims', async () => {
    const admin = engine.client.db('admin')
    const { was } = await admin.command({ setParameter: 1, transactionLifetimeLimitSeconds: 0.3 })
    assert.equal(was, 60)
    try {
      const session = begin()
      await add(1, 1, session)
      await add(1, 10)
      await isTransient(add(2, 1, session), 251)
      await session.abortTransaction()
      assert.deepEqual([await balance(1), await balance(2)], [110, 100])
    } finally {
      await admin.command({ setParameter: 1, transactionLifetimeLimitSeconds: was })
    }
  })

  for (const [what, read] of Object.entries({
    query: (session: ClientSession) =>
      entries.find({ $expr: { $eq: ['$amount', -1] } }, { session }).toArray(),
    join: (session: ClientSession) =>
      entries
        .aggregate(
          [
            { $lookup: { from: 'entries', localField: '_id', foreignField: '_id', as: 'same' } },
            { $match: { same: [] } },
          ],
          { session },
        )
        .toArray(),
    'write of many documents': (session: ClientSession) =>
      entries.updateMany({}, { $inc: { amount: 1 } }, { session }),
  }))
    it(`are 251 for a ${what} that is running when they end`, async function () {
      this.timeout(30_000)
      const many = Array.from({ length: 20_000 }, (_, i) => ({ _id: `${i}`, amount: i }))
      await entries.insertMany(many)
      const session = begin()
      const running = isTransient(read(session), 251)
      await sleep(20)
      await engine.client.db('admin').command({ killAllSessions: [] })
      await running
      await add(1, 1)
      assert.equal(await entries.countDocuments({ amount: 19_999 }), 1)
    })

  it('end with their connection', async () => {
    const { uri, pull } = await cable(engine.uri)
    const client = new MongoClient(uri, { directConnection: true, serverSelectionTimeoutMS: 3000 })
    const session = begin(client)
    await client
      .db('test')
      .collection<Account>('accounts')
      .updateOne({ _id: 1 }, { $set: { balance: 0 } }, { session })
    pull()
    await add(1, 1)
    assert.equal(await balance(1), 101)
    await client.close(true)
  })

  it('are aborted by endSessions', async () => {
    const session = begin()
    await add(1, 1, session)
    await engine.db.command({ endSessions: [session.id] })
    await add(1, 10)
    assert.equal(await balance(1), 110)
  })

  it('accept a repeated commit', async () => {
    const session = begin()
    await add(1, 1, session)
    await session.commitTransaction()
    await session.commitTransaction()
    assert.equal(await balance(1), 101)
  })

  it('acknowledge a repeated commit only when the first one is on disk', async () => {
    const empty = { get: () => undefined, release: () => {} }
    const latest = new Overlay(empty as never)
    let failOnDisk: (error: Error) => void = () => {}
    const storage = {
      snapshot: () => empty,
      isCurrent: () => true,
      write: (run: (view: Overlay) => void) => {
        run(latest)
        return new Promise((_, reject) => {
          failOnDisk = reject
        })
      },
    }
    const lastWrites = new LastWrites()
    const transactions = new Transactions(storage as never, lastWrites, { isDerived: () => false })
    const lsid = { id: new UUID().toBinary() }
    const transaction = transactions.start(lsid.id.toString('hex'), 1n, 1)
    transactions.write(transaction, (view) => view.put(Buffer.from('00000009ff', 'hex'), Buffer.from('x')))
    const command = { commitTransaction: 1, lsid, txnNumber: Long.fromNumber(1) }
    const commit = async () =>
      commands.commitTransaction?.run({ engine: { transactions, lastWrites }, db: 'admin', command } as never)
    const commits = Promise.allSettled([commit(), commit()])
    failOnDisk(new Error('full'))
    assert.deepEqual(
      (await commits).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
  })

  it('are forgotten if the engine is killed before they commit', async () => {
    const session = begin()
    await add(1, 1, session)
    await accounts.insertOne({ _id: 3, owner: 'carol', balance: 0 }, { session })
    await engine.kill()
    await engine.restart()
    const reopened = engine.db.collection<Account>('accounts')
    assert.deepEqual(
      await reopened
        .find()
        .map(({ _id }) => _id)
        .toArray(),
      [1, 2],
    )
    await reopened.insertOne({ _id: 4, owner: 'carol', balance: 0 })
  })
})

async function isTransient(work: Promise<unknown>, code: number) {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof MongoServerError, String(error))
    assert.equal(error.code, code)
    assert.ok(error.hasErrorLabel('TransientTransactionError'), `${error.message}: no label`)
    return true
  })
}

/** A proxy to the engine whose connections can be cut. */
async function cable(uri: string): Promise<{ uri: string; pull(): void }> {
  const ends = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(socketPathOf(uri))
    for (const end of [near, far]) ends.add(end.on('error', () => {}))
    near.pipe(far).pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const pull = () => {
    server.close()
    for (const end of ends) end.destroy()
  }
  return { uri: `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}`, pull }
}
