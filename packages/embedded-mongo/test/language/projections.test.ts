import assert from 'node:assert/strict'
import { type Document, MongoServerError } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

/** A document, filter and projection, and the result of find or the code of its error. */
type Row = [document: Document, filter: Document, projection: Document, expected: Document | number]

const positional: Row[] = [
  [{ a: [1, 2, 3] }, { a: { $gt: 1 } }, { 'a.$': 1 }, { a: [2] }],
  [{ a: [1, 2, 3], b: [4, 5, 6] }, { b: { $gte: 5 } }, { 'a.$': 1 }, { a: [2] }],
  [{ a: { b: [1, 2], c: [3, 4] } }, { 'a.c': 4 }, { 'a.b.$': 1 }, { a: { b: [2] } }],
  [{ a: [1, 2, 3, 4] }, { $and: [{ a: { $gt: 1 } }, { a: { $lt: 4 } }] }, { 'a.$': 1 }, { a: [2] }],
  [{ a: [1, 2, 3] }, { a: { $all: [1, 3] } }, { 'a.$': 1 }, { a: [3] }],
  [{ a: [1, 2, 3] }, { $or: [{ a: 9 }, { a: 3 }] }, { 'a.$': 1 }, { a: [3] }],
  [{ a: [1, 2, 3], b: 1 }, { $or: [{ a: 3 }, { b: 1 }] }, { 'a.$': 1 }, 51246],
  [{ a: [1, 2, 3] }, { a: { $not: { $lt: 0 } } }, { 'a.$': 1 }, 51246],
  [{ a: [1, 2, 3] }, { 'a.0': 1 }, { 'a.$': 1 }, 51246],
  [{ a: [1, 2, 3], b: [1] }, { a: 3 }, { 'b.$': 1 }, 51247],
  [{ a: [1] }, { a: 1 }, { 'a.$': 'x' }, 31308],
  [{ a: [1] }, { a: 1 }, { 'a.$': { $slice: 1 } }, 31271],
  [{ a: [1] }, { a: 1 }, { 'a.$': 0 }, 31395],
  [{ a: [1], b: [1] }, { a: 1, b: 1 }, { 'a.$': 1, 'b.$': 1 }, 31276],
  [{ a: [1] }, { a: 1, $expr: true }, { 'a.$': 1 }, 224],
  [{ a: [{ b: 1 }] }, { 'a.b': 1 }, { 'a.$.b': 1 }, 31394],
]
const elemMatch: Row[] = [
  [{ a: [1, 2, 3], b: 1 }, {}, { a: { $elemMatch: { $gt: 1 } } }, { a: [2] }],
  [{ a: [1, 2, 3], b: 1, c: 1 }, {}, { a: { $elemMatch: { $gt: 1 } }, c: 0 }, { a: [2], b: 1 }],
  [{ z: 1, a: [1, 2], b: 1 }, {}, { b: 1, a: { $elemMatch: { $gt: 1 } }, z: 1 }, { z: 1, b: 1, a: [2] }],
  [{ a: [1] }, {}, { a: { $elemMatch: { $gt: 1 }, $slice: 1 } }, 16410],
  [{ a: [1], b: [1] }, { b: 1 }, { 'b.$': 1, a: { $elemMatch: { $gt: 1 } } }, 31255],
  [{ a: [1], b: [1] }, { b: 1 }, { a: { $elemMatch: { $gt: 1 } }, 'b.$': 1 }, 31256],
]
const slice: Row[] = [
  [{ a: [1, 2, 3] }, {}, { a: { $slice: -2 } }, { a: [2, 3] }],
  [{ a: [1, 2, 3] }, {}, { a: { $slice: [1, 2, 3] } }, 28724],
]

describe('projections of find', () => {
  const engine = engineOfBlock()

  for (const [subject, rows] of Object.entries({ positional, elemMatch, slice }))
    for (const [document, filter, projection, expected] of rows)
      it(`apply ${subject} ${JSON.stringify(projection)} to ${JSON.stringify(document)} where ${JSON.stringify(filter)}`, async () => {
        const things = engine.db.collection<Document & { _id: number }>('things')
        await things.deleteMany({})
        await things.insertOne({ _id: 1, ...document })
        const answer = await things.findOne(filter, { projection }).catch((error: unknown) => error)
        if (answer instanceof MongoServerError) assert.equal(answer.code, expected, answer.message)
        else assert.equal(JSON.stringify(answer), JSON.stringify({ _id: 1, ...(expected as Document) }))
      })
})
