import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import { Form, Raw } from '../../path-api/answer/media.ts'
import { exampleOf } from '../../path-api/documentation/example.ts'
import { openApi } from '../../path-api/documentation/openapi.ts'
import { namesIn, type Operation } from '../../path-api/operation/operation.ts'
import { named, pathMatcher } from '../../path-api/request/match.ts'
import { impliedErrors } from '../../path-api/response/problem.ts'
import { table } from '../../path-api/table.ts'
import { errorCode, errors } from '../../schemas/errors.ts'
import { checkOf } from '../../schemas/registry.ts'
import specified from '../operations.json' with { type: 'json' }

const title = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`
const sorted = (lines: Iterable<string>) => [...lines].sort()

/** The JSON schemas that an operation shows to clients. */
function schemasOf({ params, query, body, reply }: Operation): TSchema[] {
  const schemas = [params, query, body instanceof Form ? body.schema : body, reply[1]]
  return schemas.filter((schema): schema is TSchema => schema !== undefined && !(schema instanceof Raw))
}

function eachMember(schema: TSchema, visit: (member: TSchema, place: string) => void, place = ''): void {
  visit(schema, place)
  for (const [name, member] of Object.entries<TSchema>(schema.properties ?? {})) {
    eachMember(member, visit, `${place}.${name}`)
  }
  if (schema.items) eachMember(schema.items, visit, `${place}[]`)
  for (const member of schema.anyOf ?? []) eachMember(member, visit, place)
}

interface Documented {
  responses: Record<string, { $ref: string }>
}
interface Refusal {
  content: Record<string, { examples: Record<string, unknown> }>
}
const { paths, components } = openApi(table, '0') as {
  paths: Record<string, Record<string, Documented>>
  components: { responses: Record<string, Refusal> }
}

describe('the table of operations', () => {
  it('holds what the specification lists, and the rest is marked as extra', () => {
    const specifiedTitles = specified
      .filter(({ family }) => family === 'path')
      .map(({ method, path }) => title({ method, path: path.replace(/(?<=.)\/$/, '') }))
    const built = table.filter(({ extra }) => !extra).map(title)
    assert.deepEqual(sorted(built), sorted(specifiedTitles))
  })

  it('names every operation once, verb first', () => {
    assert.equal(new Set(table.map(({ id }) => id)).size, table.length)
    for (const { id } of table) assert.match(id, /^[a-z]+([A-Z0-9][a-z0-9]*)+$/)
  })

  it('answers success with 2xx, or leads on from the form of a page', () => {
    const others = table.filter(({ reply: [status] }) => status < 200 || status > 299)
    for (const { id, reply, body } of others) assert.ok(reply[0] === 303 && body instanceof Form, id)
  })

  it('reaches every operation: none is shadowed by another', () => {
    const find = pathMatcher(table)
    for (const operation of table) {
      const values = namesIn(operation.path).map((name) =>
        String(exampleOf(operation.params.properties[name]!)),
      )
      const path = values.reduce((filled, value) => filled.replace(/\{\w+\}/, value), operation.path)
      const found = find(path)
      assert.equal(found?.routes.get(operation.method), operation, title(operation))
      assert.deepEqual(Object.values(named(operation.path, found?.values ?? [])), values)
    }
  })

  for (const operation of table) {
    describe(`${title(operation)} (${operation.id})`, () => {
      it('has closed objects and describes every property', () => {
        for (const schema of schemasOf(operation)) {
          eachMember(schema, (member, place) => {
            if (member.type === 'object' && member.properties) {
              assert.equal(member.additionalProperties, false, `${place} is open`)
            }
            if (/\.\w+$/.test(place)) assert.ok(member.description, `${place} has no description`)
          })
        }
      })

      it('has examples that its schemas accept', () => {
        for (const schema of schemasOf(operation)) assert.deepEqual(checkOf(schema)(exampleOf(schema)), [])
      })

      it('answers a single resource with its version', () => {
        const [, body, versioned] = operation.reply
        const single = body !== undefined && !(body instanceof Raw) && !('items' in (body.properties ?? {}))
        const changes =
          operation.method === 'put' || (operation.method === 'post' && operation.reply[0] === 201)
        if (single && (changes || (operation.method === 'get' && operation.path.endsWith('}')))) {
          assert.ok(versioned || operation.access === 'public', 'no ETag')
        }
      })

      it('documents every error that it may answer', () => {
        const responses = paths[operation.path]?.[operation.method]?.responses
        for (const name of [...impliedErrors(operation), ...(operation.errors ?? [])]) {
          const [status] = errors[name]
          const shared = responses?.[status]?.$ref.replace('#/components/responses/', '') ?? ''
          const examples = components.responses[shared]?.content['application/problem+json']?.examples
          assert.ok(examples?.[errorCode(name)], `${name} is not documented`)
        }
      })
    })
  }
})
