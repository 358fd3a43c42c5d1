import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TSchema } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { resolveType } from '../../../records/types/type-registry.ts'
import { compileCheck } from '../../../records/types/value-schema/value-schema.ts'
import { UserOccurrence } from '../../../schemas/user-data/user-data.ts'
import { createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createRandomText } from '../../harness/naughty-values.ts'
import { createPerson, createRoleHolder, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

type Shown = Record<string, unknown>

describe('types of data', () => {
  let modeller: Person
  let reader: Person
  before(async () => {
    ;[modeller, reader] = await Promise.all([createRoleHolder('modeller'), createPerson()])
  })

  const newName = () => `t-${randomUUID()}`
  const pathOf = (family: string, type?: string) =>
    `/data/type/${family}${type === undefined ? '' : `/${type}`}`
  const dataType = (more: object = {}) => ({
    type: newName(),
    name: 'Peak flow at home',
    schema: { type: 'number' },
    unit: 'L/min',
    ...more,
  })
  const add = (body: object, family = 'data', who = modeller) => who.call('POST', pathOf(family), body)

  it('are not found by an unknown name, whatever the operation that names one in its path', async () => {
    const patient = await createPatient()
    const occurrence = { ...(exampleOf(UserOccurrence) as Shown), carePlanId: await createPlan(patient) }
    const typeOperations = operationTable.filter(({ path }) => /^\/data\/.*\/\{(type|eventId)\}$/.test(path))
    assert.ok(typeOperations.length > 10)
    for (const { id, method, path, body } of typeOperations) {
      const type = newName()
      const typePath = path.replace('{mvUid}', patient.mvUid).replace(/\{\w+\}$/, type)
      const requestBody =
        method === 'post' ? occurrence : body && { ...(exampleOf(body as TSchema) as Shown), type }
      const caller = path.includes('{mvUid}') ? patient : modeller
      const answer = await caller.call(method.toUpperCase(), typePath, requestBody)
      assert.equal(answer.status, 404, `${id}: ${JSON.stringify(answer.body)}`)
    }
  })

  it('include a dozen common built-in ones', async () => {
    const { items } = assertStatus(await reader.call('GET', `${pathOf('data')}?limit=1000`))
    const usual = items.map(({ type }: Shown) => type)
    for (const type of ['steps', 'sleep', 'activity', 'pain', 'mood', 'peakflow', 'inr', 'waist'])
      assert.ok(usual.includes(type), type)
    assert.ok(usual.length >= 12)
    const steps = assertStatus(await reader.call('GET', pathOf('data', 'steps')))
    const { createdAt, updatedAt, used, ...stepsType } = steps
    assert.deepEqual(stepsType, {
      type: 'steps',
      name: 'Steps',
      description: null,
      codes: [{ system: 'http://loinc.org', code: '55423-8' }],
      texts: { nl: { name: 'Stappen' } },
      schema: { type: 'integer', minimum: 0, maximum: 200_000 },
      unit: '{steps}',
      ranges: { warn: { min: 0, max: 50_000 } },
      deviceTypes: [],
      perDay: 288,
      retired: false,
      version: 1,
    })
    for (const family of ['event', 'device'])
      assert.ok(assertStatus(await reader.call('GET', pathOf(family))).items.length >= 3, family)
    assertProblem(await modeller.call('DELETE', pathOf('data', 'steps')), 409, 'conflict')
  })

  for (const [family, body] of [
    ['data', { name: 'Peak flow', schema: { type: 'number' }, unit: 'L/min', perDay: 4 }],
    ['event', { name: 'Dizziness', schema: { type: 'object' }, severity: 'LOW' }],
    ['device', { name: 'Watch', manufacturer: 'Example', model: 'W1', dataTypes: ['steps'] }],
  ] as const)
    it(`are created, replaced and deleted by modellers, and read by everybody who is logged in: ${family}`, async () => {
      const definition = { ...body, type: newName() }
      assertProblem(await add(definition, family, reader), 403, 'forbidden')
      const added = await add(definition, family)
      const storedType = assertStatus(added, 201)
      for (const [name, value] of Object.entries(definition)) assert.deepEqual(storedType[name], value, name)
      assert.equal(added.headers.get('location'), pathOf(family, definition.type))
      assert.equal(added.etag, '"1"')
      assertProblem(await add(definition, family), 409, 'conflict')
      assertProblem(await reader.call('PUT', pathOf(family, definition.type), definition), 403, 'forbidden')
      const change = { ...definition, name: 'Another', texts: { nl: { name: 'Een andere' } } }
      const put = (ifMatch: string) =>
        modeller.call('PUT', pathOf(family, definition.type), change, { 'if-match': ifMatch })
      assert.equal(assertStatus(await put('"1"')).version, 2)
      assertProblem(await put('"1"'), 412, 'precondition-failed')
      assertProblem(await modeller.call('PUT', pathOf(family, 'other'), definition), 400, 'id-mismatch')
      const read = async (query: string) =>
        assertStatus(await reader.call('GET', pathOf(family, definition.type) + query)).name
      assert.deepEqual(
        [await read(''), await read('?version=1'), await read('?version=2')],
        ['Another', body.name, 'Another'],
      )
      assertProblem(
        await reader.call('GET', `${pathOf(family, definition.type)}?version=3`),
        404,
        'not-found',
      )
      assertProblem(await reader.call('DELETE', pathOf(family, definition.type)), 403, 'forbidden')
      assertStatus(await modeller.call('DELETE', pathOf(family, definition.type)), 204)
      assertProblem(await reader.call('GET', pathOf(family, definition.type)), 404, 'not-found')
    })

  it('are created once by concurrent requests, and for an Idempotency-Key', async () => {
    const body = dataType()
    const twice = await Promise.all([add(body), add(body)])
    assert.deepEqual(twice.map(({ status }) => status).sort(), [201, 409])
    const other = dataType()
    const key = { 'idempotency-key': randomUUID() }
    for (let i = 0; i < 2; i++) assertStatus(await modeller.call('POST', pathOf('data'), other, key), 201)
  })

  it('keep their unit and whether they are numeric, and limit only numeric values', async () => {
    const body = dataType()
    assertStatus(await add(body), 201)
    const replace = (next: { type: string } & Shown) => modeller.call('PUT', pathOf('data', next.type), next)
    for (const unit of ['L', undefined]) {
      const other = await replace({ ...body, unit })
      assert.deepEqual(assertProblemPlaces(other, 422, 'rule-violated'), ['body.unit'])
    }
    const count = dataType({ unit: undefined })
    assertStatus(await add(count), 201)
    const counted = await replace({ ...count, unit: 'kg' })
    assert.deepEqual(assertProblemPlaces(counted, 422, 'rule-violated'), ['body.unit'])
    const named = await replace({ ...count, schema: { type: 'string' } })
    assert.deepEqual(assertProblemPlaces(named, 422, 'rule-violated'), ['body.schema.type'])
    assertStatus(await replace({ ...count, schema: { type: 'integer' }, unit: null }))
    const word = dataType({ unit: undefined, schema: { type: 'string' } })
    assertStatus(await add(word), 201)
    const number = await replace({ ...word, schema: { type: 'number' } })
    assert.deepEqual(assertProblemPlaces(number, 422, 'rule-violated'), ['body.schema.type'])
    const text = dataType({ schema: { type: 'string' }, ranges: { hard: { min: 1 } } })
    assert.deepEqual(assertProblemPlaces(await add(text), 422, 'rule-violated'), ['body.unit', 'body.ranges'])
    const crossed = dataType({ ranges: { hard: { min: 2, max: 1 }, warn: { min: 3, max: 2 } } })
    assert.deepEqual(assertProblemPlaces(await add(crossed), 422, 'rule-violated'), [
      'body.ranges.hard',
      'body.ranges.warn',
    ])
    const event = { type: newName(), name: 'x', schema: { type: 'string' } }
    assert.deepEqual(assertProblemPlaces(await add(event, 'event'), 422, 'rule-violated'), [
      'body.schema.type',
    ])
  })

  it('refuse names that would change a path', async () => {
    const names = ['__proto__', 'constructor.x', '../x', 'x'.repeat(1000), 'Steps', '', 'a b', 'é', 1, null]
    for (const type of names)
      assert.deepEqual(assertProblemPlaces(await add(dataType({ type })), 400, 'invalid-input'), [
        'body.type',
      ])
    for (const type of ['__proto__', 'X', 'a'.repeat(65)])
      assertProblem(await reader.call('GET', pathOf('data', type)), 400, 'invalid-input')
    for (const type of ['constructor', 'tostring'])
      assertProblem(await reader.call('GET', pathOf('data', type)), 404, 'not-found')
  })

  const doubled = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`d${i}`, { allOf: Array(2).fill({ $ref: `#/$defs/d${i + 1}` }) }]),
  )
  const refusedSchemas: [what: string, schema: unknown, path: string][] = [
    ['refers to itself', { $ref: '#' }, 'schema.$ref'],
    [
      'refers to itself by a definition',
      { $defs: { a: { properties: { b: { $ref: '#/$defs/a' } }, type: 'object' } }, $ref: '#/$defs/a' },
      'schema.$defs',
    ],
    ['grows by references', { $defs: { ...doubled, d30: {} }, $ref: '#/$defs/d0' }, 'schema'],
    ['refers to another place', { $ref: 'https://example.org/schema.json' }, 'schema.$ref'],
    ['refers to what is not there', { $ref: '#/$defs/toString' }, 'schema.$ref'],
    ['has a name of its own', { $id: 'https://example.org/', type: 'number' }, 'schema.$id'],
    ['is of another dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }, 'schema.$schema'],
    ['has 10,000 choices', { enum: Array.from({ length: 10_000 }, (_, i) => i) }, 'schema.enum'],
    ['has a pattern with look-around', { type: 'string', pattern: '(?=a)a' }, 'schema.pattern'],
    ['has a pattern with a back-reference', { type: 'string', pattern: '(a+)\\1' }, 'schema.pattern'],
    ['has a pattern that grows', { type: 'string', pattern: '((a{1000}){1000}){1000}' }, 'schema.pattern'],
    ['has a pattern with many repetitions', { pattern: '(?:a{500}b){4}' }, 'schema.pattern'],
    [
      'has such a name of properties',
      { type: 'object', patternProperties: { '(?!a)': {} } },
      'schema.patternProperties',
    ],
    ['has a format of others', { type: 'string', format: 'regex' }, 'schema.format'],
    ['has a keyword that nobody knows', { type: 'number', minimun: 1 }, 'schema.minimun'],
    ['has a keyword of another type', { type: 'number', minLength: 1 }, 'schema'],
    ['has a keyword with a wrong value', { type: 'number', minimum: '1' }, 'schema.minimum'],
    ['has an unknown type', { type: 'float' }, 'schema.type'],
    ['has 101 subschemas', { anyOf: Array(101).fill({ type: 'number' }) }, 'schema'],
    [
      'requires 101 names beside them',
      { type: 'object', dependentRequired: { a: Array.from({ length: 101 }, (_, i) => `n${i}`) } },
      'schema',
    ],
    ['is larger than 64 KB', { type: 'string', description: 'x'.repeat(65_536) }, 'schema'],
  ]
  for (const [what, schema, path] of refusedSchemas)
    it(`refuse a schema that ${what}`, async () => {
      const body = dataType({ schema })
      delete (body as { unit?: string }).unit
      const places = assertProblemPlaces(await add(body), 422, 'rule-violated')
      assert.ok(
        places.every((place) => place.startsWith('body.schema')) && places.includes(`body.${path}`),
        String(places),
      )
      assertProblem(await reader.call('GET', pathOf('data', body.type)), 404, 'not-found')
    })

  it('require a schema that is an object', async () => {
    for (const schema of [false, true, null, [], 'x', 1])
      assert.deepEqual(assertProblemPlaces(await add(dataType({ schema })), 400, 'invalid-input'), [
        'body.schema',
      ])
  })

  it('accept patterns on which a backtracking engine would run forever', async () => {
    const body = dataType({ schema: { type: 'string', pattern: '^(a+)+$' }, unit: undefined })
    assertStatus(await add(body), 201)
  })

  it('check each value by the pattern of its own schema', () => {
    const checks = ['a', 'b'].map((pattern) => compileCheck({ type: 'string', pattern }))
    assert.deepEqual(
      checks.map((check) => check('b').map(({ path, code }) => [path, code])),
      [[['', 'pattern']], []],
    )
  })

  it('have patterns of ECMA-262', () => {
    const patterns = [
      '^.$',
      '^a.b$',
      '^.{1,2}$',
      '^\\s$',
      '^\\S$',
      '^[^\\s]$',
      '^[\\Sb]$',
      '^\\v$',
      '^\\0$',
      '^\\cJ$',
    ]
    const escapes = [
      '^\\u0041$',
      '^\\u{1F600}$',
      '^\\ud83d\\ude00$',
      '^[\\u{1F600}a]$',
      '^[^]$',
      '[]',
      '^[[a]$',
      '^[\\b]$',
    ]
    const otherPatterns = [
      '^\\p{Lu}$',
      '^\\P{gc=L}$',
      '^[\\p{Script=Greek}]$',
      '^(?<n>a)$',
      '(a$|b)c',
      '^[$.]$',
      '^[a^]$',
      '^\\x41$',
      '\\bé',
      '^\\/$',
    ]
    const texts =
      'a|A|b|\n|\r|\u2028|\u00a0|\ufeff|\u0085|\v|\f| |\0|\b|é|α|😀|[|^|$|.|/|ab|a\nb|a\n|a\u2028b|a-b|bc|'.split(
        '|',
      )
    for (const pattern of [...patterns, ...escapes, ...otherPatterns]) {
      const check = compileCheck({ type: 'string', pattern })
      const fitting = texts.filter((text) => check(text).length === 0)
      assert.deepEqual(
        fitting,
        texts.filter((text) => new RegExp(pattern, 'u').test(text)),
        pattern,
      )
    }
  })

  it('refuse patterns that are not of ECMA-262 or not supported, and say why', async () => {
    const reasons: [pattern: string, reason: RegExp][] = [
      ['(?i)abc', /Invalid group/],
      ['\\Aabc', /Invalid escape/],
      ['a{,3}', /Incomplete quantifier/],
      ['\\p{Letter}', /\\p\{Lu\}/],
      ['(?=a)a', /look-around/],
      ['(a)\\1', /back-reference/],
      ['(?:a{500}b){4}', /repeat/],
    ]
    for (const [pattern, reason] of reasons) {
      const answer = await add(dataType({ schema: { type: 'string', pattern }, unit: undefined }))
      assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.schema.pattern'])
      assert.match(answer.body.errors[0].message, reason)
    }
  })

  it('check patterns of former releases, which are not of ECMA-262', () => {
    const check = compileCheck({ type: 'string', pattern: '(?i)^abc' })
    assert.deepEqual([check('ABC').length, check('x').length], [0, 1])
  })

  it('check choices, constants and unique items by their content', () => {
    const choices = [{ a: 1, b: [2] }, [3], '[3]', 'x', null, 0]
    const isOneOf = compileCheck({ enum: choices })
    for (const value of [...choices, { b: [2], a: 1 }, -0]) assert.deepEqual(isOneOf(value), [])
    assert.deepEqual(
      isOneOf({ a: 1 }).map(({ message }) => message),
      ['must be one of {"a":1,"b":[2]}, [3], [3], x, null, 0'],
    )
    const isUnique = compileCheck({ type: 'array', uniqueItems: true })
    assert.deepEqual(isUnique([1, '1', {}, [], '{}', '[]', true, 'true']), [])
    assert.match(isUnique([{ a: 1, b: 2 }, 1, { b: 2, a: 1 }])[0]?.message ?? '', /items 0 and 2/)
    const isConstant = compileCheck({ const: { a: [1] } })
    assert.deepEqual([isConstant({ a: [1] }).length, isConstant({ a: ['1'] }).length], [0, 1])
  })

  it('name at most 50 of many choices', () => {
    const check = compileCheck({ enum: Array.from({ length: 1000 }, (_, i) => ({ i })) })
    assert.match(check(1)[0]?.message ?? '', /\{"i":49\} and 950 more$/)
  })

  it('need not list the properties that they require, and may allow several types', () => {
    const check = compileCheck({ type: ['object', 'string'], required: ['a'] })
    assert.deepEqual(check('x'), [])
    assert.deepEqual(check({}), [{ path: 'a', code: 'required', message: 'is required' }])
  })

  it('refuse a value on which the patterns of its schema take too long', () => {
    const check = compileCheck({ type: 'array', items: { type: 'string', pattern: '^(?:a|ab){200}$' } })
    assert.deepEqual(
      check(['a', 'b'].map((letter) => letter.repeat(200))).map(({ path }) => path),
      ['1'],
    )
    const slow = compileCheck({ type: 'array', items: { type: 'string', pattern: 'a[ab]{200}c' } })
    const texts = Array.from({ length: 50 }, (_, i) => createRandomText(i + 1, 1_000))
    const [violation, ...others] = slow(texts)
    assert.deepEqual([violation?.code, violation?.path, others], ['pattern', '', []])
    assert.deepEqual(slow([`a${'b'.repeat(200)}c`]), [])
  })

  it('are read once for all concurrent requests', async () => {
    const records = { db: service.db, definitions: new LRUCache<string, object>({ max: 10 }) }
    const lookups = Array.from({ length: 50 }, () => resolveType(records, 'data', 'steps'))
    assert.equal(new Set(await Promise.all(lookups)).size, 1)
    assert.equal(await resolveType(records, 'data', 'nothing'), undefined)
    assert.deepEqual([...records.definitions.keys()], ['types.data/steps'])
  })
})
