import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type CursorPosition, decodeCursor, encodeCursor } from '../../../../records/store/reading/cursor.ts'
import { ServiceError } from '../../../../schemas/errors.ts'

describe('list cursors', () => {
  const position: fc.Arbitrary<CursorPosition> = fc.record(
    {
      value: fc.oneof(
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
        fc.boolean(),
        fc.date({ noInvalidDate: true }),
        fc.constant(null),
      ),
      id: fc.string(),
    },
    { noNullPrototype: true },
  )
  const isRefused = (error: unknown) => error instanceof ServiceError && error.error === 'MalformedRequest'

  it('decode to the position that was encoded', () => {
    fc.assert(
      fc.property(fc.string(), position, (list, position) => {
        const cursor = encodeCursor(list, position)
        assert.match(cursor, /^[A-Za-z0-9_-]+$/)
        assert.deepEqual(decodeCursor(list, cursor), position)
      }),
    )
  })

  it('are refused by another list', () => {
    assert.throws(() => decodeCursor('byName', encodeCursor('byTime', { value: 1, id: 'a' })), isRefused)
  })

  it('are refused unless they encode a valid position', () => {
    const forged = fc.oneof(
      fc.string(),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
      fc.array(fc.anything(), { maxLength: 5 }).map((parts) => {
        try {
          return Buffer.from(JSON.stringify(['list', ...parts])).toString('base64url')
        } catch {
          return ''
        }
      }),
    )
    fc.assert(
      fc.property(forged, (cursor) => {
        try {
          const { value, id } = decodeCursor('list', cursor)
          assert.equal(typeof id, 'string')
          assert.ok(
            value === null ||
              (value instanceof Date ? !Number.isNaN(value.getTime()) : typeof value !== 'object'),
          )
        } catch (error) {
          assert.ok(isRefused(error))
        }
      }),
    )
  })
})
