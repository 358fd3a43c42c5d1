import assert from 'node:assert/strict'
import { createOpenApiDocument } from '../../path-api/documentation/openapi-document.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { ClientMemory } from './generator/context/client-memory.ts'
import type { FuzzRequest, FuzzResponse } from './generator/context/fuzz-request.ts'
import { OpenApi } from './generator/context/openapi-targets.ts'
import { Random } from './generator/context/random.ts'
import { generateRequest } from './generator/generate-request.ts'
import { formatCurl } from './oracle/curl.ts'
import { findLineFinding, findResponseFindings } from './oracle/finding.ts'

/** The fuzzer's requests and findings; `npm run fuzz` tests the service itself. */
describe('the fuzzer', () => {
  const document = new OpenApi(createOpenApiDocument(operationTable, '0'))

  function requester(seed: number): () => FuzzRequest {
    const memory = new ClientMemory(document)
    for (const actor of ['ann', 'ben', 'victim'] as const)
      memory.begin(actor, { mvUid: actor, ehrId: `ehr-${actor}` })
    const identityOf = () => ({
      authToken: 'token',
      sessionToken: 'r:x',
      facts: { mvUid: 'ann', email: 'a@b.example' },
    })
    const world = {
      openApi: document,
      targets: [document.targets],
      memory,
      random: new Random(seed),
      keys: {},
      identityOf,
    }
    return () => generateRequest(world)
  }

  function asks(seed: number, count: number): FuzzRequest[] {
    const next = requester(seed)
    return Array.from({ length: count }, next)
  }

  it('sends the same requests for the same seed, and others for another seed', () => {
    assert.deepEqual(asks(1, 300), asks(1, 300))
    assert.notDeepEqual(asks(1, 300), asks(2, 300))
  })

  it('reaches every operation of the document', () => {
    const { targets } = document
    const missing = new Map(targets.map(({ method, path, id }) => [`${method} ${path}`, id]))
    const next = requester(3)
    // A rare operation is one in about 10,000 requests.
    for (let left = targets.length * 200; left > 0 && missing.size > 0; left--) missing.delete(next().route)
    assert.deepEqual([...missing.values()], [])
  })

  const ask: FuzzRequest = {
    actor: 'ann',
    family: 'class',
    route: 'GET /1/x',
    method: 'GET',
    path: '/1/x',
    headers: {},
    loggedIn: true,
  }
  const json = (status: number, body: unknown): FuzzResponse => ({
    status,
    json: body,
    text: JSON.stringify(body),
    ms: 1,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
  const kinds = (answer: FuzzResponse, shows = false) =>
    findResponseFindings(ask, answer, shows).map(({ kind }) => kind)

  it('reports forbidden responses', () => {
    const page = { ...json(404, undefined), text: '<p>', headers: { 'content-type': 'text/html' } }
    const refusal = { code: 101, error: 'Object not found.' }
    assert.deepEqual(kinds(json(404, refusal)), [])
    assert.deepEqual(kinds(json(200, [{ error: refusal }])), [])
    assert.deepEqual(kinds(json(200, { name: 'x' }), true), ['data of another user'])
    assert.deepEqual(kinds(json(500, refusal)), ['a 5xx'])
    assert.deepEqual(kinds(json(200, [{ error: { code: 1 } }])), ['an internal error in an answer'])
    assert.deepEqual(kinds(json(404, { title: 'Not found', code: 'not-found' })), [
      'an error response in another form',
    ])
    const outcome = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'not-found' }] }
    const fhirAsk = { ...ask, path: '/fhir/R4/Goal/1' }
    assert.deepEqual(findResponseFindings(fhirAsk, json(404, outcome), false), [])
    assert.deepEqual(
      findResponseFindings(fhirAsk, json(404, refusal), false).map(({ kind }) => kind),
      ['an error response in another form'],
    )
    assert.deepEqual(kinds(page), ['an error response without JSON'])
    assert.deepEqual(findResponseFindings({ ...ask, page: true }, page, false), [])
    assert.deepEqual(findResponseFindings({ ...ask, headers: { accept: 'text/html' } }, page, false), [])
  })

  it('reports errors in the log, with the requests that caused them', () => {
    const asks = new Map([['one', ask]])
    const line = (level: string) => JSON.stringify({ level, requestId: 'one', msg: 'answered' })
    assert.equal(findLineFinding(line('warn'), asks), undefined)
    assert.deepEqual(findLineFinding(line('error'), asks)?.asks, [ask])
    assert.equal(findLineFinding('(node:1) Warning', asks)?.kind, 'output that is no log')
  })

  it('formats a request as a shell command', () => {
    const body = Buffer.from(`{"name":"O'Hara"}`)
    assert.equal(
      formatCurl('http://h', { ...ask, method: 'POST', headers: { a: 'b' }, body }, 'x'),
      `curl -sS -i -g --path-as-is -X POST -H 'a: b' --data-binary '{"name":"O'\\''Hara"}' 'http://h/1/x'`,
    )
  })
})
