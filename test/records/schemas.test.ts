import assert from 'node:assert/strict'
import { CLASS_NAMES, classes, classKind } from '../../records/kinds.ts'
import { inOneLine } from '../../schemas/violation.ts'

interface Node {
  type?: string | undefined
  description?: string | undefined
  additionalProperties?: unknown
  properties?: Record<string, Node> | undefined
}

/** Every object schema in a schema, the ones that are open on purpose left out. */
function* objectsIn(schema: Node, path: string): Generator<[string, Node]> {
  if (schema.type !== 'object') return
  if (!/\.(payload|data|valueObject)$/.test(path)) yield [path, schema]
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    yield* objectsIn(property, `${path}.${name}`)
}

const FORMS = ['stored', 'create', 'update', 'resource', 'body', 'replacement'] as const
const all = CLASS_NAMES.flatMap((name) =>
  FORMS.map((use) => [`${name}.${use}`, classKind(name)[use] as Node] as const),
)
const moment = { __type: 'Date', iso: '2026-01-02T03:04:05.000Z' }

describe('schemas', () => {
  for (const [name, schema] of all)
    it(`${name} is closed and every property is described`, () => {
      for (const [path, node] of objectsIn(schema, name)) {
        assert.equal(node.additionalProperties, false, `${path} is open`)
        assert.ok(node.description, `${path} is not described`)
      }
      for (const [property, { description }] of Object.entries(schema.properties ?? {}))
        assert.ok(description, `${name}.${property} is not described`)
    })

  it('can be compiled: the service does it when it needs them', () => {
    for (const name of CLASS_NAMES)
      for (const check of Object.values(classKind(name).checks)) assert.ok(Array.isArray(check({})), name)
  })

  it('have ids that differ', () => {
    const ids = CLASS_NAMES.flatMap((name) => FORMS.map((use) => classKind(name)[use].$id))
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.every(Boolean))
  })

  it('tell every violation at once, each with its path', () => {
    const found = classes.BloodPressure.checks.create({
      carePlanId: 'abc',
      timestamp: '2026-01-02',
      systolic: 'high',
      systolicUnit: 'mmHg',
      position: 'hanging',
      colour: 'red',
    })
    assert.equal(
      inOneLine(found.sort((a, b) => a.path.localeCompare(b.path))),
      'colour is not a known property; position must be one of standing, sitting, reclining, lying; ' +
        'systolic must be a number; timestamp must be {"__type":"Date","iso":"<time in UTC>"}',
    )
  })

  it('tell a faulty Date once', () => {
    for (const timestamp of [{ __type: 'Date', iso: 'x' }, { __type: 'X' }, { ...moment, more: 1 }, 5])
      assert.deepEqual(
        classes.BloodPressure.checks.update({ timestamp }).map(({ path }) => path),
        ['timestamp'],
      )
  })

  it('refuse numbers that are none', () => {
    for (const systolic of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '1'])
      assert.equal(classes.BloodPressure.checks.update({ systolic }).length, 1, String(systolic))
  })

  it('keep apart what is set on creation and what an update may change', () => {
    const keys = (schema: Node) => Object.keys(schema.properties ?? {}).sort()
    assert.deepEqual(keys(classes.CarePlan.update), [
      ...['achievementDate', 'actualStartDate', 'anonymous', 'description', 'dueDate', 'name', 'notes'],
      ...['outcome', 'proposedStartDate', 'status'],
    ])
    assert.deepEqual(keys(classes.Goal.update), [
      ...['achievementDate', 'description', 'dueDate', 'name', 'notes', 'outcome', 'status'],
    ])
    assert.deepEqual(keys(classes.Goal.create), [
      'carePlanId',
      'description',
      'dueDate',
      'ehrId',
      'name',
      'notes',
    ])
    assert.deepEqual(classes.Ehr.create.required, ['subjectId'])
    assert.deepEqual(classes.BloodPressure.create.required?.toSorted(), [
      ...['carePlanId', 'systolic', 'systolicUnit', 'timestamp'],
    ])
  })
})
