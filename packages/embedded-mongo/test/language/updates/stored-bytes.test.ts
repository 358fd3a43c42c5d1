import assert from 'node:assert/strict'
import { BSON, type Collection, type Document } from 'mongodb'
import { engineOfBlock } from '../../../testing.ts'

/** A time that JavaScript's dates do not reach, but BSON's. */
class FarDate extends Date {
  readonly #ms: number
  constructor(ms: number) {
    super()
    this.#ms = ms
  }
  override getTime(): number {
    return this.#ms
  }
}

const far = new FarDate(9e15)
const reference = { $ref: 'a.b', $id: 1, x: 1, $db: 'c' }
/** Objects would have the numeric names first. */
const numeric = new Map<string, unknown>([
  ['b', 1],
  ['10', 2],
  ['2', 3],
  ['a', 4],
])

const values: Record<string, unknown> = {
  'a time beyond the range of JavaScript': far,
  'a time before that range': new FarDate(-9e15),
  'the last time of all': new FarDate(2 ** 63),
  'a DBRef with a dot in its collection': reference,
  'fields with numeric names': numeric,
  'a list of all of them': [far, reference, numeric],
}

const updates: Record<string, [change: Document, undo: Document]> = {
  'a field beside it': [{ $set: { n: 1 } }, { $unset: { n: 1 } }],
  'a field beside it, by a pipeline': [[{ $set: { n: 1 } }], { $unset: { n: 1 } }],
  'a field beside it in a document': [{ $set: { 'in.n': 1 } }, { $unset: { 'in.n': 1 } }],
  'an array beside it': [{ $push: { 'in.list': 1 } }, { $pop: { 'in.list': 1 } }],
  'an element of the same array': [{ $push: { 'in.all': 1 } }, { $pop: { 'in.all': 1 } }],
}

describe('the stored bytes', () => {
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
  })

  /** Stores a document whose _id comes last. */
  const store = async (value: unknown): Promise<string> => {
    const document = { v: value, in: { v: value, list: [0], all: [value] } }
    await things.insertOne({ ...document, _id: 1 as never })
    return Buffer.from(BSON.serialize({ _id: 1, ...document })).toString('hex')
  }

  const stored = async (): Promise<string> => {
    const [bytes] = await things.find({}, { raw: true }).toArray()
    return Buffer.from(bytes as unknown as Uint8Array).toString('hex')
  }

  for (const [what, value] of Object.entries(values)) {
    it(`are those sent for ${what}`, async () => {
      const sent = await store(value)
      assert.equal(await stored(), sent)
    })

    for (const [where, [change, undo]] of Object.entries(updates))
      it(`stay for ${what} when an update changes ${where}`, async () => {
        const sent = await store(value)
        await things.updateOne({}, change)
        assert.notEqual(await stored(), sent)
        await things.updateOne({}, undo)
        assert.equal(await stored(), sent)
      })
  }
})
