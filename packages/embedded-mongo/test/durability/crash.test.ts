import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ClientSession, type Db, type Document, type IndexDescription, MongoError } from 'mongodb'
import { startEngine, type TestEngine } from '../../testing.ts'

const ROUNDS: Record<string, readonly [crashes: number, full: number]> = { full: [10, 5], most: [100, 100] }
const [rounds, fullRounds] = ROUNDS[process.env.TEST_SIZE ?? ''] ?? [1, 0]
const writers = 32
/** Free disk space in bytes at the start of a round that fills the disk. */
const ROOM = 100_000

/** `collection/_id` -> the document, or null if it was deleted. */
type State = Map<string, Document | null>
type Id = { _id: string }

const indexes: (IndexDescription & { name: string })[] = [
  { name: 'unique', key: { key: 1 }, unique: true },
  { name: 'compound', key: { writer: 1, at: -1 } },
  { name: 'tags', key: { tags: 1 } },
  { name: 'text', key: { text: 1 }, collation: { locale: 'en', strength: 2 } },
]

/**
 * Writes documents of its own, one after the other, and remembers the acknowledged writes and the pending
 * one.
 */
class Writer {
  readonly name: string
  readonly acknowledged: State = new Map()
  pending: State = new Map()
  increments = { acknowledged: 0, pending: 0 }
  writes = 0
  #serial = 0

  constructor(name: string) {
    this.name = name
  }

  /** The error that ended it. */
  fault: unknown

  /** Writes until the engine is gone or refuses writes. */
  async run({ client, db }: TestEngine) {
    for (;;) {
      try {
        await client.withSession((session) => this.#write(db, session))
      } catch (fault) {
        this.fault = fault
        return
      }
      this.writes++
      for (const [key, document] of this.pending) this.acknowledged.set(key, document)
      this.pending = new Map()
      this.increments = { acknowledged: this.increments.acknowledged + this.increments.pending, pending: 0 }
    }
  }

  #write(db: Db, session: ClientSession): Promise<unknown> {
    const mine = [...this.acknowledged].flatMap(
      ([key, document]) => (key.startsWith('docs/') && document) || [],
    )
    const target = mine[Math.floor(Math.random() * mine.length)] as (Document & Id) | undefined
    const kind = Math.floor(Math.random() * 7)
    if (!target || kind < 2) return this.#insert(db)
    if (kind === 2) return this.#update(db, target)
    if (kind === 3) return this.#delete(db, target)
    if (kind === 4) return this.#findAndModify(db, target)
    if (kind === 5) return this.#count(db)
    return this.#transaction(db, session, target)
  }

  #next(): Document & Id {
    const serial = ++this.#serial
    const _id = `${this.name}-${serial}`
    const text = serial % 5 ? `Text ${serial}` : 'x'.repeat(2500) + serial
    return { _id, writer: this.name, at: serial, key: _id, tags: [serial % 3, serial % 4], text, total: 0 }
  }

  #insert(db: Db) {
    const document = this.#next()
    this.pending.set(`docs/${document._id}`, document)
    return db.collection<Id>('docs').insertOne({ ...document })
  }

  #update(db: Db, { _id, ...rest }: Document & Id) {
    const change = { at: ++this.#serial, tags: [this.#serial % 5], key: `${this.name}-${this.#serial}` }
    this.pending.set(`docs/${_id}`, { _id, ...rest, ...change })
    return db.collection<Id>('docs').updateOne({ _id }, { $set: change })
  }

  #delete(db: Db, { _id }: Document & Id) {
    this.pending.set(`docs/${_id}`, null)
    return db.collection<Id>('docs').deleteOne({ _id })
  }

  #findAndModify(db: Db, { _id, ...rest }: Document & Id) {
    const tags = [...rest.tags, 'more']
    this.pending.set(`docs/${_id}`, { _id, ...rest, tags })
    return db
      .collection<Id & { tags: unknown[] }>('docs')
      .findOneAndUpdate({ _id }, { $push: { tags: 'more' } })
  }

  /** All writers increment one document, so the engine groups and orders their writes. */
  #count(db: Db) {
    this.increments.pending = 1
    return db.collection<Id>('counter').updateOne({ _id: 'all' }, { $inc: { n: 1 } }, { upsert: true })
  }

  /** Writes an entry and the total of the entries, in two collections. */
  async #transaction(db: Db, session: ClientSession, { _id, ...rest }: Document & Id) {
    const entry = { _id: `${this.name}-${++this.#serial}`, of: _id }
    session.startTransaction()
    await db.collection<Id>('entries').insertOne({ ...entry }, { session })
    await db.collection<Id>('docs').updateOne({ _id }, { $inc: { total: 1 } }, { session })
    this.pending.set(`entries/${entry._id}`, entry)
    this.pending.set(`docs/${_id}`, { _id, ...rest, total: rest.total + 1 })
    await session.commitTransaction()
  }

  /**
   * Checks that the database contains all acknowledged writes, and the pending one entirely or not at all.
   */
  verify(state: State) {
    const without = [...this.acknowledged].filter(([, document]) => document)
    const withIt = [...new Map([...this.acknowledged, ...this.pending])].filter(([, document]) => document)
    const took = [...this.pending].some(([key, document]) =>
      isDeepStrictEqual(state.get(key) ?? null, document),
    )
    const expected = new Map(took ? withIt : without)
    for (const [key, document] of expected) assert.deepEqual(state.get(key), document, `${key} after kill -9`)
    assert.deepEqual([...state.keys()].sort(), [...expected.keys()].sort())
    if (took) for (const [key, document] of this.pending) this.acknowledged.set(key, document)
    this.pending = new Map()
  }
}

describe('kill -9', function () {
  this.timeout(60_000)
  let engine: TestEngine
  const newWriters = Array.from({ length: writers }, (_, n) => new Writer(`w${n}`))

  before(async () => {
    engine = await startEngine()
    await engine.db.collection('docs').createIndexes(indexes)
  })
  after(() => engine.stop())

  async function restarted(): Promise<void> {
    await engine.restart()
    const documents = await everything(engine.db)
    for (const writer of newWriters) writer.verify(documents.get(writer.name) ?? new Map())
    await verifyCounter(engine.db, newWriters)
    await verifyIndexes(engine.db)
  }

  for (let round = 1; round <= rounds; round++) {
    it(`loses no acknowledged write and leaves no half write: ${writers} writers, round ${round}`, async () => {
      const running = newWriters.map((writer) => writer.run(engine))
      const enough = acknowledged(newWriters) + 300 + Math.random() * 300
      while (acknowledged(newWriters) < enough) await sleep(5)
      await engine.kill()
      await Promise.all(running)
      assert.ok(
        newWriters.filter(({ pending, increments }) => pending.size + increments.pending).length >
          writers / 4,
      )
      await restarted()
    })
  }

  for (let round = 1; round <= fullRounds; round++) {
    it(`loses no acknowledged write on a full disk, and reports the others as failed: ${writers} writers, round ${round}`, async function () {
      const { size } = await stat(join(engine.dataDir, 'data.mdb'))
      try {
        // The file size limit has the effect of a full disk: the engine's files can grow no further.
        execFileSync('prlimit', ['--pid', String(engine.pid), `--fsize=${size + ROOM}:`], { stdio: 'ignore' })
      } catch {
        return this.skip()
      }
      // The engine ends by itself: lmdb cannot be used after a commit that failed.
      await Promise.all(newWriters.map((writer) => writer.run(engine)))
      for (const { fault } of newWriters) assert.ok(fault instanceof MongoError, String(fault))
      assert.equal(await engine.exited(), 3)
      await restarted()
    })
  }

  it('leaves a unique index that still refuses duplicates', async () => {
    const docs = engine.db.collection<Id>('docs')
    const [document] = await docs.find().limit(1).toArray()
    assert.ok(document)
    const { _id, ...rest } = document
    await assert.rejects(docs.insertOne({ _id: 'second', ...rest }), { code: 11000 })
  })
})

const acknowledged = (counted: Writer[]) => counted.reduce((sum, { writes }) => sum + writes, 0)

/** All documents, by the writer that wrote them. */
async function everything(db: Db): Promise<Map<string, State>> {
  const states = new Map<string, State>()
  for (const name of ['docs', 'entries']) {
    const documents = await db.collection<Id>(name).find().hint({ $natural: 1 }).toArray()
    assert.equal(await db.collection(name).estimatedDocumentCount(), documents.length, `count of ${name}`)
    for (const document of documents) {
      const writer = document._id.split('-')[0] ?? ''
      const state = states.get(writer) ?? new Map()
      states.set(writer, state.set(`${name}/${document._id}`, document))
    }
  }
  return states
}

async function verifyCounter(db: Db, counted: Writer[]) {
  const { n } = ((await db.collection<Id>('counter').findOne({ _id: 'all' })) ?? { n: 0 }) as { n: number }
  const least = counted.reduce((sum, { increments }) => sum + increments.acknowledged, 0)
  const most = least + counted.reduce((sum, { increments }) => sum + increments.pending, 0)
  assert.ok(least <= n && n <= most, `the counter says ${n}, it was incremented ${least} to ${most} times`)
  for (const { increments } of counted) increments.pending = 0
  const [first] = counted
  if (first) first.increments.acknowledged += n - least
}

async function verifyIndexes(db: Db) {
  const docs = db.collection('docs')
  const ids = async (hint: string | { $natural: 1 }) => {
    const indexedDocs = await docs.find({}, { projection: { _id: 1 }, hint }).toArray()
    return indexedDocs.map(({ _id }) => String(_id)).sort()
  }
  const natural = await ids({ $natural: 1 })
  for (const { name } of indexes) assert.deepEqual(await ids(name), natural, `the index ${name}`)
}
