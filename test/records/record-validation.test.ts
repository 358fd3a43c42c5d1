import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Values } from '../../records/ehr-records/kind.ts'
import * as rules from '../../records/ehr-records/validation/record-validation.ts'
import { CLASS_NAMES, type ClassName, classKindOf } from '../../records/kinds.ts'
import { fromClassForm } from '../../schemas/forms/class-form.ts'
import { formatViolations } from '../../schemas/validation/violations.ts'

function createFaults(name: ClassName, values: Values) {
  const kind = classKindOf(name)
  return rules.validateClassCreate(kind, fromClassForm(kind.fields, values), kind.checks.create(values))
}

function updateFaults(name: ClassName, merged: Values, changed: string[]) {
  const kind = classKindOf(name)
  const values = Object.fromEntries(Object.entries(merged).filter(([field]) => changed.includes(field)))
  return rules.validateClassUpdate(
    kind,
    fromClassForm(kind.fields, merged),
    changed,
    kind.checks.update(values),
  )
}

const timestamp = { __type: 'Date', iso: '2026-01-02T03:04:05.000Z' }
const pressure = { carePlanId: 'plan', timestamp, systolic: 120, systolicUnit: 'mm[Hg]' }
const index = { carePlanId: 'plan', timestamp }
const body = { weight: 70, weightUnit: 'kg', height: 175, heightUnit: 'cm' }

const paths = ({ violations }: ReturnType<typeof createFaults>) => violations.map(({ path }) => path).sort()

describe('validation on creation', () => {
  it('accepts valid records', () => {
    assert.deepEqual(createFaults('BloodPressure', pressure), { missing: [], violations: [] })
    assert.deepEqual(createFaults('BodyMassIndex', { ...index, ...body }), { missing: [], violations: [] })
    assert.deepEqual(createFaults('BodyMassIndex', { ...index, bmi: 22.9 }), { missing: [], violations: [] })
  })

  it('reports all missing fields, including nulls, in alphabetical order', () => {
    assert.deepEqual(createFaults('BloodPressure', { carePlanId: 'plan', systolic: 120 }).missing, [
      'systolicUnit',
      'timestamp',
    ])
    assert.deepEqual(createFaults('Goal', { ehrId: null, name: 'x' }).missing, ['carePlanId', 'ehrId'])
  })

  it('requires both parts of a diastolic pressure', () => {
    assert.deepEqual(createFaults('BloodPressure', { ...pressure, diastolic: 80 }).missing, ['diastolicUnit'])
    assert.deepEqual(createFaults('BloodPressure', { ...pressure, diastolicUnit: 'kPa' }).missing, [
      'diastolic',
    ])
  })

  it('requires weight and height, or the index from a device', () => {
    assert.deepEqual(createFaults('BodyMassIndex', index).missing, [
      'height',
      'heightUnit',
      'weight',
      'weightUnit',
    ])
    assert.deepEqual(createFaults('BodyMassIndex', { ...index, weight: 70 }).missing.length, 3)
    assert.deepEqual(paths(createFaults('BodyMassIndex', { ...index, ...body, bmi: 22 })), ['bmi'])
    assert.deepEqual(paths(createFaults('BodyMassIndex', { ...index, ...body, weight: 600, height: 30 })), [
      'bmi',
    ])
  })

  it('rejects a diastolic pressure that is not below the systolic one, in any units', () => {
    assert.deepEqual(
      paths(createFaults('BloodPressure', { ...pressure, diastolic: 16, diastolicUnit: 'kPa' })),
      ['diastolic'],
    )
    assert.deepEqual(
      paths(createFaults('BloodPressure', { ...pressure, diastolic: 15.9, diastolicUnit: 'kPa' })),
      [],
    )
  })

  it('reports violations of schema and rules together', () => {
    const faults = createFaults('BloodPressure', {
      ...pressure,
      systolic: 500,
      heartRate: 'fast',
      colour: 'red',
    })
    assert.deepEqual(paths(faults), ['colour', 'heartRate', 'systolic'])
  })

  it('distinguishes unknown fields from those that clients may not set', () => {
    const faults = createFaults('CarePlan', {
      ehrId: 'ehr',
      name: 'x',
      status: 'ACTIVE',
      state: 'ACTIVE',
      version: 7,
    })
    assert.equal(
      formatViolations(faults.violations),
      'status must not be set by clients; state is not a known property; version must not be set by clients',
    )
  })

  it('refuses keys and depths of a payload that queries could not address', () => {
    const custom = (payload: unknown) =>
      paths(createFaults('Custom', { ehrId: 'e', carePlanId: 'p', modelClassName: 'Model', payload }))
    const nested = (levels: number): unknown => (levels === 1 ? {} : { a: nested(levels - 1) })
    assert.deepEqual(custom(nested(32)), [])
    assert.equal(custom(nested(33)).length, 1)
    assert.deepEqual(custom({ a: [{ $where: 1 }] }), ['payload.a.0.$where'])
    assert.deepEqual(custom({ 'a.b': 1, c: { $gt: 1 } }), ['payload.a.b'])
    assert.deepEqual(custom(JSON.parse('{"a":{"__proto__":{}}}')), ['payload.a.__proto__'])
    assert.deepEqual(custom('text'), ['payload'])
  })

  it('never throws', () => {
    const anything = fc.dictionary(
      fc.constantFrom(
        'systolic',
        'systolicUnit',
        'weight',
        'weightUnit',
        'height',
        'heightUnit',
        'bmi',
        'payload',
        'x',
      ),
      fc.anything({ withNullPrototype: true }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...CLASS_NAMES), anything, (className, values) => {
        createFaults(className, { ...pressure, ehrId: 'e', name: 'n', ...values })
        updateFaults(className, values, Object.keys(values))
      }),
    )
  })
})

describe('validation of an update', () => {
  it('validates the merged object', () => {
    const stored = { ...pressure, ehrId: 'ehr', version: 1, diastolic: 80, diastolicUnit: 'mm[Hg]' }
    assert.deepEqual(paths(updateFaults('BloodPressure', { ...stored, systolic: 70 }, ['systolic'])), [
      'diastolic',
    ])
    assert.deepEqual(paths(updateFaults('BloodPressure', { ...stored, systolic: 90 }, ['systolic'])), [])
    const { systolicUnit: _, ...without } = stored
    assert.deepEqual(updateFaults('BloodPressure', without, ['systolicUnit']).missing, ['systolicUnit'])
  })

  it('refuses changes of fixed fields', () => {
    const plan = { ehrId: 'other', name: 'x', status: 'COMPLETED', state: 1 }
    const { status: _, ...without } = plan
    assert.deepEqual(updateFaults('CarePlan', without, ['status']).missing, ['status'])
    const { violations } = updateFaults('CarePlan', plan, ['ehrId', 'state', 'status', 'language'])
    assert.equal(
      formatViolations(violations),
      'ehrId cannot be changed; state is not a known property; language cannot be changed',
    )
  })
})
