import assert from 'node:assert/strict'
import fc from 'fast-check'
import { BSONRegExp, type Collection, Decimal128, type Document, Double, Int32, Long } from 'mongodb'
import { compileRegex } from '../../regex.ts'
import { engineOfBlock } from '../../testing.ts'

/** Cases in which a simpler engine, or the library underneath, gives other answers than MongoDB. */
describe('pitfalls', () => {
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
  })

  const store = (...values: unknown[]) => things.insertMany(values.map((v, i) => ({ _id: i as never, v })))
  const ids = async (filter: Document) => (await things.find(filter).toArray()).map(({ _id }) => _id)

  it('returns documents in the order of insertion, whatever their ids, also after a restart', async () => {
    for (const _id of ['z', 'a', 'm']) await things.insertOne({ _id: _id as never })
    await things.updateOne({ _id: 'z' as never }, { $set: { grown: 'x'.repeat(10_000) } })
    await engine.restart()
    things = engine.db.collection('things')
    await things.insertOne({ _id: 'b' as never })
    assert.deepEqual(await ids({}), ['z', 'a', 'm', 'b'])
    assert.deepEqual(
      (await things.find().sort({ $natural: -1 }).toArray()).map(({ _id }) => _id),
      ['b', 'm', 'a', 'z'],
    )
  })

  it('distinguishes null from missing as MongoDB does', async () => {
    await things.insertMany([
      { _id: 0 as never },
      { _id: 1 as never, v: null },
      { _id: 2 as never, v: 0 },
      { _id: 3 as never, v: [null] },
      { _id: 4 as never, v: [] },
    ])
    assert.deepEqual(await ids({ v: null }), [0, 1, 3])
    assert.deepEqual(await ids({ v: { $gte: null } }), [0, 1, 3])
    assert.deepEqual(await ids({ v: { $lte: null } }), [0, 1, 3])
    assert.deepEqual(await ids({ v: { $gt: null } }), [])
    assert.deepEqual(await ids({ v: { $ne: null } }), [2, 4])
    assert.deepEqual(await ids({ v: { $exists: false } }), [0])
    assert.deepEqual(await ids({ v: { $in: [null, 0] } }), [0, 1, 2, 3])
  })

  it('compares only within a type', async () => {
    await store(1, '1', true, new Date(1), { a: 1 }, [5])
    assert.deepEqual(await ids({ v: { $gte: 0 } }), [0, 5])
    assert.deepEqual(await ids({ v: { $gte: '' } }), [1])
    assert.deepEqual(await ids({ v: { $lt: new Date() } }), [3])
  })

  it('compares numbers of all types by value', async () => {
    await store(
      new Int32(5),
      new Double(5),
      Long.fromNumber(5),
      Decimal128.fromString('5.0'),
      Long.fromString('9007199254740993'),
      Decimal128.fromString('5.1'),
    )
    for (const five of [5, new Double(5), Long.fromNumber(5), Decimal128.fromString('5')])
      assert.deepEqual(await ids({ v: five }), [0, 1, 2, 3])
    assert.deepEqual(await ids({ v: { $gt: 5 } }), [4, 5])
    assert.deepEqual(await ids({ v: { $gt: Long.fromString('9007199254740992') } }), [4])
    assert.deepEqual(await ids({ v: { $in: [Decimal128.fromString('5.10')] } }), [5])
  })

  it('keeps stored types, also beside an update', async () => {
    const numbers = {
      i: new Int32(1),
      d: new Double(2),
      l: Long.fromString('9223372036854775807'),
      x: Decimal128.fromString('0.10'),
      small: Long.fromNumber(3),
    }
    await things.insertOne({ _id: 1 as never, ...numbers, r: new BSONRegExp('a.b', 'ix') })
    await things.updateOne({ _id: 1 as never }, { $set: { other: 1 } })
    const raw = (await things.findOne(
      { _id: 1 as never },
      { promoteValues: false, bsonRegExp: true },
    )) as Document
    assert.deepEqual(
      Object.entries(numbers).map(([name, value]) => [
        raw[name]._bsontype,
        raw[name].toString() === value.toString(),
      ]),
      Object.values(numbers).map((value) => [value._bsontype, true]),
    )
    assert.deepEqual([raw.r.pattern, raw.r.options], ['a.b', 'ix'])
  })

  it('keeps types in $inc, and adds exactly', async () => {
    await things.insertOne({
      _id: 1 as never,
      i: 2147483647,
      l: Long.fromString('9007199254740993'),
      x: Decimal128.fromString('0.1'),
      d: 0.5,
    })
    await things.updateOne(
      { _id: 1 as never },
      { $inc: { i: 1, l: 1, x: Decimal128.fromString('0.2'), d: 1, fresh: 7 }, $mul: { none: 3 } },
    )
    const raw = (await things.findOne({}, { promoteValues: false })) as Document
    const types = Object.fromEntries(
      Object.entries(raw).map(([key, value]) => [key, `${value._bsontype} ${value}`]),
    )
    assert.deepEqual(types, {
      _id: 'Int32 1',
      i: 'Long 2147483648',
      l: 'Long 9007199254740994',
      x: 'Decimal128 0.3',
      d: 'Double 1.5',
      fresh: 'Int32 7',
      none: 'Int32 0',
    })
    await things.updateOne({ _id: 1 as never }, { $set: { l: Long.MAX_VALUE } })
    await assert.rejects(things.updateOne({ _id: 1 as never }, { $inc: { l: 1 } }), { code: 2 })
  })

  it('adds longs and decimals in $sum and $avg', async () => {
    await store(1, Long.fromNumber(2), Decimal128.fromString('3'), 'text', null)
    const [sums] = await things
      .aggregate([{ $group: { _id: null, sum: { $sum: '$v' }, mean: { $avg: '$v' }, n: { $sum: 1 } } }])
      .toArray()
    const [sum, mean] = ['6', '2'].map((text) => Decimal128.fromString(text))
    assert.deepEqual(sums, { _id: null, sum, mean, n: 5 })
  })

  it('reads $substr with a negative length to the end', async () => {
    await store('_User$abc')
    assert.deepEqual(
      await things.aggregate([{ $project: { _id: 0, id: { $substr: ['$v', 6, -1] } } }]).toArray(),
      [{ id: 'abc' }],
    )
  })

  it('treats documents as equal only if their fields have the same order', async () => {
    await store({ a: 1, b: 2 }, { b: 2, a: 1 })
    assert.deepEqual(await ids({ v: { a: 1, b: 2 } }), [0])
    assert.deepEqual(await ids({ v: { $in: [{ b: 2, a: 1 }] } }), [1])
  })

  it('accepts scalars and $elemMatch in $all', async () => {
    await store('a', ['a', 'b'], [['a']], [{ k: 1 }, { k: 2 }])
    assert.deepEqual(await ids({ v: { $all: ['a'] } }), [0, 1])
    assert.deepEqual(await ids({ v: { $all: [['a']] } }), [2])
    assert.deepEqual(await ids({ v: { $all: [] } }), [])
    assert.deepEqual(await ids({ v: { $all: [{ $elemMatch: { k: 1 } }, { $elemMatch: { k: 2 } }] } }), [3])
    assert.deepEqual(await ids({ v: { $all: [/^A$/i] } }), [0, 1])
  })

  it('matches arrays by element, as a whole, by position and by size', async () => {
    await store([1, [2, 3]], [{ a: 5 }, { a: 7 }], [], 2)
    assert.deepEqual(await ids({ v: 1 }), [0])
    assert.deepEqual(await ids({ v: [2, 3] }), [0])
    assert.deepEqual(await ids({ 'v.0': 1 }), [0])
    assert.deepEqual(await ids({ 'v.1.a': 7 }), [1])
    assert.deepEqual(await ids({ 'v.a': { $gt: 6, $lt: 6 } }), [1])
    assert.deepEqual(await ids({ 'v.a': { $gt: 6 } }), [1])
    assert.deepEqual(await ids({ v: { $elemMatch: { a: { $gt: 5, $lt: 7 } } } }), [])
    assert.deepEqual(await ids({ v: { $size: 0 } }), [2])
    assert.deepEqual(await ids({ v: { $type: 'array' } }), [0, 1, 2])
    assert.deepEqual(await ids({ v: { $not: { $elemMatch: { $exists: true } } } }), [2, 3])
  })

  it('sorts arrays by their extreme elements, and types in BSON order', async () => {
    await store([5, 1], 3, 'a', null, { a: 1 }, true, new Date(), [], Long.fromNumber(2))
    const sorted = async (direction: 1 | -1) =>
      (await things.find().sort({ v: direction }).toArray()).map(({ _id }) => _id)
    assert.deepEqual(await sorted(1), [7, 3, 0, 8, 1, 2, 4, 5, 6])
    assert.deepEqual(await sorted(-1), [6, 5, 4, 2, 0, 1, 8, 3, 7])
  })

  const expressions: [pattern: string, options: string, matching: string[], other: string[]][] = [
    ['^\\Qa.b(c\\E', '', ['a.b(cd'], ['axb(c']],
    ['\\Qa.b\\E$', '', ['xa.b'], ['a.bx']],
    ['(?i)^abc', '', ['ABCd'], ['xabc']],
    ['a  b # comment', 'x', ['ab'], ['a  b']],
    ['\\Aab\\z', '', ['ab'], ['ab\n']],
    ['^[[:alpha:]]+[[:digit:]]$', '', ['abc1'], ['1abc']],
    ['[[:space:]]', '', ['a b'], ['ab']],
    ['^b$', 'm', ['a\nb\nc'], ['abc']],
    ['a.b', 's', ['a\nb'], ['ab']],
    ['(?<first>a)(?P<second>b)', '', ['ab'], ['ba']],
    ['b$', '', ['ab', 'ab\n'], ['ba', 'ab\n\n']],
    ['b\\Z', '', ['ab', 'ab\n'], ['ba']],
    ['^.$', '', ['😀', '\r', 'é\n'], ['ab']],
    ['^\\p{L}+$', '', ['Ärzte', '名'], ['a1']],
    ['^\\s$', '', ['\v', ' '], ['\u00a0']],
    ['^\\h\\x41\\x{1F600}[\\s\\Q]-\\E]$', '', ['\u00a0A😀]', ' A😀-'], ['A']],
    ["(?'n'a)(?<m>b)", '', ['ab'], ['ba']],
    ['STRASSE|Σ', 'i', ['strasse', 'ς'], ['s']],
    ['[]a]', '', [']'], ['b']],
    ['\\d{2,}', '', ['12'], ['1']],
  ]
  for (const [pattern, options, matching, other] of expressions)
    it(`matches the expression /${pattern}/${options}`, async () => {
      await store(...matching, ...other, 5)
      const expected = matching.map((_, i) => i)
      assert.deepEqual(await ids({ v: { $regex: pattern, $options: options } }), expected)
      if (!/[smx]/.test(options))
        assert.deepEqual(await ids({ v: new BSONRegExp(pattern, options) }), expected)
      await things.createIndex({ v: 1 })
      assert.deepEqual(await ids({ v: { $regex: pattern, $options: options } }), expected)
    })

  it('refuses an invalid or too large regular expression', async () => {
    await assert.rejects(ids({ v: { $regex: '(' } }), { code: 51091 })
    await assert.rejects(ids({ v: { $regex: 'a'.repeat(40_000) } }), { code: 51091 })
    await assert.rejects(ids({ v: { $regex: 'a', $options: 'q' } }), { code: 51108 })
  })

  it('refuses a regular expression that cannot run in linear time', async () => {
    for (const pattern of ['(a)\\1', 'a(?=b)', '(?<!a)b', '(?>a+)', 'a++b', '(?1)', 'a$b', '[z-a]', '\\'])
      await assert.rejects(ids({ v: { $regex: pattern } }), { code: 51091 }, pattern)
    await assert.rejects(ids({ v: { $regex: 'a\u0000b' } }), { code: 2 })
    const matches = (regex: string) =>
      things.aggregate([{ $match: { $expr: { $regexMatch: { input: 'a', regex } } } }])
    await store('a')
    await assert.rejects(matches('a(?=b)').toArray(), { code: 51111 })
  })

  it('runs every other regular expression in linear time', async () => {
    await store(...Array.from({ length: 300 }, (_, i) => 'a'.repeat(9000 + i)), 'aab')
    const slow = ['a{0,200}a{0,200}b', '(a+)+b', '(.*a){20}b', '^(a|aa)+b']
    const startTime = performance.now()
    for (const pattern of slow) {
      assert.deepEqual(await ids({ v: { $regex: pattern } }), pattern.includes('20}b') ? [] : [300])
      const $expr = { $regexMatch: { input: '$v', regex: pattern } }
      assert.deepEqual((await ids({ $expr })).length, pattern.includes('20}b') ? 0 : 1)
    }
    assert.ok(performance.now() - startTime < 20_000)
  })

  it('refuses a class, a quotation in it or a comment without an end at once, however long it is', async () => {
    await store('a')
    const unfinished = [
      `[${'\\Qa\\E'.repeat(5_000)}`,
      '['.repeat(30_000),
      '[[:a:]'.repeat(5_000),
      '(?#'.repeat(10_000),
    ]
    for (const pattern of unfinished)
      await assert.rejects(ids({ v: { $regex: pattern } }), { code: 51091 }, pattern.slice(0, 20))
  })

  it('distinguishes escapes from those with a capital letter', async () => {
    await store('\\e]', 'Q', '\u001b')
    assert.deepEqual(await ids({ v: { $regex: '^\\Q\\e]\\E' } }), [0])
    assert.deepEqual(await ids({ v: { $regex: '^[\\e]$' } }), [2])
    assert.deepEqual(await ids({ v: { $regex: '^[\\Q\\E\\x1B]$' } }), [2])
  })

  it('finds the same texts with and without captures', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      '\\b',
      '^',
      '(?i:A)',
      '\\s',
      '\u{1F600}',
      '\n',
    )
    const pattern = fc.letrec<{ all: string }>((tie) => ({
      all: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc.tuple(tie('all'), tie('all')).map(([one, other]) => one + other),
        fc.tuple(tie('all'), tie('all')).map(([one, other]) => `(?:${one}|${other})`),
        fc
          .tuple(tie('all'), fc.constantFrom('*', '+', '?', '{2,5}'))
          .map(([one, times]) => `(${one})${times}`),
      ),
    })).all
    const text = fc.array(fc.constantFrom('a', 'b', 'A', ' ', '\n', '\u{1F600}', 'é'), { maxLength: 30 })
    fc.assert(
      fc.property(pattern, fc.constantFrom('', 'i', 'm', 's'), text, (source, options, letters) => {
        const expression = compileRegex(source, options)
        const subject = letters.join('')
        assert.equal(expression.test(subject), expression.find(subject, 0) !== undefined)
      }),
      { numRuns: 2000 },
    )
  })

  it('ends matches that take too long, on one text and on many', async () => {
    const random = (seed: number, length: number) => {
      let value = seed
      const letters = Array.from({ length }, () => {
        value = (value * 48_271) % 2_147_483_647
        return 'ab'[value & 1]
      })
      return letters.join('')
    }
    await store(
      random(1, 200_000),
      Array.from({ length: 60 }, (_, i) => random(i + 1, 2_000)),
    )
    for (const pattern of ['a[ab]{500}c', 'a[ab]{100}c'])
      await assert.rejects(ids({ v: { $regex: pattern } }), { code: 50 }, pattern)
    assert.deepEqual(await ids({ v: { $regex: 'abba+b' } }), [0, 1])
  })

  it('uses an index for a prefix expression', async () => {
    await things.createIndex({ v: 1 })
    await store('abc', 'abd', 'b', 'ABC', 'ab.c')
    const { executionStats } = await things.find({ v: { $regex: '^ab' } }).explain()
    assert.deepEqual([executionStats.nReturned, executionStats.totalDocsExamined], [3, 3])
    assert.deepEqual(await ids({ v: { $regex: '^\\Qab.\\E' } }), [4])
    assert.deepEqual(await ids({ v: { $regex: '^abx?c' } }), [0])
    assert.deepEqual(await ids({ v: { $regex: '^abc|^b' } }), [2, 0].sort())
  })

  it('refuses impossible updates with an error', async () => {
    await things.insertOne({ _id: 1 as never, n: 1, s: 'x', list: [1, 2, 3], o: { a: 1 } })
    const refusals: [Document, number][] = [
      [{ $push: { s: 1 } }, 2],
      [{ $addToSet: { n: 1 } }, 2],
      [{ $pull: { n: 1 } }, 2],
      [{ $pullAll: { s: [1] } }, 2],
      [{ $inc: { o: 1 } }, 14],
      [{ $mul: { s: 2 } }, 14],
      [{ $bit: { s: { and: 1 } } }, 2],
      [{ $set: { 'list.x': 1 } }, 28],
      [{ $set: { 's.x': 1 } }, 28],
      [{ $set: { 'list.$': 1 } }, 2],
      [{ $rename: { n: 'n' } }, 2],
      [{ $currentDate: { n: 'x' } }, 2],
      [{ $set: { 'list.$[x]': 1 } }, 2],
    ]
    for (const [update, code] of refusals)
      await assert.rejects(things.updateOne({}, update), { code }, JSON.stringify(update))
    assert.deepEqual(await things.findOne(), { _id: 1, n: 1, s: 'x', list: [1, 2, 3], o: { a: 1 } })
  })

  it('updates arrays', async () => {
    const update = (change: Document) => things.updateOne({}, change)
    await things.insertOne({ _id: 1 as never, l: [3, 1], d: [{ k: 2 }, { k: 1 }], s: ['a'] })
    await update({
      $push: {
        l: { $each: [5, 4], $sort: 1, $slice: -3 },
        d: { $each: [], $sort: { k: 1 } },
        s: { $each: ['z'], $position: 0 },
      },
    })
    assert.deepEqual(await things.findOne(), { _id: 1, l: [3, 4, 5], d: [{ k: 1 }, { k: 2 }], s: ['z', 'a'] })
    await update({ $addToSet: { l: { $each: [3, 9] }, d: { k: 1 } }, $pop: { s: -1 } })
    assert.deepEqual(await things.findOne(), { _id: 1, l: [3, 4, 5, 9], d: [{ k: 1 }, { k: 2 }], s: ['a'] })
    await update({ $pull: { l: { $gte: 5 }, d: { k: { $lt: 2 } } }, $pullAll: { s: ['a', 'b'] } })
    assert.deepEqual(await things.findOne(), { _id: 1, l: [3, 4], d: [{ k: 2 }], s: [] })
    await update({ $set: { 'l.4': 1 }, $unset: { 'd.0': 1 }, $rename: { s: 't.u' } })
    assert.deepEqual(await things.findOne(), { _id: 1, l: [3, 4, null, null, 1], d: [null], t: { u: [] } })
  })

  it('treats __proto__ as an ordinary field', async () => {
    const document = JSON.parse('{"_id":1,"__proto__":{"a":1}}')
    await things.insertOne(document)
    await things.updateOne({ _id: 1 as never }, { $set: { b: 1 } })
    assert.equal(await things.countDocuments(JSON.parse('{"__proto__.a":1}')), 1)
    assert.equal(await things.countDocuments({ 'constructor.name': 'Object' }), 0)
  })

  it('keeps its document counts correct through all kinds of writes', async () => {
    await things.insertMany(Array.from({ length: 100 }, (_, i) => ({ i })))
    await things.deleteMany({ i: { $lt: 30 } })
    await things.updateOne({ i: 1000 }, { $set: { a: 1 } }, { upsert: true })
    await things.findOneAndDelete({ i: 50 })
    await things
      .insertMany([{ _id: 1 as never }, { _id: 1 as never }, { _id: 2 as never }], { ordered: false })
      .catch(() => {})
    assert.equal(await things.estimatedDocumentCount(), 72)
    assert.equal((await things.find().toArray()).length, 72)
    await engine.kill()
    await engine.restart()
    things = engine.db.collection('things')
    assert.equal(await things.countDocuments(), 72)
  })
})
