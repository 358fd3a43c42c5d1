import assert from 'node:assert/strict'
import { Decimal128, type Document, Double, Long, MaxKey, MinKey, ObjectId, UUID } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

/**
 * MongoDB's answers, written by hand from its manual: an oracle that shares no code with the engine's
 * matcher. Each row: the title, the filter, and the `_id`s of the matching documents in ascending order.
 */
type Row = [title: string, filter: Document, ids: string]
interface Table {
  documents: Document[]
  rows: Row[]
}

const day = (n: number) => new Date(Date.UTC(2024, 0, n))
const decimal = Decimal128.fromString

const tables: Record<string, Table> = {
  'null, missing and arrays': {
    documents: [
      { _id: 'a', v: null },
      { _id: 'b' },
      { _id: 'c', v: 1 },
      { _id: 'd', v: [] },
      { _id: 'e', v: [null] },
      { _id: 'f', v: [1, 2] },
      { _id: 'g', v: [[1, 2]] },
      { _id: 'h', v: { w: 1 } },
      { _id: 'i', v: { w: null } },
      { _id: 'j', v: [{ w: 1 }, { w: 3 }] },
      { _id: 'k', v: [{ w: 2 }, {}] },
      { _id: 'l', v: [] as unknown[], z: 1 },
    ],
    rows: [
      ['null equality: null, missing, an array with null', { v: null }, 'abe'],
      ['not null', { v: { $ne: null } }, 'cdfghijkl'],
      ['in with null', { v: { $in: [null, 1] } }, 'abcef'],
      ['not in with null', { v: { $nin: [null, 1] } }, 'dghijkl'],
      ['>= null is null and missing', { v: { $gte: null } }, 'abe'],
      ['> null is nothing', { v: { $gt: null } }, ''],
      ['exists counts null', { v: { $exists: true } }, 'acdefghijkl'],
      ['does not exist', { v: { $exists: false } }, 'b'],
      ['type null is not missing', { v: { $type: 'null' } }, 'ae'],
      ['an element equals', { v: 1 }, 'cf'],
      ['the whole array equals, or an element does', { v: [1, 2] }, 'fg'],
      ['an empty array', { v: [] }, 'dl'],
      ['size', { v: { $size: 1 } }, 'eg'],
      ['size 0', { v: { $size: 0 } }, 'dl'],
      ['nested null reaches scalars, but no array without objects', { 'v.w': null }, 'abcik'],
      ['nested equality through an array', { 'v.w': 1 }, 'hj'],
      ['two bounds may be met by two elements', { 'v.w': { $gt: 2, $lt: 2 } }, 'j'],
      ['elemMatch: by one element', { v: { $elemMatch: { w: { $gt: 2, $lt: 2 } } } }, ''],
      ['elemMatch with operators on scalars', { v: { $elemMatch: { $gte: 2 } } }, 'f'],
      ['elemMatch never matches a scalar', { v: { $elemMatch: { $eq: 1 } } }, 'f'],
      ['not negates missing too', { v: { $not: { $gte: 1 } } }, 'abdeghijkl'],
      ['ne on an array: no element', { v: { $ne: 1 } }, 'abdeghijkl'],
      ['all', { v: { $all: [1, 2] } }, 'f'],
      ['all with one value matches a scalar', { v: { $all: [1] } }, 'cf'],
      ['all of nothing matches nothing', { v: { $all: [] } }, ''],
      ['all with elemMatch', { v: { $all: [{ $elemMatch: { w: 1 } }, { $elemMatch: { w: 3 } }] } }, 'j'],
      ['positions', { 'v.0': 1, 'v.1': 2 }, 'f'],
      ['a position with a field', { 'v.1.w': 3 }, 'j'],
      ['an array compares through its elements', { v: { $gt: 1 } }, 'f'],
      ['type of elements', { v: { $type: 'int' } }, 'cf'],
      ['type array is the array itself', { v: { $type: 'array' } }, 'defgjkl'],
    ],
  },
  'numbers of every type': {
    documents: [
      { _id: 'a', v: 2 },
      { _id: 'b', v: new Double(2) },
      { _id: 'c', v: Long.fromNumber(2) },
      { _id: 'd', v: decimal('2.0') },
      { _id: 'e', v: new Double(2.5) },
      { _id: 'f', v: new Double(Number.NaN) },
      { _id: 'g', v: new Double(-Infinity) },
      { _id: 'h', v: Long.fromString('9007199254740993') },
      { _id: 'i', v: 2 ** 53 },
      { _id: 'j', v: '2' },
      { _id: 'k', v: true },
      { _id: 'l', v: decimal('0.1') },
      { _id: 'm', v: 0.1 },
    ],
    rows: [
      ['equality crosses types', { v: 2 }, 'abcd'],
      ['by Long', { v: Long.fromNumber(2) }, 'abcd'],
      ['by Decimal128', { v: decimal('2') }, 'abcd'],
      ['in crosses types', { v: { $in: [decimal('2.5'), Long.fromNumber(2)] } }, 'abcde'],
      ['ranges cross types', { v: { $gte: Long.fromNumber(2), $lt: decimal('3') } }, 'abcde'],
      ['a Long beyond 2^53 is exact', { v: { $gt: 2 ** 53 } }, 'h'],
      ['and equality with it', { v: Long.fromString('9007199254740993') }, 'h'],
      ['NaN equals NaN', { v: Number.NaN }, 'f'],
      ['NaN is in no range', { v: { $lt: 2 } }, 'glm'],
      ['but >= NaN finds it', { v: { $gte: Number.NaN } }, 'f'],
      ['0.1 as a decimal is not 0.1 as a double', { v: decimal('0.1') }, 'l'],
      ['type by alias', { v: { $type: 'long' } }, 'ch'],
      ['type number', { v: { $type: 'number' } }, 'abcdefghilm'],
      ['type by several', { v: { $type: ['string', 8] } }, 'jk'],
      ['mod', { v: { $mod: [2, 0] } }, 'abcdeilm'],
    ],
  },
  'type bracketing: a range stays within its type': {
    documents: [
      { _id: 'a', v: 5 },
      { _id: 'b', v: '5' },
      { _id: 'c', v: day(5) },
      { _id: 'd', v: true },
      { _id: 'e', v: { x: 5 } },
      { _id: 'f', v: [5, 'z'] },
      { _id: 'g', v: new ObjectId('65937e000000000000000000') },
      { _id: 'h', v: null },
      { _id: 'i', v: '' },
      { _id: 'j', v: day(6) },
      { _id: 'k', v: new UUID('00000000-0000-4000-8000-000000000000') },
      { _id: 'l', v: new MinKey() },
      { _id: 'm', v: new MaxKey() },
    ],
    rows: [
      ['numbers', { v: { $gt: 1 } }, 'af'],
      ['strings', { v: { $gte: '' } }, 'bfi'],
      ['dates', { v: { $gt: day(5) } }, 'j'],
      ['dates, inclusive', { v: { $gte: day(5), $lte: day(6) } }, 'cj'],
      ['a date is not a number', { v: { $lt: 1e15 } }, 'af'],
      ['booleans', { v: { $lte: true } }, 'd'],
      ['objects compare by type, key, value', { v: { $gt: { x: 4 } } }, 'e'],
      ['object ids', { v: { $lt: new ObjectId('ffffffffffffffffffffffff') } }, 'g'],
      ['a uuid equals', { v: new UUID('00000000-0000-4000-8000-000000000000') }, 'k'],
      ['MinKey is below everything', { v: { $gt: new MinKey() } }, 'abcdefghijkm'],
      ['MaxKey is above everything', { v: { $lt: new MaxKey() } }, 'abcdefghijkl'],
    ],
  },
  'objects, strings and expressions': {
    documents: [
      { _id: 'a', v: { x: 1, y: 2 } },
      { _id: 'b', v: { y: 2, x: 1 } },
      { _id: 'c', v: { x: 1, y: 2, z: 3 } },
      { _id: 'd', v: 'Straße 10' },
      { _id: 'e', v: 'line one\nline two' },
      { _id: 'f', v: 'A.b*c' },
      {
        _id: 'g',
        v: [
          { x: 1, y: 3 },
          { x: 2, y: 2 },
        ],
      },
      { _id: 'h', p: 3, q: 2 },
      { _id: 'i', p: 2, q: 3 },
    ],
    rows: [
      ['key order counts', { v: { x: 1, y: 2 } }, 'a'],
      ['dotted paths do not care', { 'v.x': 1, 'v.y': 2 }, 'abcg'],
      ['elemMatch of an object', { v: { $elemMatch: { x: 1, y: 2 } } }, ''],
      ['a regular expression', { v: /^line/ }, 'e'],
      ['multi-line', { v: { $regex: '^line two', $options: 'm' } }, 'e'],
      ['dot matches all', { v: { $regex: 'one.line', $options: 's' } }, 'e'],
      ['any case', { v: { $regex: 'STRASSE|straße', $options: 'i' } }, 'd'],
      ['quoted', { v: { $regex: '^\\QA.b*c\\E$' } }, 'f'],
      ['extended', { v: { $regex: 'line  # a comment\n \\s one', $options: 'x' } }, 'e'],
      ['in with a regular expression', { v: { $in: [/^A/, { x: 1, y: 2 }] } }, 'af'],
      ['not a regular expression', { v: { $not: /e/ }, _id: { $in: ['d', 'e', 'f'] } }, 'f'],
      ['expr', { $expr: { $gt: ['$p', '$q'] } }, 'h'],
      ['nor', { $nor: [{ v: { $exists: true } }, { p: 2 }] }, 'h'],
      ['or within and', { $and: [{ $or: [{ p: 3 }, { p: 2 }] }, { q: { $ne: 2 } }] }, 'i'],
    ],
  },
}

/**
 * BSON order of `v`: MinKey, missing and null, numbers, strings, objects, …; arrays by their smallest or
 * largest element.
 */
const ascending: Document[] = [
  { _id: 0, v: new MinKey() },
  { _id: 1, v: [] },
  { _id: 2, v: null },
  { _id: 3 },
  { _id: 4, v: new Double(Number.NaN) },
  { _id: 5, v: [-7, 'z'] },
  { _id: 6, v: decimal('-1.5') },
  { _id: 7, v: 2 },
  { _id: 8, v: Long.fromNumber(3) },
  { _id: 9, v: '' },
  { _id: 10, v: 'Z' },
  { _id: 11, v: 'a' },
  { _id: 12, v: { a: 1 } },
  { _id: 13, v: { a: 1, b: 1 } },
  { _id: 14, v: { b: 0 } },
  { _id: 15, v: new UUID('00000000-0000-4000-8000-000000000000') },
  { _id: 16, v: new ObjectId() },
  { _id: 17, v: false },
  { _id: 18, v: true },
  { _id: 19, v: day(1) },
  { _id: 20, v: day(2) },
  { _id: 21, v: /x/ },
  { _id: 22, v: new MaxKey() },
]

describe('semantics', () => {
  const engine = engineOfBlock()

  for (const [subject, { documents, rows }] of Object.entries(tables)) {
    describe(subject, () => {
      before(() => engine.db.collection(subject).insertMany(documents))
      for (const indexed of [false, true]) {
        describe(indexed ? 'finds with an index what matches' : 'finds with a scan what matches', () => {
          before(async () => {
            if (indexed)
              await engine.db.collection(subject).createIndexes([{ key: { v: 1 } }, { key: { 'v.w': 1 } }])
          })
          for (const [title, filter, ids] of rows) {
            it(title, async () => {
              const matches = await engine.db.collection(subject).find(filter).sort({ _id: 1 }).toArray()
              assert.equal(matches.map(({ _id }) => _id).join(''), ids)
            })
          }
        })
      }
    })
  }

  for (const indexed of [false, true]) {
    it(`sorts in BSON order ${indexed ? 'by an index' : 'in memory'}`, async () => {
      const collection = engine.db.collection<Document & { _id: number }>(`order ${indexed}`)
      if (indexed) await collection.createIndex({ v: 1, _id: 1 })
      await collection.insertMany([...ascending].reverse() as (Document & { _id: number })[])
      const up = await collection.find().sort({ v: 1, _id: 1 }).toArray()
      assert.deepEqual(
        up.map(({ _id }) => _id),
        ascending.map(({ _id }) => _id),
      )
      const down = await collection
        .find({ v: { $not: { $type: 'array' } } })
        .sort({ v: -1, _id: -1 })
        .toArray()
      assert.deepEqual(
        down.map(({ _id }) => _id),
        ascending
          .filter(({ v }) => !Array.isArray(v))
          .map(({ _id }) => _id)
          .reverse(),
      )
    })
  }

  it('ignores case under a collation of strength 2', async () => {
    const names = engine.db.collection<{ _id: number; name: string }>('names')
    await names.insertMany(['bob', 'Alice', 'BOB', 'alíce', 'Carol'].map((name, _id) => ({ _id, name })))
    const collation = { locale: 'en', strength: 2 }
    const ids = async (filter: Document) =>
      (await names.find(filter, { collation }).sort({ name: 1, _id: 1 }).toArray()).map(({ _id }) => _id)
    assert.deepEqual(await ids({ name: 'Bob' }), [0, 2])
    assert.deepEqual(await ids({ name: { $in: ['ALICE', 'carol'] } }), [1, 4])
    assert.deepEqual(await ids({ name: { $gte: 'BOB' } }), [0, 2, 4])
    assert.deepEqual(await ids({ name: { $ne: 'bob' } }), [1, 3, 4])
    assert.deepEqual(await ids({}), [1, 3, 0, 2, 4])
    assert.equal((await names.distinct('name', {}, { collation })).length, 4)
  })

  it('compares ß like ICU: equal to ss at strength 1, and a separate letter from strength 2 on', async () => {
    const streets = engine.db.collection<{ _id: number; name: string }>('streets')
    await streets.insertMany(['Maße', 'masse', 'MASSE', 'MAẞE', 'Mast'].map((name, _id) => ({ _id, name })))
    await streets.createIndex({ name: 1 }, { collation: { locale: 'de', strength: 2 }, name: 'second' })
    const equal = async (name: string, strength: number) => {
      const matches = streets.find({ name }, { collation: { locale: 'de', strength } }).sort({ _id: 1 })
      return (await matches.toArray()).map(({ _id }) => _id)
    }
    assert.deepEqual(await equal('masse', 1), [0, 1, 2, 3])
    assert.deepEqual(await equal('maße', 1), [0, 1, 2, 3])
    assert.deepEqual(await equal('masse', 2), [1, 2])
    assert.deepEqual(await equal('maße', 2), [0, 3])
    assert.deepEqual(await equal('Maße', 3), [0])
    const sorted = streets.find({}, { collation: { locale: 'de', strength: 2 } }).sort({ name: 1, _id: 1 })
    assert.deepEqual(
      (await sorted.toArray()).map(({ _id }) => _id),
      [1, 2, 0, 3, 4],
    )
  })
})
