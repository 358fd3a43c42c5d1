import assert from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import { newId } from '../../../../records/store/documents/ids.ts'
import {
  createParseFormat,
  type ParseDocument,
  toStoredPermissions,
} from '../../../../records/store/documents/parse-format.ts'
import type { ServiceError } from '../../../../schemas/errors.ts'
import { nullable } from '../../../../schemas/forms/nullable.ts'

const TestSchema = Type.Object({
  name: Type.String(),
  dueDate: Type.Optional(nullable(Type.String({ format: 'date' }))),
  start: Type.String({ format: 'date-time' }),
  steps: Type.Array(Type.Object({ label: Type.String(), found: Type.Optional(Type.Unknown()) })),
  answers: Type.Optional(Type.Array(Type.Unknown())),
  payload: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
const format = createParseFormat(TestSchema)

const permissions = toStoredPermissions({ read: ['role:a', 'u1'], write: ['u1'] })
const created = new Date('2026-03-01T08:00:00.000Z')
const meta = { _id: 'abcdefghij', version: 3, _created_at: created, _updated_at: created, ...permissions }

/** Encodes a record as BSON and decodes it. */
const roundTrip = (record: Parameters<typeof format.toStored>[0]) =>
  BSON.deserialize(
    BSON.serialize({ ...format.toStored(record), ...meta }, { ignoreUndefined: true }),
  ) as ParseDocument

describe('the Parse format', () => {
  const noInvalid = {
    noInvalidDate: true,
    min: new Date('0000-01-01'),
    max: new Date('9999-12-31T23:59:59.999Z'),
  }
  const moment = fc.date(noInvalid).map((date) => date.toISOString())
  const day = moment.map((text) => text.slice(0, 10))
  const json = fc.jsonValue()
  const record = fc.record(
    {
      name: fc.string(),
      dueDate: fc.option(day),
      start: moment,
      steps: fc.array(fc.record({ label: fc.string(), found: json }, { requiredKeys: ['label'] })),
      answers: fc.array(json),
      payload: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), json),
    },
    { requiredKeys: ['name', 'start', 'steps'] },
  )

  it('returns every record unchanged', () => {
    fc.assert(
      fc.property(record, (record) => {
        const { id, version, createdAt, updatedAt, ...rest } = format.fromStored(roundTrip(record))
        assert.deepEqual(JSON.parse(JSON.stringify(rest)), JSON.parse(JSON.stringify(record)))
        assert.deepEqual(
          [id, version, createdAt, updatedAt],
          ['abcdefghij', 3, created.toISOString(), created.toISOString()],
        )
      }),
    )
  })

  it('stores date fields as BSON dates, and Parse Dates within JSON at any depth', () => {
    const encodedDate = { __type: 'Date', iso: '2026-03-01T10:00:00.000Z' }
    const date = new Date(encodedDate.iso)
    const object = {
      name: 'n',
      dueDate: '2026-03-01',
      start: '2026-03-01T10:00:00+02:00',
      steps: [{ label: 's', found: { at: encodedDate } }],
      answers: [encodedDate, 1],
      payload: { moments: [{ at: encodedDate }] },
    }
    assert.deepEqual(format.toStored(object), {
      name: 'n',
      dueDate: new Date('2026-03-01T00:00:00.000Z'),
      start: new Date('2026-03-01T08:00:00.000Z'),
      steps: [{ label: 's', found: { at: date } }],
      answers: [date, 1],
      payload: { moments: [{ at: date }] },
    })
    const { steps, answers, payload } = format.fromStored(roundTrip(object))
    assert.deepEqual([steps, answers, payload], [object.steps, object.answers, object.payload])
  })

  it('returns the day of a date field in which the class family stored a time', () => {
    const stored = { ...roundTrip({ name: 'n' }), dueDate: new Date('2026-03-01T23:30:00Z') }
    assert.equal(format.fromStored(stored).dueDate, '2026-03-01')
  })

  it('omits fields outside the schema', () => {
    const record = format.fromStored({ ...roundTrip({ name: 'n' }), secret: 1, _hashed_password: 'x' })
    assert.deepEqual(Object.keys(record).sort(), ['createdAt', 'id', 'name', 'updatedAt', 'version'])
  })

  it('names the field of a time that has a valid format and does not exist', () => {
    assert.throws(
      () => format.toStored({ start: '2026-06-30T23:59:60Z' }),
      (error: ServiceError) => error.error === 'RuleViolated' && error.violations[0]?.path === 'start',
    )
  })

  it('refuses a schema with a date that is only a part of a field, and a reference', () => {
    const date = Type.String({ format: 'date' })
    for (const field of [
      Type.Array(date),
      Type.Union([date, Type.Object({})]),
      Type.Object({ period: Type.Object({ from: date }) }),
      Type.Record(Type.String(), date),
      Type.Ref('Other'),
    ])
      assert.throws(() => createParseFormat(Type.Object({ field })), TypeError)
  })

  it('writes permissions in Parse’s fields, and refuses a record without them', () => {
    assert.deepEqual(permissions, {
      _rperm: ['role:a', 'u1'],
      _wperm: ['u1'],
    })
    assert.throws(() => toStoredPermissions({ read: ['u1'] } as never), TypeError)
  })

  it('generates ids in Parse’s format', () => {
    const ids = Array.from({ length: 1000 }, newId)
    assert.ok(ids.every((id) => /^[A-Za-z0-9]{10}$/.test(id)))
    assert.equal(new Set(ids).size, 1000)
  })
})
