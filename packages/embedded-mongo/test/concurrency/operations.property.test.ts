import assert from 'node:assert/strict'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { type ClientSession, type Collection, type Document, MongoServerError } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

const seed = Number(process.env.SEED ?? 20240229)
const runs = process.env.TEST_SIZE ? 40 : 2
const size = 2000

const indexes: Record<string, [key: Record<string, 1 | -1>, options?: Document]> = {
  k: [{ k: 1 }],
  tags: [{ tags: 1, k: -1 }],
  unique: [{ u: 1 }, { unique: true }],
  sparse: [{ s: 1 }, { sparse: true, unique: true }],
  partial: [{ k: 1, u: 1 }, { partialFilterExpression: { k: { $gt: 5 } } }],
  elements: [{ 'e.f': 1, k: 1 }],
}

const small = fc.integer({ min: 0, max: 12 })
const id = fc.integer({ min: 0, max: size + 40 })
const tags = fc.oneof(fc.subarray(['a', 'b', 'c', 'd']), fc.constantFrom<unknown>('a', null))
const elements = fc.oneof(
  fc.array(
    small.map((f) => ({ f })),
    { maxLength: 3 },
  ),
  fc.constant({ f: 1 }),
)
const unique = fc.integer({ min: 0, max: size + 40 })
const fields = fc.record({ k: small, tags, u: unique, s: unique, e: elements }, { requiredKeys: [] })

type Run = (things: Collection<Thing>, inside: { session?: ClientSession }) => Promise<unknown>
interface Thing extends Document {
  _id: number
}
interface Operation {
  name: string
  run: Run
  isTransaction?: true
}

const insert = fc.tuple(id, unique, fields).map(
  ([_id, u, rest]): Operation => ({
    name: `insert ${_id} ${JSON.stringify({ u, ...rest })}`,
    run: (things, inside) => things.insertOne({ _id, u, ...rest }, inside),
  }),
)
const update = fc.tuple(id, fields).map(
  ([_id, change]): Operation => ({
    name: `update ${_id} ${JSON.stringify(change)}`,
    run: (things, inside) => things.updateOne({ _id }, { $set: { n: 1, ...change } }, inside),
  }),
)
const updateMany = fc.tuple(small, small).map(
  ([k, by]): Operation => ({
    name: `updateMany ${k} by ${by}`,
    run: (things, inside) => things.updateMany({ k }, { $set: { k: by } }, inside),
  }),
)
const remove = id.map(
  (_id): Operation => ({
    name: `delete ${_id}`,
    run: (things, inside) => things.deleteOne({ _id }, inside),
  }),
)
const swap = fc.tuple(id, id).map(
  ([a, b]): Operation => ({
    name: `swap ${a} ${b}`,
    run: async (things, inside) => {
      const one = await things.findOneAndDelete({ _id: a }, inside)
      if (one) await things.updateOne({ _id: b }, { $set: { u: one.u } }, inside)
    },
  }),
)
const find = fc.constantFrom('k', 'u', 'tags', 'e.f').chain((field) =>
  fc.tuple(small, fc.constantFrom(1, 50, 101)).map(
    ([value, batchSize]): Operation => ({
      name: `find ${field} ${value}`,
      run: async (things, inside) => {
        const wanted = field === 'tags' ? 'abcd'[value % 4] : value
        const matches = await things
          .find({ [field]: wanted }, { ...inside, batchSize })
          .limit(200)
          .toArray()
        const [root = '', part] = field.split('.')
        for (const one of matches) {
          const values = [one[root]].flat().map((inner) => (part ? inner?.[part] : inner))
          assert.ok(values.includes(wanted), `${JSON.stringify(one)} does not have ${field}: ${wanted}`)
        }
      },
    }),
  ),
)
const count = small.map(
  (k): Operation => ({
    name: `count ${k}`,
    run: (things, inside) => things.countDocuments({ k }, inside),
  }),
)
/** In a snapshot, every plan finds the same. */
const compare = fc.tuple(fc.constantFrom('k', 'u', 's', 'tags', 'e.f'), small).map(
  ([field, value]): Operation => ({
    name: `compare plans for ${field} ${value}`,
    run: async (things, inside) => {
      const filter = { [field]: { $gte: field === 'tags' ? 'abcd'[value % 4] : value } }
      const matches = await things.find(filter, { ...inside, limit: 300, sort: { _id: 1 } }).toArray()
      const scanned = await things
        .find(filter, { ...inside, limit: 300, sort: { _id: 1 }, hint: { $natural: 1 } })
        .toArray()
      assert.deepEqual(matches, scanned)
      const n = await things.countDocuments(filter, inside)
      assert.equal(n, await things.countDocuments(filter, { ...inside, hint: { $natural: 1 } }))
    },
  }),
)
const write = fc.oneof(insert, update, remove, swap, { weight: 1, arbitrary: updateMany })
const operation = fc.oneof({ weight: 4, arbitrary: write }, find, count)

/** Milliseconds that a transaction waits before it goes on. */
const pause = fc.constantFrom(0, 0, 20, 100)

const transaction = fc
  .tuple(
    pause,
    fc.array(fc.oneof({ weight: 4, arbitrary: operation }, { weight: 1, arbitrary: compare }), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.boolean(),
  )
  .map(
    ([waitMs, operations, commits]): Operation => ({
      name: `transaction, ${commits ? 'committed' : 'aborted'}: ${operations.map(({ name }) => name).join('; ')}`,
      isTransaction: true,
      run: async (things, inside) => {
        const { session } = inside
        session?.startTransaction()
        for (const { run } of operations) await run(things, inside)
        await sleep(waitMs)
        if (commits) await session?.commitTransaction()
        else await session?.abortTransaction()
      },
    }),
  )

const definition = fc.constantFrom(...Object.keys(indexes)).chain((name) =>
  fc.constantFrom<Operation>(
    {
      name: `createIndex ${name}`,
      run: (things) => things.createIndex(indexes[name]?.[0] ?? {}, { name, ...indexes[name]?.[1] }),
    },
    { name: `dropIndex ${name}`, run: (things) => things.dropIndex(name) },
  ),
)

const client = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: operation },
    { weight: 3, arbitrary: transaction },
    { weight: 1, arbitrary: definition },
  ),
  { minLength: 5, maxLength: 25 },
)

/** Builds the unique index again and again: its keys are those that transactions claim. */
const builder: Operation[] = Array.from({ length: 12 }, (_, i) => ({
  name: 'build',
  run: (things) =>
    i % 2 ? things.createIndex({ u: 1 }, { name: 'unique', unique: true }) : things.dropIndex('unique'),
}))

/** What concurrent operations may run into. */
const EXPECTED_CODES = [24, 26, 27, 112, 171, 175, 246, 251, 276, 11000]

describe(`concurrent operations (SEED=${seed})`, function suite() {
  this.timeout(600_000)
  const engine = engineOfBlock()

  /** Opens a copy of the data file: the engine then compares all indexes and counts with the documents. */
  const reopenCopy = async () => {
    await engine.kill()
    const file = join(engine.dataDir, 'data.mdb')
    await copyFile(file, `${file}.copy`)
    await rename(`${file}.copy`, file)
    await engine.restart()
  }

  it('leave indexes and counts that match the documents', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(client, { minLength: 3, maxLength: 6 }), async (clients) => {
        await engine.db.dropDatabase()
        const things = engine.db.collection<Thing>('things')
        const document = (_: unknown, i: number) => ({
          _id: i,
          u: i,
          k: i % 13,
          tags: ['a', 'b', 'c'].slice(i % 3),
          e: [{ f: i % 7 }],
        })
        await things.insertMany(Array.from({ length: size }, document))
        await things.createIndex({ u: 1 }, { name: 'unique', unique: true })
        await Promise.all(
          [builder, ...clients].map(async (operations) => {
            for (const { name, run, isTransaction } of operations)
              await (isTransaction
                ? engine.client.withSession((session) => run(things, { session }))
                : run(things, {})
              ).catch((error: unknown) => {
                if (!(error instanceof MongoServerError) || !EXPECTED_CODES.includes(Number(error.code)))
                  throw new Error(`${name}: ${error}`, { cause: error })
              })
          }),
        )
        await reopenCopy()
      }),
      { seed, numRuns: runs, endOnFailure: true },
    )
  })
})
