import assert from 'node:assert/strict'
import fc from 'fast-check'
import { BSON, type Collection, type Document, MongoServerError } from 'mongodb'
import { engineOfBlock, type TestEngine } from '../../../testing.ts'
import { documents, indexes, type Query, query, type Write, write } from './arbitraries.ts'

const { EJSON } = BSON
const seed = Number(process.env.SEED ?? 20240229)
const runs = process.env.TEST_SIZE ? 50 : 2
const queriesPerRound = 50
const exact = { promoteValues: false } as const

/** Two collections with the same documents: one with every index, one with `_id` only. */
interface Pair {
  indexed: Collection
  bare: Collection
}

describe(`query plans (SEED=${seed})`, () => {
  const engine = engineOfBlock()

  it(`answer ${runs * 2 * queriesPerRound} random queries as a full scan does, between random writes`, async function () {
    this.timeout(240_000)
    let run = 0
    const queries = fc.array(query, { minLength: queriesPerRound, maxLength: queriesPerRound })
    const rounds = fc.array(fc.record({ writes: fc.array(write, { maxLength: 10 }), queries }), {
      minLength: 2,
      maxLength: 2,
    })
    const property = fc.asyncProperty(
      documents,
      rounds,
      fc.nat(indexes.length),
      async (docs, plan, lateDocs) => {
        const pair = await fill(engine, `run${++run}`, docs, lateDocs)
        for (const round of plan) {
          for (const change of round.writes) await apply(pair, change)
          await holdsTheSame(pair)
          await Promise.all(round.queries.map((each) => compare(pair, each)))
        }
        await pair.indexed.drop()
        await pair.bare.drop()
      },
    )
    // No shrinking: the message of the first difference already names one query and its documents.
    const outcome = await fc.check(property, { seed, numRuns: runs, endOnFailure: true })
    if (outcome.failed) throw outcome.errorInstance
  })
})

/** Creates some indexes before the documents, and builds the others over them. */
async function fill(engine: TestEngine, name: string, docs: Document[], lateDocs: number): Promise<Pair> {
  const indexed = engine.db.collection(`${name}_indexed`)
  const bare = engine.db.collection(`${name}_bare`)
  const pair = { indexed, bare }
  await indexed.createIndexes([indexes[0]!, ...indexes.slice(lateDocs + 1)])
  for (const [_id, { u, ...rest }] of docs.entries()) {
    await Promise.all([
      indexed.insertOne({ _id, ...rest } as Document),
      bare.insertOne({ _id, ...rest } as Document),
    ])
    if (u !== undefined) await setUnique(pair, _id, u)
  }
  if (lateDocs > 0) await indexed.createIndexes(indexes.slice(1, lateDocs + 1))
  return pair
}

async function apply(pair: Pair, change: Write) {
  if (change.kind === 'setUnique') return setUnique(pair, change.id, change.u)
  const answers = []
  for (const collection of [pair.indexed, pair.bare]) {
    if (change.kind === 'updateMany') {
      const result = await collection.updateMany(change.filter, change.update)
      answers.push([result.matchedCount, result.modifiedCount])
    } else if (change.kind === 'deleteMany') {
      const deletion = await collection.deleteMany({
        $and: [change.filter, { _id: { $mod: [5, 0] } }],
      } as Document)
      answers.push(deletion.deletedCount)
    } else {
      const findFirst = { sort: { _id: 1 }, returnDocument: 'after', ...exact } as const
      answers.push(text(await collection.findOneAndReplace(change.filter, change.document, findFirst)))
    }
  }
  assert.deepEqual(answers[0], answers[1], `${text(change)}: [indexed, bare]`)
}

/** Sets `u`. The unique index must refuse exactly the values that another document has. */
async function setUnique({ indexed, bare }: Pair, id: number, u: unknown) {
  const _id = id as never
  if (!(await bare.findOne({ _id }))) return
  const duplicateCount = await bare.countDocuments({ u, _id: { $ne: _id } } as Document)
  const isRefused = await indexed.updateOne({ _id }, { $set: { u } }).then(
    () => false,
    (error: unknown) => {
      if (error instanceof MongoServerError && error.code === 11000) return true
      throw error
    },
  )
  assert.equal(isRefused, duplicateCount > 0, `unique index and ${text({ u })}`)
  if (!isRefused) await bare.updateOne({ _id }, { $set: { u } })
}

/** Checks that both contain the same documents in the same order, and each index exactly its documents. */
async function holdsTheSame({ indexed, bare }: Pair) {
  const documents = await bare.find({}, exact).toArray()
  assert.equal(text(await indexed.find({}, exact).hint({ $natural: 1 }).toArray()), text(documents))
  for (const { name, sparse, key, partialFilterExpression } of indexes) {
    const filter = sparse ? { [Object.keys(key)[0]!]: { $exists: true } } : (partialFilterExpression ?? {})
    const [expected, indexedDocuments] = await Promise.all([
      bare.find(filter, exact).toArray(),
      indexed.find(filter, exact).hint(name).toArray(),
    ])
    assert.deepEqual(lines(indexedDocuments), lines(expected), `the index ${name} against the documents`)
  }
  assert.equal(await indexed.estimatedDocumentCount(), documents.length)
}

async function compare({ indexed, bare }: Pair, query: Query) {
  const expected = await answer(bare, query)
  for (const hint of [undefined, { $natural: 1 } as const, ...hints(query)]) {
    if (hint && query.kind === 'distinct') continue
    const indexedAnswer = await answer(indexed, query, hint)
    if (text(indexedAnswer) === text(expected)) continue
    const position = expected.findIndex((line, place) => line !== indexedAnswer[place])
    assert.fail(
      `SEED=${seed} ${text(query)}\n with hint ${text(hint ?? 'none')}:\n` +
        ` missing: ${shorten(difference(expected, indexedAnswer))}\n not expected: ${shorten(difference(indexedAnswer, expected))}\n` +
        ` from place ${position} of ${expected.length}:\n ${shorten(indexedAnswer.slice(position))}\n instead of\n ${shorten(expected.slice(position))}`,
    )
  }
}

/** The indexes that begin with a field of the query and contain every document that may match it. */
function hints({ filter, sort }: Query): string[] {
  const fieldNames = new Set([...Object.keys(filter), ...Object.keys(sort ?? {})])
  const above = (filter.b as Document | undefined)?.$gt
  return indexes
    .filter(({ key }) => fieldNames.has(Object.keys(key)[0]!))
    .filter(({ sparse, key }) => !sparse || demandsValue(filter[Object.keys(key)[0]!]))
    .filter(
      ({ partialFilterExpression }) => !partialFilterExpression || (typeof above === 'number' && above >= 1),
    )
    .map(({ name }) => name)
}

function demandsValue(condition: unknown): boolean {
  const { $exists, $gt, $eq } = (condition ?? {}) as Document
  return $exists === true || typeof ($gt ?? $eq) === 'string' || typeof ($gt ?? $eq) === 'number'
}

/** The answer in a form that is equal for all plans; all plans refuse a sort by two arrays. */
async function answer(...query: Parameters<typeof found>): Promise<string[]> {
  return found(...query).catch((error) => {
    if (!/parallel arrays/.test(String(error))) throw error
    return ['refused']
  })
}

async function found(collection: Collection, query: Query, hint?: string | Document): Promise<string[]> {
  const { kind, filter, path, sort, skip, limit, projection, collation } = query
  const options = { ...exact, ...(collation && { collation }), ...(hint !== undefined && { hint }) }
  if (kind === 'count') return [text(await collection.countDocuments(filter, options))]
  if (kind === 'distinct') return lines(alike(await collection.distinct(path, filter, options))).sort()
  if (kind === 'find') {
    const page = sort ? { sort, skip, limit } : {}
    const cursor = collection.find(filter, { ...options, ...page })
    if (projection && (!sort || '_id' in sort)) cursor.project(projection)
    return ordered((await cursor.toArray()).map(inFieldOrder), sort)
  }
  if (kind === 'sorted') {
    const stages = [
      { $match: filter },
      { $sort: sort ?? { _id: 1 } },
      { $skip: skip },
      { $limit: limit || 1000 },
    ]
    return ordered(await collection.aggregate(stages, options).toArray(), sort ?? { _id: 1 })
  }
  const group = { _id: `$${path}`, n: { $sum: 1 }, first: { $min: '$_id' }, last: { $max: '$d' } }
  return lines(alike(await collection.aggregate([{ $match: filter }, { $group: group }], options).toArray()))
}

/**
 * Under a total order the results as they are, under another order only the sort values, without an order
 * sorted.
 */
function ordered(documents: Document[], sort: Query['sort']): string[] {
  if (!sort) return lines(documents)
  if ('_id' in sort) return documents.map(text)
  const valueAt = (document: Document, path: string) =>
    path.split('.').reduce((value, part) => value?.[part], document)
  return documents.map((document) =>
    text(alike(Object.keys(sort).map((path) => valueAt(document, path) ?? null))),
  )
}

/** A covered query returns fields in the order of the index. */
const inFieldOrder = (document: Document): Document =>
  Object.fromEntries(Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1)))

const text = (value: unknown) =>
  value === undefined ? 'undefined' : EJSON.stringify(value, { relaxed: false })
const lines = (documents: Document[]) => documents.map(text).sort()
const difference = (these: string[], those: string[]) => these.filter((line) => !those.includes(line))
const shorten = (texts: string[]) =>
  texts
    .slice(0, 5)
    .join('\n  ')
    .replaceAll(/p{100,}/g, 'p…')
    .slice(0, 3000)

/**
 * Of equal numbers of different types, and of strings equal under a collation, plans may return any: make
 * them identical.
 */
function alike<T>(value: T): T {
  if (Array.isArray(value)) return value.map(alike) as T
  // Collations ignore control characters.
  if (typeof value === 'string') return value.toLowerCase().replaceAll('\0', '') as T
  if (typeof value !== 'object' || value === null) return value
  const { _bsontype: type } = value as { _bsontype?: string }
  if (type === 'Int32' || type === 'Double' || type === 'Long' || type === 'Decimal128') {
    const number = String(value)
    return (number.includes('E+') ? number : Number(number) + 0) as T
  }
  if (type || value instanceof Date || value instanceof Uint8Array) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, alike(item)])) as T
}
