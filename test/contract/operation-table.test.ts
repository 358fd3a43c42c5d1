import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/documentation/example.ts'
import { createOpenApiDocument } from '../../path-api/documentation/openapi-document.ts'
import { type Operation, pathParameterNames } from '../../path-api/operation/operation.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { FormBody, RawBody } from '../../path-api/reply/body-media.ts'
import { createPathMatcher, nameParameters } from '../../path-api/request/path-matcher.ts'
import { openEhrStatusOf } from '../../path-api/response/openehr-error.ts'
import { impliedErrors } from '../../path-api/response/problem-document.ts'
import { errorCatalogue, errorCode } from '../../schemas/errors.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import specified from '../operations.json' with { type: 'json' }

const titleOf = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`

const formOf = ({ body }: Operation): TSchema | undefined =>
  body instanceof FormBody ? body.schema : undefined

/** The JSON schemas that clients see. */
function schemasOf({ params, query, body, reply }: Operation): TSchema[] {
  const schemas = [params, query, body instanceof FormBody ? body.schema : body, reply[1]]
  return schemas.filter((schema): schema is TSchema => schema !== undefined && !(schema instanceof RawBody))
}

function forEachMember(schema: TSchema, visit: (member: TSchema, place: string) => void, place = ''): void {
  visit(schema, place)
  for (const [name, member] of Object.entries<TSchema>(schema.properties ?? {})) {
    forEachMember(member, visit, `${place}.${name}`)
  }
  if (schema.items) forEachMember(schema.items, visit, `${place}[]`)
  for (const member of schema.anyOf ?? []) forEachMember(member, visit, place)
}

const ERROR_TYPES = {
  problem: 'application/problem+json',
  openehr: 'application/json',
  fhir: 'application/fhir+json',
  oauth: 'application/json',
}

interface Documented {
  responses: Record<string, { $ref: string }>
  parameters?: { in?: string; name: string }[]
  requestBody?: { content: Record<string, { schema: TSchema }> }
}
interface Refusal {
  content: Record<string, { examples: Record<string, unknown> }>
}
const { paths, components } = createOpenApiDocument(operationTable, '0') as {
  paths: Record<string, Record<string, Documented>>
  components: { responses: Record<string, Refusal>; schemas: Record<string, TSchema> }
}

/** An operation of the path family in a text: `POST /ehr/{ehrId}/careplan`. */
const NAMED_OPERATION =
  /\b(GET|POST|PUT|DELETE) (\/(?:auth|chat|data|ehr|med|profile)(?:\/[\w-]+|\/\{\w+\})*)/g

/** The operations that sources and documents name. */
const namedOperations = () =>
  ['cloud', 'openehr', 'path-api', 'records', 'schemas', 'server', 'docs'].flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|json|md)$/.test(name))
      .map((name) => join(room, name))
      .flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(NAMED_OPERATION)].map(([title]) => ({ file, title })),
      ),
  )

describe('the table of operations', () => {
  it('has the operations that messages and documents name', () => {
    const withoutNames = (title: string) => title.replace(/\{\w+\}/g, '{}')
    const titles = new Set(operationTable.map((operation) => withoutNames(titleOf(operation))))
    const operations = namedOperations()
    assert.ok(operations.length > 15)
    assert.deepEqual(
      operations.filter(({ title }) => !titles.has(withoutNames(title))),
      [],
    )
  })

  it('contains the operations of the specification, and marks the others as extra', () => {
    const specifiedTitles = specified
      .filter(({ family }) => family === 'path')
      .map(({ method, path }) => titleOf({ method, path: path.replace(/(?<=.)\/$/, '') }))
    const built = operationTable.filter(({ extra }) => !extra).map(titleOf)
    const missing = specifiedTitles.filter((title) => !built.includes(title))
    assert.deepEqual(missing, [], `define these operations in path-api/resources/: ${missing}`)
    const extraTitles = built.filter((title) => !specifiedTitles.includes(title))
    assert.deepEqual(extraTitles, [], `mark these operations with extra: true: ${extraTitles}`)
    assert.equal(built.length, specifiedTitles.length, 'define each operation once')
  })

  it('names every operation once, beginning with a verb', () => {
    assert.equal(new Set(operationTable.map(({ id }) => id)).size, operationTable.length)
    for (const { id } of operationTable) assert.match(id, /^[a-z]+([A-Z0-9][a-z0-9]*)+$/)
  })

  it("answers successes with 2xx, or redirects from a page's form", () => {
    const unsuccessful = operationTable.filter(({ reply: [status] }) => status < 200 || status > 299)
    for (const { id, reply, body } of unsuccessful)
      assert.ok(reply[0] === 303 && body instanceof FormBody, id)
  })

  it('answers 201 to a POST of one object to a list', () => {
    const isList = ({ body }: { body: Operation['reply'][1] }) =>
      body !== undefined &&
      !(body instanceof RawBody) &&
      (body.type === 'array' || 'items' in (body.properties ?? {}))
    const lists = operationTable.filter(({ method, reply: [, body] }) => method === 'get' && isList({ body }))
    const posts = operationTable.filter(
      ({ method, path }) => method === 'post' && lists.some((list) => list.path === path),
    )
    assert.ok(posts.length > 30)
    const otherPosts = posts.filter(({ reply: [status], creates }) => status !== 201 && !creates)
    // This one finds accounts by ids: POST /auth/manage/account creates one.
    assert.deepEqual(
      otherPosts.map(({ id }) => id),
      ['findAccounts'],
    )
  })

  it('counts the guesses in a form as those of the operation that does the same', () => {
    const guarded = operationTable.filter(({ guardedAccount }) => guardedAccount !== undefined)
    const forms = guarded.filter(({ body }) => body instanceof FormBody)
    // There is no such operation for the first administrator.
    const uncounted = forms.filter(({ countedAs }) => countedAs === undefined).map(({ id }) => id)
    assert.deepEqual(uncounted, ['makeFirstAdministrator'])
    for (const { id, countedAs } of guarded) {
      const countedOperation = guarded.find((one) => one.id === countedAs)
      assert.ok(countedAs === undefined || (countedOperation && countedOperation.countedAs === undefined), id)
    }
  })

  it('names the password that confirms a change currentPassword: those of logins and registrations need no token', () => {
    const operations = operationTable.filter(({ body }) => {
      const schema = body instanceof FormBody ? body.schema : body
      return schema !== undefined && !(schema instanceof RawBody) && 'password' in (schema.properties ?? {})
    })
    assert.ok(operations.length > 3)
    for (const { id, access } of operations) assert.equal(access, 'public', `${id}: call it currentPassword`)
  })

  it('routes to every operation: none shadows another', () => {
    const find = createPathMatcher(operationTable)
    for (const operation of operationTable) {
      const values = pathParameterNames(operation.path).map((name) =>
        String(exampleOf(operation.params.properties[name]!)),
      )
      const path = values.reduce((filled, value) => filled.replace(/\{\w+\}/, value), operation.path)
      const match = find(path)
      assert.equal(match?.routes.get(operation.method), operation, titleOf(operation))
      assert.deepEqual(Object.values(nameParameters(operation.path, match?.values ?? [])), values)
    }
  })

  for (const operation of operationTable) {
    describe(`${titleOf(operation)} (${operation.id})`, () => {
      it('has closed objects and describes every property', () => {
        for (const schema of schemasOf(operation)) {
          forEachMember(schema, (member, place) => {
            if (member.type === 'object' && member.properties) {
              assert.equal(
                member.additionalProperties,
                operation.openQuery === true && (member === operation.query || member === formOf(operation)),
                `${place} is open: define it with closedObject`,
              )
            }
            if (/\.\w+$/.test(place))
              assert.ok(member.description, `${place} has no description: add one to its schema`)
          })
        }
      })

      it('has examples that are valid by its schemas', () => {
        for (const schema of schemasOf(operation))
          assert.deepEqual(createValidator(schema)(exampleOf(schema)), [])
      })

      it('returns the version with a single resource', () => {
        const [, body, versioned] = operation.reply
        const single =
          body !== undefined &&
          !(body instanceof RawBody) &&
          body.type !== 'array' &&
          !('items' in (body.properties ?? {}))
        const changes =
          operation.method === 'put' || (operation.method === 'post' && operation.reply[0] === 201)
        if (single && (changes || (operation.method === 'get' && operation.path.endsWith('}')))) {
          assert.ok(versioned || operation.access === 'public', "no ETag: add 'versioned' to the reply")
        }
      })

      it('documents exactly its query parameters, and a closed body', () => {
        const { parameters = [], requestBody } = paths[operation.path]?.[operation.method] ?? {}
        const names = parameters.flatMap((one) => (one.in === 'query' ? [one.name] : []))
        assert.deepEqual(names.sort(), Object.keys(operation.query.properties).sort())
        const { body } = operation
        if (body === undefined || body instanceof RawBody || body instanceof FormBody) return
        const schema = requestBody?.content['application/json']?.schema
        const resolvedSchema = schema?.$ref ? components.schemas[schema.$ref.replace(/.*\//, '')] : schema
        // The model of openEHR closes the documents that the schema leaves open.
        const isClosed = body.additionalProperties === false || body.documented !== undefined
        assert.equal(resolvedSchema?.additionalProperties === false, isClosed)
        if (body.documented === undefined)
          assert.deepEqual(
            Object.keys(resolvedSchema?.properties ?? {}).sort(),
            Object.keys(body.properties ?? {}).sort(),
          )
      })

      it('documents every error that it may return', () => {
        const responses = paths[operation.path]?.[operation.method]?.responses
        const isOpenEhr = operation.api === 'openehr'
        const type = ERROR_TYPES[operation.api ?? 'problem']
        for (const name of [...impliedErrors(operation), ...(operation.errors ?? [])]) {
          const status = isOpenEhr ? openEhrStatusOf(name) : errorCatalogue[name][0]
          const shared = responses?.[status]?.$ref.replace('#/components/responses/', '') ?? ''
          const examples = components.responses[shared]?.content[type]?.examples
          assert.ok(
            examples?.[errorCode(name)],
            `${name} is not documented: createOpenApiDocument must list it`,
          )
        }
      })
    })
  }
})
