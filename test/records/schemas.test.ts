import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import { CLASS_NAMES, classKindOf, classKinds } from '../../records/kinds.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import { formatViolations } from '../../schemas/validation/violations.ts'

interface Node {
  type?: string | undefined
  description?: string | undefined
  additionalProperties?: unknown
  properties?: Record<string, Node> | undefined
}

/** Every object schema within a schema, except those that are intentionally open. */
function* objectsIn(schema: Node, path: string): Generator<[string, Node]> {
  if (schema.type !== 'object') return
  if (!/\.(payload|data|valueObject)$/.test(path)) yield [path, schema]
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    yield* objectsIn(property, `${path}.${name}`)
}

const FORMS = ['stored', 'create', 'update', 'resource', 'body', 'replacement'] as const
const schemas = CLASS_NAMES.flatMap((name) =>
  FORMS.map((use) => [`${name}.${use}`, classKindOf(name)[use] as Node] as const),
)
const moment = { __type: 'Date', iso: '2026-01-02T03:04:05.000Z' }

describe('schemas', () => {
  for (const [name, schema] of schemas)
    it(`are closed and describe every property: ${name}`, () => {
      for (const [path, node] of objectsIn(schema, name)) {
        assert.equal(node.additionalProperties, false, `${path} is open`)
        assert.ok(node.description, `${path} is not described`)
      }
      for (const [property, { description }] of Object.entries(schema.properties ?? {}))
        assert.ok(description, `${name}.${property} is not described`)
    })

  it('can be compiled, which the service does on first use', () => {
    for (const name of CLASS_NAMES)
      for (const check of Object.values(classKindOf(name).checks)) assert.ok(Array.isArray(check({})), name)
  })

  it('have different ids', () => {
    const ids = CLASS_NAMES.flatMap((name) => FORMS.map((use) => classKindOf(name)[use].$id))
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.every(Boolean))
  })

  it('report every violation at once, each with its path', () => {
    const violations = classKinds.BloodPressure.checks.create({
      carePlanId: 'abc',
      timestamp: '2026-01-02',
      systolic: 'high',
      systolicUnit: 'mmHg',
      position: 'hanging',
      colour: 'red',
    })
    assert.equal(
      formatViolations(violations.sort((a, b) => a.path.localeCompare(b.path))),
      'colour is not a known property; position must be one of standing, sitting, reclining, lying; ' +
        'systolic must be a number; timestamp must be {"__type":"Date","iso":"<time in UTC>"}',
    )
  })

  it('report a broken keyword in words', () => {
    const broken: [object, unknown, string][] = [
      [{ type: 'number', minimum: 3 }, 2, 'must be at least 3'],
      [{ type: 'number', exclusiveMaximum: 3 }, 3, 'must be less than 3'],
      [{ const: true }, false, 'must be true'],
      [{ type: 'array', minItems: 1 }, [], 'must have at least 1 item'],
      [
        { type: 'array', uniqueItems: true },
        ['a', 'b', 'a'],
        'must not contain the same item twice (items 0 and 2)',
      ],
      [
        { oneOf: [{ minimum: 1 }, { minimum: 2 }], type: 'number' },
        3,
        'must have exactly one of the allowed forms',
      ],
    ]
    for (const [schema, value, message] of broken)
      assert.deepEqual(
        createValidator(schema as TSchema)(value).map((violation) => violation.message),
        [message],
      )
  })

  it('report a malformed Date once', () => {
    for (const timestamp of [{ __type: 'Date', iso: 'x' }, { __type: 'X' }, { ...moment, more: 1 }, 5])
      assert.deepEqual(
        classKinds.BloodPressure.checks.update({ timestamp }).map(({ path }) => path),
        ['timestamp'],
      )
  })

  it('refuse NaN and infinities', () => {
    for (const systolic of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '1'])
      assert.equal(classKinds.BloodPressure.checks.update({ systolic }).length, 1, String(systolic))
  })

  it('distinguish fields of a creation from those that an update may change', () => {
    const keys = (schema: Node) => Object.keys(schema.properties ?? {}).sort()
    assert.deepEqual(keys(classKinds.CarePlan.update), [
      'achievementDate',
      'actualStartDate',
      'anonymous',
      'description',
      'dueDate',
      'name',
      'notes',
      'outcome',
      'proposedStartDate',
      'status',
    ])
    assert.deepEqual(keys(classKinds.Goal.update), [
      'achievementDate',
      'description',
      'dueDate',
      'name',
      'notes',
      'outcome',
      'status',
    ])
    assert.deepEqual(keys(classKinds.Goal.create), [
      'carePlanId',
      'description',
      'dueDate',
      'ehrId',
      'name',
      'notes',
    ])
    assert.deepEqual(classKinds.Ehr.create.required, ['subjectId'])
    assert.deepEqual(classKinds.BloodPressure.create.required?.toSorted(), [
      'carePlanId',
      'systolic',
      'systolicUnit',
      'timestamp',
    ])
  })
})
