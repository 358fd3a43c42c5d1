import assert from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import { newId } from '../../../records/store/documents/ids.ts'
import {
  type ParseDocument,
  parseFormat,
  storedPermissions,
} from '../../../records/store/documents/parse-format.ts'
import type { ServiceError } from '../../../schemas/errors.ts'

const Resource = Type.Object({
  name: Type.String(),
  dueDate: Type.Optional(Type.Union([Type.String({ format: 'date' }), Type.Null()])),
  start: Type.String({ format: 'date-time' }),
  owner: Type.Optional(Type.String({ pointer: '_User' })),
  days: Type.Array(Type.String({ format: 'date' })),
  steps: Type.Array(
    Type.Object({ label: Type.String(), at: Type.Optional(Type.String({ format: 'date-time' })) }),
  ),
  period: Type.Optional(
    Type.Intersect([
      Type.Object({ from: Type.String({ format: 'date' }) }),
      Type.Object({ to: Type.Union([Type.String({ format: 'date' }), Type.Null()]) }),
    ]),
  ),
  seen: Type.Optional(Type.Record(Type.String(), Type.String({ format: 'date' }))),
  payload: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
const format = parseFormat(Resource)

const permissions = storedPermissions({ read: ['role:a', 'u1'], write: ['u1'] })
const created = new Date('2026-03-01T08:00:00.000Z')
const meta = { _id: 'abcdefghij', version: 3, _created_at: created, _updated_at: created, ...permissions }

/** What the database gives back of what it was given. */
const throughDatabase = (record: Parameters<typeof format.toStored>[0]) =>
  BSON.deserialize(
    BSON.serialize({ ...format.toStored(record), ...meta }, { ignoreUndefined: true }),
  ) as ParseDocument

describe('records/parse-format', () => {
  const noInvalid = {
    noInvalidDate: true,
    min: new Date('0000-01-01'),
    max: new Date('9999-12-31T23:59:59.999Z'),
  }
  const moment = fc.date(noInvalid).map((date) => date.toISOString())
  const day = moment.map((text) => text.slice(0, 10))
  const optional = { requiredKeys: ['name', 'start', 'days', 'steps'] as ['name', 'start', 'days', 'steps'] }
  const record = fc.record(
    {
      name: fc.string(),
      dueDate: fc.option(day),
      start: moment,
      owner: fc.stringMatching(/^[A-Za-z0-9]{10}$/),
      days: fc.array(day),
      steps: fc.array(fc.record({ label: fc.string(), at: moment }, { requiredKeys: ['label'] })),
      period: fc.record({ from: day, to: fc.option(day) }),
      seen: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), day),
      payload: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue()),
    },
    optional,
  )

  it('gives back every record as it was', () => {
    fc.assert(
      fc.property(record, (record) => {
        const { id, version, createdAt, updatedAt, ...rest } = format.fromStored(throughDatabase(record))
        assert.deepEqual(JSON.parse(JSON.stringify(rest)), JSON.parse(JSON.stringify(record)))
        assert.deepEqual(
          [id, version, createdAt, updatedAt],
          ['abcdefghij', 3, created.toISOString(), created.toISOString()],
        )
      }),
    )
  })

  it('stores dates as BSON dates at any depth, and pointers as Parse does', () => {
    const stored = format.toStored({
      name: 'n',
      dueDate: '2026-03-01',
      start: '2026-03-01T10:00:00+02:00',
      owner: 'u123456789',
      days: ['2024-02-29'],
      steps: [{ label: 's', at: '2026-03-01T10:00:00Z' }],
    })
    assert.deepEqual(stored, {
      name: 'n',
      dueDate: new Date('2026-03-01T00:00:00.000Z'),
      start: new Date('2026-03-01T08:00:00.000Z'),
      _p_owner: '_User$u123456789',
      days: [new Date('2024-02-29T00:00:00.000Z')],
      steps: [{ label: 's', at: new Date('2026-03-01T10:00:00.000Z') }],
    })
  })

  it('shows the day of a moment that the class family stored in a date field', () => {
    const stored = { ...throughDatabase({ name: 'n' }), dueDate: new Date('2026-03-01T23:30:00Z') }
    assert.equal(format.fromStored(stored).dueDate, '2026-03-01')
  })

  it('shows no field that the schema does not know', () => {
    const record = format.fromStored({ ...throughDatabase({ name: 'n' }), secret: 1, _hashed_password: 'x' })
    assert.deepEqual(Object.keys(record).sort(), ['createdAt', 'id', 'name', 'updatedAt', 'version'])
  })

  it('names the field of a time that its format allows and that does not exist', () => {
    assert.throws(
      () => format.toStored({ start: '2026-06-30T23:59:60Z' }),
      (error: ServiceError) => error.error === 'RuleViolated' && error.violations[0]?.path === 'start',
    )
  })

  it('refuses a schema whose dates could not be told apart from other text', () => {
    const Mixed = Type.Object({ when: Type.Union([Type.String({ format: 'date' }), Type.Object({})]) })
    assert.throws(() => parseFormat(Mixed), TypeError)
    assert.throws(() => parseFormat(Type.Object({ other: Type.Ref('Other') })), TypeError)
  })

  it('writes permissions in the three forms that Parse reads, and refuses a record without them', () => {
    assert.deepEqual(permissions, {
      _rperm: ['role:a', 'u1'],
      _wperm: ['u1'],
      _acl: { 'role:a': { r: true }, u1: { r: true, w: true } },
    })
    assert.throws(() => storedPermissions({ read: ['u1'] } as never), TypeError)
  })

  it('makes ids as Parse does', () => {
    const ids = Array.from({ length: 1000 }, newId)
    assert.ok(ids.every((id) => /^[A-Za-z0-9]{10}$/.test(id)))
    assert.equal(new Set(ids).size, 1000)
  })
})
