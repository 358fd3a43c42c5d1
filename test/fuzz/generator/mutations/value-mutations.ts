import { naughtyValues } from '../../../harness/naughty-values.ts'
import type { Random } from '../context/random.ts'

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const createNested = (depth: number, list: boolean): unknown =>
  JSON.parse((list ? '[' : '{"a":').repeat(depth) + 1 + (list ? ']' : '}').repeat(depth))

const prototypes = [
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3}',
]

/** Values in the form of Parse's clients, valid and invalid. */
const TYPED_VALUES: unknown[] = [
  ...['Delete', 'Increment', 'Add', 'AddUnique', 'Remove', 'AddRelation', 'Batch', 'SetOnInsert', 'x', 1].map(
    (__op) => ({ __op, amount: 1, objects: [1, { a: 1 }], ops: [{ __op: 'Delete' }] }),
  ),
  { __op: 'Increment', amount: 1e308 },
  { __op: 'Add', objects: 'x' },
  { __type: 'Date', iso: '2016-12-31T23:59:60.000Z' },
  { __type: 'Date', iso: '0001-01-01T00:00:00.000Z' },
  { __type: 'Date', iso: 5 },
  { __type: 'Pointer', className: '_User', objectId: 'x' },
  { __type: 'Object', className: 'Ehr', objectId: 'x' },
  { __type: 'Relation', className: '_Role' },
  { __type: 'File', name: 'x.txt', url: 'http://127.0.0.1/x' },
  { __type: 'Bytes', base64: '%%%' },
  { __type: 'GeoPoint', latitude: 91, longitude: 0 },
  { __type: 'Polygon', coordinates: [[0, 0]] },
  { __type: 'Undefined' },
]

const FURTHER_VALUES: unknown[] = [
  1e21,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  Number.MIN_VALUE,
  -0,
  1.7976931348623157e308,
  1e-7,
  '\ufeff',
  'null',
  'NaN',
  '[object Object]',
  'x'.repeat(1_100_000),
  '%00',
  "'; --",
  '{{7*7}}',
  '\udc00\ud800',
  '2026-02-30',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:00+23:59',
  '-1',
  '0',
  'true',
  '*',
  '.',
  '..',
]

/** A value that is hardly valid anywhere. */
export const pickNaughtyValue = (random: Random): unknown =>
  random.weighted<() => unknown>([
    [5, () => random.pick(naughtyValues)],
    [3, () => random.pick(FURTHER_VALUES)],
    [2, () => random.pick(TYPED_VALUES)],
    [1, () => JSON.parse(random.pick(prototypes))],
    [1, () => createNested(random.pick([5, 33, 200, 3000]), random.chance(0.5))],
    [1, () => Array.from({ length: random.pick([1, 101, 1001, 5000]) }, (_, i) => i)],
  ])()

/** Mutates one place in a value: its type, form or presence. */
export function mutateValue(value: unknown, random: Random): unknown {
  if (isFields(value) && Object.keys(value).length > 0 && random.chance(0.9))
    return mutateFields(value, random)
  if (Array.isArray(value) && value.length > 0 && random.chance(0.7)) {
    const position = random.int(0, value.length - 1)
    return value.map((item, i) => (i === position ? mutateValue(item, random) : item))
  }
  return random.weighted<() => unknown>([
    [6, () => pickNaughtyValue(random)],
    [1, () => [value]],
    [1, () => ({ value })],
    [1, () => (typeof value === 'object' ? JSON.stringify(value) : String(value))],
    [1, () => (typeof value === 'string' ? value + random.pick(['\u0000', ' ', '\n', '\u200b']) : null)],
  ])()
}

const strangeNames = [
  '__proto__',
  '_bsontype',
  'constructor',
  'toString',
  '$where',
  '$set',
  'a.b',
  '',
  ' ',
  '\u0000',
  'x'.repeat(2000),
  'objectId',
  'createdAt',
  'updatedAt',
  'version',
  'ACL',
  'authData',
  'roles',
  'sessionToken',
  'status',
  '_id',
  '_rperm',
  '_wperm',
  '_acl',
  '_hashed_password',
  '_method',
  '_SessionToken',
  '_MasterKey',
  '__op',
  '_ApplicationId',
  '_ContentType',
  '_context',
  '_noBody',
  'id',
  'ehrId',
  'subjectId',
  'carePlanId',
  'email',
  'password',
  'username',
  '__type',
  'className',
  'payload.a',
  'name.x',
  'ACL.*',
  'emailVerified',
  'perishable',
]

function mutateFields(fields: Fields, random: Random): unknown {
  const name = random.pick(Object.keys(fields))
  const { [name]: value, ...others } = fields
  return random.weighted<() => unknown>([
    [6, () => ({ ...others, [name]: mutateValue(value, random) })],
    [2, () => others],
    [1, () => ({ ...others, [random.pick(strangeNames)]: value })],
    [
      3,
      () =>
        withProperty(
          fields,
          random.pick(strangeNames),
          random.chance(0.5) ? pickNaughtyValue(random) : value,
        ),
    ],
    [1, () => ({ ...fields, ACL: random.pick(ACL_VALUES) })],
  ])()
}

/** Sets a property under any name, even `__proto__`. */
const withProperty = (fields: Fields, name: string, value: unknown): Fields =>
  Object.defineProperty({ ...fields }, name, { value, enumerable: true, configurable: true, writable: true })

const ACL_VALUES: unknown[] = [
  {},
  null,
  5,
  [],
  { '*': { read: true, write: true } },
  { x: {} },
  { '*': 5 },
  { 'role:admin': { read: true } },
  { '*': { read: 'yes' } },
  { '': { read: true } },
  { 'role:': { write: true } },
  { __proto__x: { read: true } },
]

/** Mutates the text of a JSON document in ways that values cannot express; the result may be invalid JSON. */
export const mutateText = (text: string, random: Random): Buffer =>
  random.weighted<() => Buffer>([
    [2, () => Buffer.from(text.slice(0, random.int(0, text.length)))],
    [1, () => Buffer.from(`\ufeff${text}`)],
    [1, () => Buffer.from(text + random.pick(['}', ',', '\u0000', ' x', '[]']))],
    [2, () => Buffer.from(text.replace(/(?<=:)(-?\d+(\.\d+)?|"[^"]*")/, random.pick(strangeLiterals)))],
    [1, () => Buffer.from(text.replace('{', `{"a":1,"a":2,`))],
    [1, () => Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff, 0xfe, 0xc0, 0x22, 0x7d])])],
    [1, () => Buffer.from(text, 'utf16le')],
    [1, () => Buffer.alloc(0)],
    [1, () => Buffer.from(random.pick(['null', 'true', '5', '"x"', '[]', '[[]]', '{}', '\n', 'undefined']))],
    [1, () => Buffer.from('['.repeat(100_000))],
    [1, () => Buffer.from(`{"a":${'{"a":'.repeat(50_000)}`)],
  ])()

const strangeLiterals = [
  '1e400',
  '-1e400',
  '0x10',
  '01',
  '.5',
  'NaN',
  'Infinity',
  '-',
  '1e-400',
  '9'.repeat(400),
  '123456789012345678901',
  '"\\ud800"',
  '"\\u0000"',
  '"\\x41"',
  "'x'",
  '"\t"',
  'undefined',
  '{"$gt":""}',
  '[1,]',
  '"\\u202e"',
]
