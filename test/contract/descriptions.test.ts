import assert from 'node:assert/strict'
import { createOpenApiDocument } from '../../path-api/documentation/openapi-document.ts'
import { operationTable } from '../../path-api/operation-table.ts'

/** Beginnings of a description that lacks its noun, such as "Which it is" or "Their mean". */
const WITHOUT_NOUN = /^(which|what|who|whose|whom|where|whether|when|how|that|its|their|those|of|by)\b/i

/** The one verb for what most operations of a method do, with the methods that may use it. */
const METHODS_BY_VERB: Record<string, readonly string[]> = {
  Get: ['get', 'post'],
  List: ['get', 'post'],
  Create: ['post', 'put'],
  Replace: ['put', 'post'],
  Update: ['patch', 'put'],
  Delete: ['delete'],
}

/** Verbs that say the same in other words. */
const SYNONYM = /^(Add|Change|Fetch|Load|Make|Read|Remove|Retrieve|Save|Show|Store)\b/

/** Members with values instead of schemas. */
const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const'])

/** Every summary and description of the document, with its place. */
function* textsIn(node: unknown, place = ''): Generator<[place: string, text: string]> {
  if (typeof node !== 'object' || node === null) return
  for (const [name, member] of Object.entries(node)) {
    const path = `${place}/${name}`
    if ((name === 'description' || name === 'summary') && typeof member === 'string') yield [path, member]
    else if (!VALUES.has(name)) yield* textsIn(member, path)
  }
}

describe('the texts of the OpenAPI document', () => {
  const document = createOpenApiDocument(operationTable, '0.0.0')
  const texts = [...textsIn(document)]
  const operations = Object.values(
    document.paths as Record<string, Record<string, { summary?: string }>>,
  ).flatMap((methods) => Object.entries(methods))

  it('are on every operation and field', () => assert.ok(texts.length > 5_000, String(texts.length)))

  it('begin with a noun or a verb', () =>
    assert.deepEqual(
      texts.filter(([, text]) => WITHOUT_NOUN.test(text)),
      [],
    ))

  it('do not refer to the specification, which readers do not have', () =>
    assert.deepEqual(
      texts.filter(([, text]) => /\bSpecification\b/.test(text)),
      [],
    ))

  it('begin with a capital or code, and are not empty', () =>
    assert.deepEqual(
      texts.filter(([, text]) => !/^[\p{Lu}`]/u.test(text)),
      [],
    ))

  it('use one verb for each method in the summaries', () =>
    assert.deepEqual(
      operations
        .filter(([method, { summary = '' }]) => {
          const methods = METHODS_BY_VERB[summary.split(' ', 1)[0] ?? '']
          return SYNONYM.test(summary) || (methods !== undefined && !methods.includes(method))
        })
        .map(([method, { summary }]) => `${method} ${summary}`),
      [],
    ))
})
