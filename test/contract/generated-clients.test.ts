import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { errorCatalogue } from '../../schemas/errors.ts'
import { request } from '../harness/service/service.ts'

type Json = Record<string, unknown>

/** Every object in the document, with its path. */
function* walkObjects(value: unknown, path = ''): Generator<[path: string, object: Json]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [path, value as Json]
  for (const [name, member] of Object.entries(value)) yield* walkObjects(member, `${path}/${name}`)
}

describe('the OpenAPI document, for generators of clients', () => {
  let document: Json
  let objects: [path: string, object: Json][]
  before(async () => {
    document = (await request().get('/openapi.json')).body
    objects = [...walkObjects(document)]
  })

  it('names each operation once', () => {
    const ids = objects.flatMap(([path, { operationId }]) =>
      path.startsWith('/paths/') && operationId ? [operationId] : [],
    )
    assert.ok(ids.length > 250)
    assert.deepEqual(ids, [...new Set(ids)])
  })

  it('describes each operation and each body', () => {
    for (const [path, { operationId, description, content }] of objects) {
      if (operationId) assert.ok(description, path)
      if (/schema|example/.test(path) || typeof content !== 'object') continue
      for (const [type, media] of Object.entries(content ?? {}))
        assert.ok((media as Json).schema, `${path} ${type}`)
    }
  })

  it('names the clause of the specification in an extension property, not in the description', () => {
    for (const [path, operation] of objects) {
      if (!path.startsWith('/paths/') || !operation.operationId) continue
      assert.match(String(operation['x-specification'] ?? ''), /./, path)
      assert.doesNotMatch(String(operation.description), /Specification: |Beyond the specification/, path)
    }
  })

  it('has patterns that every language supports, and no defaults of properties', () => {
    for (const [path, { pattern, properties }] of objects) {
      if (typeof pattern === 'string') assert.doesNotMatch(pattern, /\\p\{/, path)
      if (!path.includes('/schemas/') || typeof properties !== 'object') continue
      for (const [name, property] of Object.entries(properties ?? {}))
        assert.equal((property as Json).default, undefined, `${path}/${name}`)
    }
  })

  it('names the enumerations of sets, since clients in Java have no sets of unnamed ones', () => {
    const sets = objects.filter(
      ([path, { uniqueItems, items }]) => path.startsWith('/components/schemas/') && uniqueItems && items,
    )
    const [roles] = sets.filter(([path]) => path.endsWith('/Account/properties/roles'))
    assert.deepEqual(roles?.[1].items, { $ref: '#/components/schemas/AccountRole' })
    for (const [path, { items }] of sets) assert.equal((items as Json).enum, undefined, path)
  })

  it('has examples that match their schemas', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...document, $id: 'document' })
    const bodies = objects.filter(
      ([path, { schema, example }]) =>
        /^\/paths\/.*\/content\//.test(path) && schema && example !== undefined,
    )
    assert.ok(bodies.length > 300)
    const checks = new Map<string, ReturnType<typeof ajv.compile>>()
    for (const [path, { schema, example }] of bodies) {
      const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
      const validate = checks.get(text) ?? ajv.compile(JSON.parse(text))
      checks.set(text, validate)
      assert.ok(validate(example), `${path}: ${ajv.errorsText(validate.errors)}`)
    }
  })

  it('has every limit that the rules of the service check', () => {
    const { schemas } = document.components as {
      schemas: Record<string, { properties?: Record<string, Json> }>
    }
    // Data types have units of their own.
    const requestSchemas = Object.entries(schemas).filter(([name]) =>
      /^(?!DataType|Measurement).*(Body|Replacement|Create|Update|Params)$/.test(name),
    )
    const units = requestSchemas.flatMap(([, { properties = {} }]) =>
      Object.entries(properties).filter(([name]) => /^unit$|Unit$/.test(name)),
    )
    assert.ok(units.length >= 36)
    for (const [name, { enum: names }] of units) assert.ok(Array.isArray(names) && names.length > 0, name)
    assert.deepEqual(schemas.BloodPressureBody?.properties?.diastolicUnit?.enum, ['mm[Hg]', 'mmHg', 'kPa'])
    const { password } = schemas.Registration?.properties ?? {}
    assert.deepEqual([password?.minLength, password?.maxLength], [10, 72])
    const { systolic } = schemas.BloodPressureCreate?.properties ?? {}
    assert.deepEqual([systolic?.minimum, systolic?.maximum], [5.3328, 300])
  })

  it('lists the codes of problems', () => {
    const { schemas } = document.components as { schemas: { Problem: { properties: { code: Json } } } }
    assert.equal(
      (schemas.Problem.properties.code.enum as string[]).length,
      Object.keys(errorCatalogue).length,
    )
  })
})
