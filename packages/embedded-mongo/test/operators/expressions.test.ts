import assert from 'node:assert/strict'
import { type Collection, ObjectId, Timestamp } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

/** The manual's answers, written by hand. */
type Row = [expression: unknown, result: unknown]

const time = new Date('2024-02-29T13:45:30.250Z')
const uuid = '01234567-89ab-4def-8123-456789abcdef'
const literal = (value: unknown) => ({ $literal: value })
/** Trigonometry differs between machines in the last digits. */
const rounded = (expression: unknown) => ({ $round: [expression, 6] })

const ARRAYS: Row[] = [
  [{ $first: [[1, 2, 3]] }, 1],
  [{ $firstN: { n: 2, input: [1, 2, 3] } }, [1, 2]],
  [{ $lastN: { n: 2, input: [1, 2, 3] } }, [2, 3]],
  [{ $maxN: { n: 2, input: [3, 1, 2] } }, [3, 2]],
  [{ $minN: { n: 2, input: [3, 1, 2] } }, [1, 2]],
  [{ $isArray: [[1]] }, true],
  [{ $isArray: ['a'] }, false],
  [{ $reverseArray: [[1, 2, 3]] }, [3, 2, 1]],
  [
    { $zip: { inputs: [[1, 2, 3], ['a']], useLongestLength: true, defaults: [0, 'z'] } },
    [
      [1, 'a'],
      [2, 'z'],
      [3, 'z'],
    ],
  ],
  [{ $filter: { input: [1, 3, 4], as: 'n', cond: { $gt: ['$$n', 2] }, limit: 1 } }, [3]],
  [{ $reduce: { input: ['a', 'b', 'c'], initialValue: '', in: { $concat: ['$$value', '$$this'] } } }, 'abc'],
  [
    {
      $arrayToObject: [
        [
          ['a', 1],
          ['b', 2],
        ],
      ],
    },
    { a: 1, b: 2 },
  ],
  [{ $objectToArray: literal({ a: 1 }) }, [{ k: 'a', v: 1 }]],
  [{ $allElementsTrue: [[true, 1, 'a']] }, true],
  [{ $allElementsTrue: [[true, 0]] }, false],
  [{ $anyElementTrue: [[false, 0, null]] }, false],
  [{ $anyElementTrue: [[false, 2]] }, true],
  [{ $setDifference: [[1, 2, 3], [2]] }, [1, 3]],
  [
    {
      $setIsSubset: [
        [1, 2],
        [2, 1, 3],
      ],
    },
    true,
  ],
  [{ $setIsSubset: [[4], [2, 1, 3]] }, false],
  [{ $stdDevPop: [2, 4, 4, 4, 5, 5, 7, 9] }, 2],
  [rounded({ $stdDevSamp: [[1, 4]] }), 2.12132],
]

// A literal with a property `then` is refused by the linter.
const BRANCHES = JSON.parse('[{"case": false, "then": "a"}, {"case": 1, "then": "b"}]')

const OBJECTS: Row[] = [
  [{ $getField: { field: 'a.b', input: literal({ 'a.b': 1 }) } }, 1],
  [{ $setField: { field: 'a.b', input: literal({ c: 1 }), value: 2 } }, { c: 1, 'a.b': 2 }],
  [{ $unsetField: { field: 'a', input: literal({ a: 1, b: 2 }) } }, { b: 2 }],
  [{ $bsonSize: literal({ a: 1 }) }, 12],
  [{ $binarySize: 'é' }, 2],
  [{ $const: '$a' }, '$a'],
  [{ $let: { vars: { a: 2, b: 3 }, in: { $multiply: ['$$a', '$$b'] } } }, 6],
  [
    {
      $switch: {
        branches: BRANCHES,
        default: 'c',
      },
    },
    'b',
  ],
  [{ $and: [{ $gte: [{ $rand: {} }, 0] }, { $lt: [{ $rand: {} }, 1] }] }, true],
  [{ $isNumber: 1.5 }, true],
  [{ $isNumber: '1' }, false],
  [{ $toBool: 'false' }, true],
  [{ $toBool: 0 }, false],
  [{ $toObjectId: '5ab9cbfa31c2ab715d42129e' }, new ObjectId('5ab9cbfa31c2ab715d42129e')],
  [{ $toString: { $toUUID: uuid } }, uuid],
]

const NUMBERS: Row[] = [
  [{ $floor: -1.5 }, -2],
  [{ $sqrt: 16 }, 4],
  [rounded({ $exp: 2 }), 7.389056],
  [rounded({ $ln: 3 }), 1.098612],
  [rounded({ $log: [8, 2] }), 3],
  [{ $bitAnd: [12, 10] }, 8],
  [{ $bitOr: [12, 10] }, 14],
  [{ $bitXor: [12, 10] }, 6],
  [{ $bitNot: 5 }, -6],
  [rounded({ $sin: 1 }), 0.841471],
  [rounded({ $cos: 1 }), 0.540302],
  [rounded({ $tan: 1 }), 1.557408],
  [rounded({ $asin: 0.5 }), 0.523599],
  [rounded({ $acos: 0.5 }), 1.047198],
  [rounded({ $atan: 1 }), 0.785398],
  [rounded({ $atan2: [1, -1] }), 2.356194],
  [rounded({ $sinh: 1 }), 1.175201],
  [rounded({ $cosh: 1 }), 1.543081],
  [rounded({ $tanh: 1 }), 0.761594],
  [rounded({ $asinh: 1 }), 0.881374],
  [rounded({ $acosh: 2 }), 1.316958],
  [rounded({ $atanh: 0.5 }), 0.549306],
  [rounded({ $degreesToRadians: 90 }), 1.570796],
  [{ $radiansToDegrees: Math.PI }, 180],
]

const TEXTS: Row[] = [
  [{ $toUpper: 'abc1' }, 'ABC1'],
  [{ $substrCP: ['été', 1, 2] }, 'té'],
  [{ $strLenBytes: 'é€' }, 5],
  [{ $strLenCP: '😀é' }, 2],
  [{ $indexOfBytes: ['été', 't'] }, 2],
  [{ $split: ['a, b', ', '] }, ['a', 'b']],
  [{ $trim: { input: ' \ta\n' } }, 'a'],
  [{ $trim: { input: 'xay', chars: 'xy' } }, 'a'],
  [{ $ltrim: { input: ' a ' } }, 'a '],
  [{ $rtrim: { input: ' a ' } }, ' a'],
  [{ $replaceOne: { input: 'aXaX', find: 'X', replacement: '-' } }, 'a-aX'],
  [{ $replaceAll: { input: 'aXaX', find: 'X', replacement: '-' } }, 'a-a-'],
  [{ $strcasecmp: ['abc', 'ABD'] }, -1],
  [{ $strcasecmp: ['abc', 'ABC'] }, 0],
]

const TIMES: Row[] = [
  [{ $year: time }, 2024],
  [{ $month: time }, 2],
  [{ $dayOfMonth: time }, 29],
  [{ $dayOfYear: time }, 60],
  // Sunday is 1.
  [{ $dayOfWeek: time }, 5],
  // Week 1 begins with the first Sunday, 7 January.
  [{ $week: time }, 8],
  [{ $hour: time }, 13],
  [{ $hour: { date: time, timezone: '+02:00' } }, 15],
  [{ $minute: time }, 45],
  [{ $second: time }, 30],
  [{ $millisecond: time }, 250],
  [{ $isoDayOfWeek: time }, 4],
  [{ $isoWeek: new Date('2021-01-01') }, 53],
  [{ $toInt: { $isoWeekYear: new Date('2021-01-01') } }, 2020],
  [
    {
      $toInt: {
        $dateDiff: { startDate: new Date('2024-02-28'), endDate: new Date('2024-03-01'), unit: 'day' },
      },
    },
    2,
  ],
  [{ $dateFromParts: { year: 2024, month: 14, day: 1 } }, new Date('2025-02-01')],
  [
    { $dateToParts: { date: time } },
    { year: 2024, month: 2, day: 29, hour: 13, minute: 45, second: 30, millisecond: 250 },
  ],
  [{ $toInt: { $tsSecond: new Timestamp({ t: 5, i: 3 }) } }, 5],
  [{ $toInt: { $tsIncrement: new Timestamp({ t: 5, i: 3 }) } }, 3],
]

describe('the operators of the engine', () => {
  const engine = engineOfBlock()
  let things: Collection<{ _id: number; v?: number; tag?: string }>
  before(async () => {
    things = engine.db.collection('things')
    await things.insertMany([
      { _id: 1, v: 3, tag: 'a' },
      { _id: 2, v: 1, tag: 'b' },
      { _id: 3, v: 4, tag: 'a' },
    ])
  })

  for (const [expression, result] of [...ARRAYS, ...OBJECTS, ...NUMBERS, ...TEXTS, ...TIMES])
    it(`evaluate ${JSON.stringify(expression).slice(0, 100)}`, async () => {
      const [document] = await engine.db.aggregate([{ $documents: [{ r: expression }] }]).toArray()
      assert.deepEqual(document?.r, result)
    })

  it('gather values, sorted and by position', async () => {
    const several = { n: 2, input: '$v' }
    const sorted = { sortBy: { v: -1 }, output: '$_id' }
    const groups = await things
      .aggregate([
        { $sort: { _id: 1 } },
        {
          $group: {
            _id: null,
            first: { $first: '$v' },
            firstN: { $firstN: several },
            lastN: { $lastN: several },
            maxN: { $maxN: several },
            minN: { $minN: several },
            top: { $top: sorted },
            topN: { $topN: { ...sorted, n: 2 } },
            bottom: { $bottom: sorted },
            bottomN: { $bottomN: { ...sorted, n: 2 } },
            stdDevSamp: { $stdDevSamp: '$v' },
            stdDevPop: { $stdDevPop: { $cond: [{ $eq: ['$tag', 'a'] }, '$v', null] } },
          },
        },
        { $set: { stdDevSamp: rounded('$stdDevSamp') } },
      ])
      .toArray()
    assert.deepEqual(groups, [
      {
        _id: null,
        first: 3,
        firstN: [3, 1],
        lastN: [1, 4],
        maxN: [4, 3],
        minN: [1, 3],
        top: 3,
        topN: [3, 1],
        bottom: 2,
        bottomN: [1, 2],
        stdDevSamp: 1.527525,
        stdDevPop: 0.5,
      },
    ])
  })

  it('count by value, the most frequent first', async () => {
    assert.deepEqual(await things.aggregate([{ $sortByCount: '$tag' }]).toArray(), [
      { _id: 'a', count: 2 },
      { _id: 'b', count: 1 },
    ])
  })

  it('test bits, and pass over a $comment', async () => {
    const find = async (filter: object) =>
      (await things.find(filter).sort({ _id: 1 }).toArray()).map(({ _id }) => _id)
    // 3, 1 and 4 are 011, 001 and 100.
    assert.deepEqual(await find({ v: { $bitsAnySet: 0b110 } }), [1, 3])
    assert.deepEqual(await find({ v: { $bitsAnyClear: 0b011 } }), [2, 3])
    assert.deepEqual(await find({ $comment: 'why', v: { $gt: 1, $comment: 'above' } }), [1, 3])
  })
})
