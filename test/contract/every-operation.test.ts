import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/documentation/example.ts'
import { isConditional, type Operation, pathParameterNames } from '../../path-api/operation/operation.ts'
import type { Services } from '../../path-api/operation/services.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { FormBody, RawBody } from '../../path-api/reply/body-media.ts'
import { mediaTypesOf } from '../../path-api/request/request-input.ts'
import { withArticle } from '../../schemas/common.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { placesOfViolations } from '../harness/clients/violation-places.ts'
import { GENEROUS_LIMITS, type SampleApi, startSampleApi } from './http/sample-api.ts'

type Body = Record<string, unknown>

/** The path with example parameters, some of them replaced. */
function examplePathOf({ path, params }: Operation, replaced: Record<string, string> = {}): string {
  return path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => replaced[name] ?? String(exampleOf(params.properties[name]!)),
  )
}

const jsonBody = ({ body }: Operation): TSchema | undefined =>
  body === undefined || body instanceof RawBody || body instanceof FormBody ? undefined : body

const exampleFor = (body: NonNullable<Operation['body']>): unknown => {
  const schema = jsonBody({ body } as Operation)
  return schema ? exampleOf(schema) : {}
}

/** The example body as fetch sends it with its media type. */
const exampleRequestBody = ({ body }: Operation): RequestInit => {
  if (body instanceof FormBody)
    return { body: new URLSearchParams(exampleOf(body.schema) as Record<string, string>) }
  if (body === undefined || body instanceof RawBody) return {}
  return { body: new Blob([JSON.stringify(exampleOf(body))], { type: 'application/json' }) }
}

/** A value that no schema of this type accepts. */
const createWrongValue = (member: TSchema): unknown =>
  JSON.stringify(member, withoutDocumented).includes('"boolean"') ? { no: 1 } : true

/** Rules that code checks are not part of the schema. */
const withoutDocumented = (key: string, value: unknown) => (key === 'documented' ? undefined : value)

const isTypeAccepted = (member: TSchema, type: string): boolean =>
  [member.type].flat().includes(type) ||
  (member.anyOf ?? []).some((one: TSchema) => isTypeAccepted(one, type))

/** Values that are validated by the data type that the body names. */
const isOfAnyType = ({ type, anyOf, enum: values }: TSchema): boolean =>
  type === undefined && anyOf === undefined && values === undefined

const refuse = () => {
  throw new ServiceError('NotFound')
}

const placesOf = ({ body }: { body: string }): string[] => placesOfViolations({ body: JSON.parse(body) })

/** Refusals that every operation gives before it does anything, so no service is needed here. */
describe('every operation', () => {
  let sample: SampleApi
  before(async () => {
    sample = await startSampleApi({
      operations: operationTable.map((operation) => ({ ...operation, handle: refuse })),
      services: {} as Services,
      checking: false,
      rateLimits: { ...GENEROUS_LIMITS, guardedAddress: 10_000, guardedAccount: 10_000 },
    })
  })
  after(() => sample.close())

  /** Sends the path unchanged; fetch would normalize it. */
  const send = (operation: Operation, path: string, headers: Record<string, string> = {}, body?: string) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const { hostname, port } = new URL(sample.url)
      // Node does not set the length of a DELETE body.
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const method = operation.method.toUpperCase()
      const options = { hostname, port, path, method, headers: { ...headers, ...length } }
      request(options, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk) => chunks.push(chunk))
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        )
      })
        .on('error', reject)
        .end(body)
    })
  const token = { authorization: 'Bearer user-somebody' }
  const sendJson = (operation: Operation, body: unknown) =>
    send(
      operation,
      examplePathOf(operation),
      { ...token, 'content-type': 'application/json', 'if-match': '"1"' },
      typeof body === 'string' ? body : JSON.stringify(body),
    )
  const refusedBody = async (operation: Operation, body: unknown, about: string) => {
    const answer = await sendJson(operation, body)
    assert.equal(answer.status, 400, `${about}: ${answer.body}`)
    const places = placesOf(answer)
    assert.ok(places.length > 0 && places.every((place) => /^body\b/.test(place)), `${about}: ${places}`)
  }

  for (const operation of operationTable) {
    describe(`${operation.method.toUpperCase()} ${operation.path}`, () => {
      const { access, params, query } = operation
      if (access !== 'public' && access !== 'optional') {
        it('answers 401 without a token', async () => {
          assert.equal((await send(operation, examplePathOf(operation))).status, 401)
        })
      }
      if (access === 'self') {
        it('hides data of somebody else', async () => {
          const schema = jsonBody(operation)
          const body = schema && exampleOf(schema)
          const type =
            operation.body instanceof RawBody ? mediaTypesOf(operation.body)[0] : 'application/json'
          const headers = {
            ...token,
            'if-match': '"1"',
            ...(operation.body ? { 'content-type': type ?? '' } : {}),
          }
          const answer = await send(
            operation,
            examplePathOf(operation),
            headers,
            body ? JSON.stringify(body) : undefined,
          )
          assert.equal(answer.status, 404, answer.body)
        })
      }
      if (operation.method === 'post' && (access === 'public' || access === 'optional')) {
        it('replays an answer only to the credentials that got it', async () => {
          const isReplayed = async (headers: Record<string, string>) => {
            const answer = await fetch(sample.url + examplePathOf(operation), {
              method: 'POST',
              headers: { ...headers, 'idempotency-key': 'the-same-key' },
              redirect: 'manual',
              ...exampleRequestBody(operation),
            })
            assert.equal(answer.status, 404, await answer.text())
            return answer.headers.has('idempotency-replayed')
          }
          const callers = [{}, { authorization: 'Basic QTpi' }, { cookie: 'refreshToken=a' }]
          for (const caller of callers) assert.equal(await isReplayed(caller), false)
          for (const caller of callers) assert.equal(await isReplayed(caller), true)
        })
      }
      if (isConditional(operation)) {
        it('refuses If-Match: *, which names no version', async () => {
          const role = access === 'admin' || access === 'modeller' ? access : 'user'
          const { body } = operation
          const answer = await send(
            operation,
            examplePathOf(operation, { mvUid: 'somebody' }),
            {
              ...(access !== 'public' && { authorization: `Bearer ${role}-somebody` }),
              ...(body && { 'content-type': mediaTypesOf(body)[0] ?? '' }),
              'if-match': '*',
            },
            body && JSON.stringify(exampleFor(body)),
          )
          assert.equal(answer.status, operation.api === 'openehr' ? 400 : 428, answer.body)
        })
      }
      for (const name of pathParameterNames(operation.path)) {
        if (params.properties[name]?.enum) continue
        it(`refuses an invalid ${name}`, async () => {
          // A substance may have any name.
          const path = params.properties[name]?.pattern === undefined ? [] : ['..%2f']
          for (const bad of ['%00', '%ff', '%zz', '%E0%A4%A', ...path, 'a'.repeat(10_000)]) {
            const answer = await send(operation, examplePathOf(operation, { [name]: bad }), token)
            assert.ok([400, 404].includes(answer.status), `${bad.slice(0, 10)}: ${answer.status}`)
            if (answer.status === 400) assert.ok(placesOf(answer).includes(`path.${name}`), answer.body)
          }
        })
      }
      if (!operation.openQuery)
        it('refuses an unknown query parameter', async () => {
          assert.ok(!('surprise' in query.properties))
          const answer = await send(operation, `${examplePathOf(operation)}?surprise=1`, token)
          assert.equal(answer.status, 400, answer.body)
          assert.ok(placesOf(answer).includes('query.surprise'), answer.body)
        })
      const schema = jsonBody(operation)
      if (schema === undefined) return
      const example = exampleOf(schema) as Body

      it('refuses an unknown property, a prototype and malformed JSON', async () => {
        if (schema.additionalProperties !== true)
          await refusedBody(operation, { ...example, surprise: 1 }, 'unknown property')
        await refusedBody(operation, `{"__proto__":{"a":1},${JSON.stringify(example).slice(1)}`, 'prototype')
        await refusedBody(operation, '{"', 'no JSON')
        await refusedBody(operation, '[]', 'another type')
      })
      it('refuses a body that is too large, too deep or has too many values', async () => {
        const { bytes, depth, values } = operation.limits
        const large = await sendJson(operation, { surprise: 'x'.repeat(bytes) })
        assert.equal(large.status, 413, large.body)
        const deep = await sendJson(operation, `{"surprise":${'['.repeat(depth)}${']'.repeat(depth)}}`)
        assert.match(deep.body, /nested deeper/)
        assert.equal(deep.status, 400)
        const long = await sendJson(operation, { surprise: Array(values).fill(1) })
        assert.match(long.body, /more than [\d,]+ values/)
        assert.equal(long.status, 400)
      })
      for (const [name, member] of Object.entries<TSchema>(schema.properties ?? {})) {
        if (isOfAnyType(member)) continue
        it(`refuses ${withArticle(name)} of a wrong type`, async () => {
          await refusedBody(operation, { ...example, [name]: createWrongValue(member) }, 'wrong type')
          if (isTypeAccepted(member, 'string'))
            await refusedBody(operation, { ...example, [name]: { $gt: '' } }, 'operator')
        })
      }
    })
  }
})
