import assert from 'node:assert/strict'
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

  it('has patterns that every language supports, and no default that makes a property required', () => {
    for (const [path, { pattern, properties, required }] of objects) {
      if (typeof pattern === 'string') assert.doesNotMatch(pattern, /\\p\{/, path)
      if (!path.includes('/schemas/') || typeof properties !== 'object') continue
      for (const [name, property] of Object.entries(properties ?? {}))
        if ((property as Json).default !== undefined)
          assert.ok(Array.isArray(required) && required.includes(name), `${path}/${name}`)
    }
  })

  it('lists the codes of problems', () => {
    const { schemas } = document.components as { schemas: { Problem: { properties: { code: Json } } } }
    assert.equal(
      (schemas.Problem.properties.code.enum as string[]).length,
      Object.keys(errorCatalogue).length,
    )
  })
})
