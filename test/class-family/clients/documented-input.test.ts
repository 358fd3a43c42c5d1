import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import { CLASS_NAMES, classKinds } from '../../../records/kinds.ts'
import { byClass, createByClass, KIND_NAMES, newPlace, type Place } from '../../family-kinds.ts'
import type { Patient } from '../../harness/care/patients.ts'
import { assertProblemPlaces } from '../../harness/clients/path-client.ts'
import { apiKeys, request } from '../../harness/service/service.ts'

type Json = Record<string, unknown>
interface Parameter {
  name: string
  in: 'path' | 'query'
  schema: Json
}
interface DocumentedOperation {
  method: 'get' | 'post' | 'put' | 'delete'
  path: string
  query: Parameter[]
  /** Schema of the body, and a body that fits it. */
  body: Json | undefined
  example: Json | undefined
}

const SURPRISE = 'surprise'

/** Operations about classes that the tests have objects of. */
const isSampled = ({ path }: DocumentedOperation): boolean => {
  const [, name] = /^\/1\/classes\/(\w+)/.exec(path) ?? []
  return name === undefined || name === '_User' || (KIND_NAMES as string[]).includes(name)
}

describe('the input that the OpenAPI document describes for the class family', () => {
  let document: Json
  let operations: DocumentedOperation[]
  let patient: Patient
  let place: Place
  const ids = new Map<string, string>()

  const resolve = <T>(value: T): T => {
    const { $ref } = value as { $ref?: string }
    if ($ref === undefined) return value
    const names = $ref.slice(2).split('/')
    return names.reduce<unknown>((node, name) => (node as Json)[name], document) as T
  }

  before(async () => {
    document = (await request().get('/openapi.json').expect(200)).body
    operations = readOperations().filter(isSampled)
    assert.ok(operations.length > 60)
    ;({ patient, place } = await newPlace())
    for (const name of KIND_NAMES) ids.set(name, String((await createByClass(patient, name, place)).objectId))
  })

  const readOperations = (): DocumentedOperation[] =>
    Object.entries(document.paths as Record<string, Json>)
      .filter(([path]) => /^\/(1|functions)\//.test(path))
      .flatMap(([path, { parameters: _, ...methods }]) =>
        Object.entries(methods as Record<string, Json>).map(([method, about]) => {
          const { content } = (about.requestBody ?? {}) as { content?: Record<string, Json> }
          const json = content?.['application/json']
          return {
            method: method as DocumentedOperation['method'],
            path,
            query: ((about.parameters ?? []) as Parameter[]).filter((one) => one.in === 'query'),
            body: json && resolve(json.schema as Json),
            example: json?.example as Json | undefined,
          }
        }),
      )

  /** Sends a request about an own object. */
  const send = async ({ method, path }: DocumentedOperation, query: Json, body?: Json) => {
    const [, name = '_User'] = /^\/1\/classes\/(\w+)/.exec(path) ?? []
    const filled = path.replace('{objectId}', name === '_User' ? patient.mvUid : String(ids.get(name)))
    const headers = { ...apiKeys(), 'X-Parse-Session-Token': patient.sessionToken }
    const { status, body: answer } = await request()[method](filled).set(headers).query(query).send(body)
    return { about: `${method} ${path}`, status, text: JSON.stringify(answer) }
  }

  it('has every parameter of lists that the specification names, for each class', () => {
    const lists = readOperations().filter(
      ({ method, path }) => method === 'get' && /^\/1\/classes\/\w+$/.test(path),
    )
    assert.deepEqual(
      lists.map(({ path }) => path.slice('/1/classes/'.length)).sort(),
      [...CLASS_NAMES].sort(),
    )
    for (const { path, query } of lists) {
      const names = query.map(({ name }) => name)
      for (const name of ['where', 'order', 'limit', 'skip', 'distinct', 'count'])
        assert.ok(names.includes(name), `${path}: ${name}`)
    }
  })

  it('has responses that match also if a query selects properties', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema(document, 'document')
    const headers = { ...apiKeys(), 'X-Parse-Session-Token': patient.sessionToken }
    const paths: [path: string, id: unknown][] = [
      ...KIND_NAMES.map((name): [string, unknown] => [`/1/classes/${name}`, undefined]),
      ...KIND_NAMES.map((name): [string, unknown] => [`/1/classes/${name}/{objectId}`, ids.get(name)]),
      ['/1/users/me', undefined],
      ['/1/users/{objectId}', patient.mvUid],
    ]
    for (const [path, id] of paths)
      for (const query of ['', 'keys=objectId', 'keys=createdAt', 'excludeKeys=updatedAt,objectId']) {
        const filled = `${path.replace('{objectId}', String(id))}?${query}`
        const { body } = await request().get(filled).set(headers).expect(200)
        const pointer = ['paths', path, 'get', 'responses', '200', 'content', 'application/json', 'schema']
        const names = pointer.map((one) => encodeURIComponent(one.replaceAll('/', '~1')))
        const fits = ajv.compile({ $ref: `document#/${names.join('/')}` })
        assert.ok(fits(body), `${filled}: ${ajv.errorsText(fits.errors)} ${JSON.stringify(body)}`)
      }
  })

  it('has no further parameter', async () => {
    for (const operation of operations) {
      const { about, status, text } = await send(operation, { [SURPRISE]: 1 }, operation.example)
      assert.equal(status, 400, about)
      assert.match(text, /This (request|query) has no parameter \\?"surprise/, about)
    }
  })

  it('has no further property where the body is closed', async () => {
    const closed = operations.filter(({ body }) => body?.additionalProperties === false)
    assert.ok(closed.length > 20)
    for (const operation of closed) {
      const { about, status, text } = await send(operation, {}, { ...operation.example, [SURPRISE]: 1 })
      assert.equal(status, 400, about)
      assert.match(text, /surprise is not a known property|no property \\?"surprise/, `${about}: ${text}`)
    }
  })

  it('has only the open bodies of the login', async () => {
    const open = operations.filter(({ body }) => body && body.additionalProperties !== false)
    assert.deepEqual(
      open.map(({ path }) => path),
      ['/1/login', '/functions/Login'],
    )
    const { email: username, password } = patient
    const login = await send(open[0] as DocumentedOperation, {}, { username, password, [SURPRISE]: 1 })
    assert.equal(login.status, 200, login.text)
  })

  it('takes every parameter', async () => {
    for (const operation of operations) {
      if (operation.query.length === 0) continue
      const query = operation.query.map(({ name, schema }) => [
        name,
        String(exampleOf(resolve(schema) as never)),
      ])
      const { about, status, text } = await send(operation, Object.fromEntries(query))
      assert.equal(status, 200, `${about}: ${text}`)
    }
  })

  it('takes every property', async () => {
    for (const operation of operations) {
      const properties = Object.entries((operation.body?.properties ?? {}) as Record<string, Json>)
      if (properties.length === 0) continue
      const body = Object.fromEntries(
        properties.map(([name, one]) => [name, exampleOf(resolve(one) as never)]),
      )
      // Keeps the account as it is.
      if ('currentPassword' in body) body.currentPassword = 'a wrong password'
      const { about, text } = await send(operation, {}, body)
      assert.doesNotMatch(text, /is not a known property|no property|must not be set/, about)
    }
  })

  it('lists exactly the fields that queries can name', async () => {
    for (const name of KIND_NAMES) {
      const list = operations.find(({ method, path }) => method === 'get' && path === `/1/classes/${name}`)
      const schemaOf = (parameter: string) => list?.query.find((one) => one.name === parameter)?.schema ?? {}
      const matches = (parameter: string, value: string) =>
        new RegExp(String(schemaOf(parameter).pattern)).test(value)
      const fields = Object.keys(classKinds[name].stored.properties)
      const { contentSchema } = schemaOf('where') as { contentSchema: { patternProperties: object } }
      const [condition = ''] = Object.keys(contentSchema.patternProperties)
      for (const field of fields) assert.match(field, new RegExp(condition))
      const allFields = fields.join(',')
      assert.ok(matches('order', `-${fields.slice(0, 32)}`) && matches('keys', `${allFields},ACL`), name)
      for (const unknown of ['nmae', 'ACL', '_rperm', 'objectId.part', '$where']) {
        const where = JSON.stringify({ [unknown]: 'x' })
        assert.ok(!matches('order', unknown) && !new RegExp(condition).test(unknown), unknown)
        for (const query of [{ order: unknown }, { where }])
          assert.equal((await byClass(patient).list(name, {}, query)).status, 400, `${name} ${unknown}`)
      }
      const where = Object.fromEntries(fields.map((field) => [field, { $exists: true }]))
      const properties = classKinds[name].stored.properties as Record<string, { type?: string }>
      const sorted = fields.filter((field) => properties[field]?.type !== 'array').slice(0, 32)
      await byClass(patient)
        .list(name, where, { order: `-${sorted}`, keys: `${allFields},ACL` })
        .expect(200)
    }
  })

  it('has no further property in the documents of openEHR', async () => {
    const { schemas } = document.components as { schemas: Record<string, Json> }
    const path = `/med/ehr/${patient.ehrId}`
    for (const [name, method, at] of [
      ['Composition', 'POST', `${path}/composition/json`],
      ['EhrStatus', 'PUT', `${path}/status`],
    ] as const) {
      const schema = schemas[name] as Json
      assert.equal(schema.additionalProperties, false)
      const body = { ...(exampleOf(schema as never) as Json), [SURPRISE]: 1 }
      const answer = await patient.call(method, at, body, { 'if-match': '"1"' })
      assert.ok(
        assertProblemPlaces(answer, 400, 'invalid-input').includes(`body.${SURPRISE}`),
        JSON.stringify(answer.body),
      )
    }
  })
})
