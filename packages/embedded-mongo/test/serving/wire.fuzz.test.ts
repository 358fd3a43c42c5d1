import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { BSON, type Document } from 'mongodb'
import { engineOfBlock, socketPathOf, type TestEngine } from '../../testing.ts'

const seed = Number(process.env.SEED ?? 20240229)
const opMsg = 2013
const checksumPresent = 1
const int32 = (...values: number[]) => Buffer.from(Int32Array.from(values).buffer)

/** A message of the wire protocol: header and body. `length` may be wrong. */
function message(opcode: number, body: Uint8Array, length = 16 + body.length): Buffer {
  return Buffer.concat([int32(length, 77, 0, opcode), body])
}

/** OP_MSG with one body section. */
function command(document: Document, flags = 0, tail: Uint8Array = Buffer.alloc(0)): Buffer {
  return message(opMsg, Buffer.concat([int32(flags), Buffer.from([0]), BSON.serialize(document), tail]))
}

const ping = { ping: 1, $db: 'admin' }
const section = (kind: number, ...parts: Uint8Array[]) => Buffer.concat([Buffer.from([kind]), ...parts])
const sequence = (size: number, name: string, ...documents: Document[]) =>
  section(1, int32(size), Buffer.from(`${name}\0`), ...documents.map((document) => BSON.serialize(document)))

/** An object with `depth` levels, written as bytes, because no serializer allows that many. */
function nested(depth: number): Buffer {
  const inner = 5
  const outer = 8
  const bytes = Buffer.alloc(inner + depth * outer)
  for (let level = 0; level < depth; level++) {
    bytes.writeInt32LE(bytes.length - level * outer, level * 7)
    bytes.write('\u0003a\u0000', level * 7 + 4, 'latin1')
  }
  bytes.writeInt32LE(inner, depth * 7)
  return bytes
}

const sections = (...parts: Uint8Array[]) => message(opMsg, Buffer.concat([int32(0), ...parts]))
const deep = nested(10_000)

/**
 * Bytes to send. The engine may answer or close the connection. It must not stop, and must not delay others.
 */
const attacks: Record<string, Buffer> = {
  'a length of zero': int32(0, 1, 0, opMsg),
  'a length below the header': int32(15, 1, 0, opMsg),
  'a negative length': int32(-1, 1, 0, opMsg),
  'a length of 2 GB': Buffer.concat([int32(0x7fffffff, 1, 0, opMsg), Buffer.alloc(1000)]),
  'a length just over the limit': int32(48_000_001, 1, 0, opMsg),
  'a header and nothing more': message(opMsg, Buffer.alloc(0)),
  'flags and nothing more': message(opMsg, int32(0)),
  'an unknown required flag': command(ping, 1 << 5),
  'an unknown opcode': message(4242, Buffer.alloc(20)),
  'a legacy OP_INSERT': message(2002, Buffer.alloc(40)),
  'OP_COMPRESSED with an unknown compressor': message(
    2012,
    Buffer.concat([int32(opMsg, 10), Buffer.from([9, 1, 2])]),
  ),
  'OP_COMPRESSED of a zlib bomb': message(
    2012,
    Buffer.concat([int32(opMsg, 0x7fffffff), Buffer.from([2, 120, 156])]),
  ),
  'an unknown section kind': sections(section(7, BSON.serialize(ping))),
  'two body sections': command(ping, 0, section(0, BSON.serialize(ping))),
  'no body section': sections(sequence(14, 'documents')),
  'a sequence of size zero': command(ping, 0, sequence(0, 'documents')),
  'a sequence of negative size': command(ping, 0, sequence(-5, 'documents', { a: 1 })),
  'a sequence longer than its message': command(ping, 0, sequence(1 << 20, 'documents', { a: 1 })),
  'a sequence without a name': command(ping, 0, section(1, int32(8), Buffer.from('abcd'))),
  'a sequence called __proto__': command(ping, 0, sequence(27, '__proto__', { a: 1 })),
  'a document longer than its message': sections(section(0, int32(500))),
  'a document of negative size': sections(section(0, int32(-12))),
  'a document of size zero': sections(section(0, int32(0))),
  'a document without its final zero': sections(section(0, int32(6), Buffer.from([1, 1]))),
  'a string longer than its document': sections(
    section(0, int32(20), Buffer.from([2, 97, 0]), int32(9_999_999), Buffer.alloc(9)),
  ),
  'an empty command': command({}),
  'a command without a database': command({ ping: 1 }),
  'a database name of the wrong type': command({ ping: 1, $db: 7 }),
  'a collection name of the wrong type': command({ find: { a: 1 }, $db: 'fuzz' }),
  'a command called constructor': command({ constructor: 1, $db: 'fuzz' }),
  'a command called __proto__': command({ ['__proto__']: 1, $db: 'fuzz' }),
  'a find with arguments of the wrong types': command({
    find: 'c',
    filter: 3,
    sort: 'x',
    limit: {},
    skip: [],
    $db: 'fuzz',
  }),
  'an insert without documents': command({ insert: 'c', $db: 'fuzz' }),
  'an update that is a string': command({ update: 'c', updates: 'all', $db: 'fuzz' }),
  'an update of a string': command({ update: 'c', updates: ['all'], $db: 'fuzz' }),
  'an aggregate that is not an array': command({
    aggregate: 'c',
    pipeline: { $match: {} },
    cursor: {},
    $db: 'fuzz',
  }),
  'a getMore of nothing': command({ getMore: 1, collection: 'c', $db: 'fuzz' }),
  'a pattern that does not compile': command({ find: 'c', filter: { a: { $regex: '(((' } }, $db: 'fuzz' }),
  'an insert nested 10,000 deep': sections(
    section(0, BSON.serialize({ insert: 'deep', $db: 'fuzz' })),
    section(1, int32(14 + deep.length), Buffer.from('documents\0'), deep),
  ),
  'a command nested 10,000 deep': sections(section(0, deep)),
  'a legacy OP_QUERY cut short': message(2004, Buffer.concat([int32(0), Buffer.from('admin.$cmd')])),
  'a legacy OP_QUERY that is not a hello': message(
    2004,
    Buffer.concat([int32(0), Buffer.from('admin.$cmd\0'), int32(0, -1), BSON.serialize({ dropDatabase: 1 })]),
  ),
}

describe(`wire protocol (SEED=${seed})`, () => {
  const engine = engineOfBlock()
  before(async () => {
    await engine.db.collection('kept').insertOne({ _id: 'kept' as never, n: 1 })
  })
  afterEach('the engine still serves others', async () => {
    assert.deepEqual(await engine.db.collection('kept').findOne(), { _id: 'kept', n: 1 })
  })

  for (const [name, bytes] of Object.entries(attacks)) {
    it(`survives ${name}`, async () => {
      const socket = await dial(engine)
      socket.write(bytes)
      await Promise.race([answerOf(socket), once(socket, 'close'), sleep(100)])
      socket.destroy()
    })
  }

  it('survives random bytes', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.uint8Array({ minLength: 1, maxLength: 200 }).map((body) => message(opMsg, body)),
      fc.uint8Array({ minLength: 1, maxLength: 200 }).map((body) => message(2004, body)),
    )
    await fc.assert(
      fc.asyncProperty(bytes, async (input) => {
        const socket = await dial(engine)
        socket.end(input)
        await Promise.race([once(socket, 'close'), sleep(50)])
        socket.destroy()
      }),
      { seed, numRuns: 200 },
    )
  })

  it('survives every single changed byte of a command', async () => {
    const find = command({ find: 'kept', filter: { n: { $in: [1, 'x'] } }, limit: 1, $db: 'test' })
    for (let position = 0; position < find.length; position++) {
      const socket = await dial(engine)
      socket.write(find.map((byte, index) => (index === position ? byte ^ 0xff : byte)))
      await Promise.race([answerOf(socket), once(socket, 'close'), sleep(20)])
      socket.destroy()
    }
  })

  it('reads a command that arrives byte by byte, and two that arrive together', async () => {
    const socket = await dial(engine)
    for (const byte of command(ping)) {
      socket.write(Buffer.from([byte]))
      await sleep(1)
    }
    assert.equal((await answerOf(socket)).ok, 1)
    socket.write(Buffer.concat([command(ping), command({ ...ping, ping: 2 })]))
    assert.equal((await answerOf(socket)).ok, 1)
    socket.destroy()
  })

  it('accepts a checksum, but does not require one', async () => {
    const socket = await dial(engine)
    socket.write(command(ping, checksumPresent, int32(0x1234567)))
    const { ok, code } = await answerOf(socket)
    assert.ok(ok === 1 || code !== undefined, 'an answer, be it a refusal')
    socket.destroy()
  })

  const undefinedValues: [where: string, command: Document][] = [
    ['a document to insert', { insert: 'kept', documents: [{ _id: 1, a: { b: [null] } }] }],
    ['a filter', { find: 'kept', filter: { a: null } }],
    ['an update', { update: 'kept', updates: [{ q: {}, u: { $set: { a: null } } }] }],
    ['an expression', { aggregate: 'kept', pipeline: [{ $project: { a: [null] } }], cursor: {} }],
  ]
  for (const [where, commandBody] of undefinedValues)
    it(`refuses BSON's undefined in ${where}`, async () => {
      const bytes = command({ ...commandBody, $db: 'test' })
      // The only null in the message: its type, then its name.
      const position =
        ['a', '0', 'b'].map((name) => bytes.indexOf(`\n${name}\0`)).find((position) => position > 0) ?? -1
      assert.ok(position > 0)
      bytes[position] = 6
      const socket = await dial(engine)
      socket.write(bytes)
      const { code, writeErrors } = await answerOf(socket)
      assert.equal(writeErrors?.[0].code ?? code, 115)
      socket.destroy()
    })

  it("refuses BSON's DBPointer", async () => {
    const value = { a: 'x', b: new BSON.ObjectId('0000000000000000000a6300') }
    const bytes = command({ insert: 'kept', documents: [{ _id: 1, ...value }], $db: 'test' })
    // A DBPointer is a text and 12 bytes: those of the next field, up to its last three, which are a null.
    bytes[bytes.indexOf('\x02a\0')] = 12
    const socket = await dial(engine)
    socket.write(bytes)
    const { code, writeErrors } = await answerOf(socket)
    assert.equal(writeErrors?.[0].code ?? code, 115)
    socket.destroy()
  })

  const doubles: [where: string, command: Document, code: number][] = [
    ['a filter', { find: 'kept', filter: { aa: 1, ab: 2 } }, 40413],
    [
      'a sort of a pipeline',
      { aggregate: 'kept', pipeline: [{ $sort: { aa: 1, ab: 2 } }], cursor: {} },
      7472500,
    ],
    ['a document to insert', { insert: 'kept', documents: [{ _id: 1, aa: 1, ab: 2 }] }, 40413],
    [
      'one of many fields',
      {
        find: 'kept',
        filter: {
          ...Object.fromEntries([...'bcdefghijklmnopqrstuvwxyzBCDEF'].map((f) => [f, 1])),
          aa: 1,
          ab: 1,
        },
      },
      40413,
    ],
  ]
  for (const [where, commandFields, expected] of doubles)
    it(`refuses a duplicate field in ${where}`, async () => {
      const bytes = command({ ...commandFields, $db: 'test' })
      bytes[bytes.indexOf('ab\0') + 1] = 'a'.charCodeAt(0)
      const socket = await dial(engine)
      socket.write(bytes)
      const { code, writeErrors } = await answerOf(socket)
      assert.equal(writeErrors?.[0].code ?? code, expected)
      socket.destroy()
    })

  it('discards an incomplete message when the connection ends', async () => {
    const insert = command({ insert: 'half', documents: [{ _id: 1 }], $db: 'test' })
    const socket = await dial(engine)
    socket.write(insert.subarray(0, insert.length - 3))
    await sleep(20)
    socket.destroy()
    assert.equal(await engine.db.collection('half').countDocuments(), 0)
  })

  it('answers an unknown command with code 59', async () => {
    await assert.rejects(engine.db.command({ noSuchCommand: 1 }), { code: 59 })
  })
})

async function dial(engine: TestEngine): Promise<Socket> {
  const socket = connect(socketPathOf(engine.uri))
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** The document of the next OP_MSG, provided that it arrives in one piece. */
async function answerOf(socket: Socket): Promise<Document> {
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.readInt32LE(12) === opMsg ? BSON.deserialize(bytes.subarray(21, bytes.readInt32LE(0))) : {}
}
