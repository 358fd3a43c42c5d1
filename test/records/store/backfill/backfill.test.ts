import assert from 'node:assert/strict'
import { startEngine, type TestEngine } from '@health-record-service/embedded-mongo/testing'
import type { Collection, Db } from 'mongodb'
import { Backfill, type BackfillProgress } from '../../../../records/store/backfill/backfill.ts'
import {
  createFieldDerivation,
  type Derivation,
  type DerivationContext,
} from '../../../../records/store/backfill/derivation.ts'
import { guardPendingReads } from '../../../../records/store/backfill/pending-reads.ts'
import { checkReads } from '../../../../records/store/reading/read-checks.ts'
import { waitUntil } from '../../../harness/wait.ts'

interface DerivedDocument {
  _id: string
  version: number
  value: number
  double?: number
  half?: number
  _rperm: string[]
  _created_at: Date
}

const DOCUMENT_COUNT = 95

/**
 * This version derives the double of a value. An earlier version derived its half, which is to be removed.
 */
const createDerivation = (
  version: number,
  derive = async ({ value }: Partial<DerivedDocument>) => ({ double: Number(value) * 2 }),
): Derivation =>
  createFieldDerivation({
    collection: 'Doubled',
    version,
    fields: ['double', 'half'],
    batchSize: 10,
    areShown: true,
    derive: (_, document) => derive(document as unknown as DerivedDocument),
  })

describe('a backfill', () => {
  let engine: TestEngine
  let db: Db
  let documents: Collection<DerivedDocument>
  let databases = 0

  before(async () => {
    engine = await startEngine()
  })
  after(() => engine.stop())
  beforeEach(async () => {
    db = engine.client.db(`backfill${++databases}`)
    documents = db.collection<DerivedDocument>('Doubled')
    const id = (n: number) => `id${String(n).padStart(3, '0')}`
    await documents.insertMany(
      Array.from({ length: DOCUMENT_COUNT }, (_, n) => ({
        _id: id(n),
        version: 1,
        value: n,
        half: n / 2,
        _rperm: [],
        _created_at: new Date(),
      })),
    )
  })

  /** Opens the backfill as a starting instance does. */
  async function opened(one: Derivation): Promise<Backfill> {
    const backfill = new Backfill({ client: engine.client, db }, [one])
    await backfill.open({ db } as DerivationContext)
    return backfill
  }

  /** Runs the backfill to its end. */
  async function finished(backfill: Backfill): Promise<BackfillProgress[]> {
    const reports: BackfillProgress[] = []
    const loop = backfill.start((progress) => reports.push(progress), assert.ifError)
    await waitUntil(() => backfill.isDone)
    await loop.stop()
    return reports
  }

  const plain = () => engine.client.db(db.databaseName).collection<DerivedDocument>('Doubled')

  it("derives the fields of every document again and leaves the record's version unchanged", async () => {
    const [progress] = (await finished(await opened(createDerivation(1)))).slice(-1)
    assert.deepEqual(progress, {
      collection: 'Doubled',
      done: DOCUMENT_COUNT,
      estimatedTotal: DOCUMENT_COUNT,
      failed: 0,
    })
    for await (const { value, double, version, ...rest } of plain().find()) {
      assert.deepEqual([double, version], [value * 2, 1])
      assert.equal('half' in rest, false)
    }
  })

  it('has nothing to do at the next start of the same version', async () => {
    await finished(await opened(createDerivation(1)))
    assert.equal((await opened(createDerivation(1))).isDone, true)
    assert.ok((await opened(createDerivation(2))).pendingIn('Doubled'))
  })

  it('has nothing to do in an empty collection', async () => {
    await documents.deleteMany({})
    assert.equal((await opened(createDerivation(3))).isDone, true)
    await plain().insertOne({ _id: 'new', version: 1, value: 1, _rperm: [], _created_at: new Date() })
    assert.equal((await opened(createDerivation(3))).isDone, true)
  })

  it('refuses data that a newer version has derived or has started to derive', async () => {
    await finished(await opened(createDerivation(2)))
    await assert.rejects(opened(createDerivation(1)), /newer version/)
  })

  it('resumes after its last batch when it was stopped', async () => {
    const backfill = await opened(createDerivation(1))
    const seenValues: unknown[] = []
    const createStoppingDerivation = (stopAfter: number) =>
      createDerivation(1, async ({ value }) => {
        seenValues.push(value)
        if (seenValues.length === stopAfter) void ending.stop()
        return { double: Number(value) * 2 }
      })
    assert.equal(backfill.isDone, false)
    const firstRun = await opened(createStoppingDerivation(35))
    const ending = firstRun.start(() => {}, assert.ifError)
    await waitUntil(() => seenValues.length >= 35)
    await ending.stop()
    assert.equal(firstRun.isDone, false)
    const doneBefore = seenValues.length
    await finished(await opened(createStoppingDerivation(-1)))
    assert.equal(new Set(seenValues).size, DOCUMENT_COUNT)
    assert.ok(seenValues.length <= DOCUMENT_COUNT + 10, `${seenValues.length} after ${doneBefore}`)
    assert.equal(await plain().countDocuments({ double: { $exists: true } }), DOCUMENT_COUNT)
  })

  it('keeps a concurrent write to a document, and derives the fields of its result', async () => {
    let hasWritten = false
    const meeting = createDerivation(1, async (document) => {
      const { _id, value } = document as DerivedDocument
      if (_id === 'id007' && !hasWritten) {
        hasWritten = true
        await plain().updateOne({ _id }, { $set: { value: 1000 }, $inc: { version: 1 } })
      }
      return { double: value * 2 }
    })
    await finished(await opened(meeting))
    assert.equal((await plain().findOne({ _id: 'id007' }))?.double, 2000)
  })

  it('counts a document that cannot be derived, and continues', async () => {
    const failing = createDerivation(1, async ({ value }) => {
      if (value === 7) throw new Error('not derivable')
      return { double: Number(value) * 2 }
    })
    const progress = await finished(await opened(failing))
    assert.equal(progress.at(-1)?.failed, 1)
    assert.equal(await plain().countDocuments({ double: { $exists: true } }), DOCUMENT_COUNT - 1)
  })

  it('runs on only one of two instances', async () => {
    let derived = 0
    const counting = createDerivation(1, async ({ value }) => {
      derived += 1
      return { double: Number(value) * 2 }
    })
    const instances = await Promise.all([opened(counting), opened(counting)])
    await Promise.all(instances.map(finished))
    assert.equal(derived, DOCUMENT_COUNT)
  })

  describe('while it is pending', () => {
    let backfill: Backfill

    beforeEach(async () => {
      backfill = await opened(createDerivation(1))
      checkReads(db, [guardPendingReads(backfill)])
      documents = db.collection<DerivedDocument>('Doubled')
    })

    it('returns whole documents with their derived fields', async () => {
      assert.equal((await documents.findOne({ value: 4 }))?.double, 8)
      assert.deepEqual(
        (
          await documents
            .find({ value: { $lt: 3 } })
            .sort({ value: 1 })
            .toArray()
        ).map(({ double }) => double),
        [0, 2, 4],
      )
      const [aggregated] = await documents.aggregate([{ $match: { value: 5 } }]).toArray()
      assert.equal(aggregated?.double, 10)
    })

    it('refuses queries that filter, sort, project, group or join by derived fields with 503', async () => {
      const reads: (() => Promise<unknown>)[] = [
        () => documents.findOne({ double: 8 }),
        () => documents.find({ $or: [{ value: 1 }, { 'double.x': 1 }] }).toArray(),
        () => documents.find().sort({ double: 1 }).toArray(),
        () => documents.find({}, { projection: { double: 1 } }).toArray(),
        () => documents.countDocuments({ double: { $gt: 1 } }),
        () => documents.distinct('double'),
        () => documents.aggregate([{ $group: { _id: null, sum: { $sum: '$double' } } }]).toArray(),
        () =>
          db
            .collection('Other')
            .aggregate([{ $lookup: { from: 'Doubled', as: 'all', pipeline: [] } }])
            .toArray(),
        () =>
          db
            .collection('Other')
            .aggregate([{ $unionWith: 'Doubled' }])
            .toArray(),
      ]
      for (const read of reads)
        await assert.rejects(read(), { error: 'Unavailable', retryAfter: 5 }, String(read))
      await finished(backfill)
      for (const read of reads) await read()
      assert.equal((await documents.findOne({ double: 8 }))?.value, 4)
    })
  })
})
