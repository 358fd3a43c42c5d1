import assert from 'node:assert/strict'
import { openApi } from '../../path-api/documentation/openapi.ts'
import { table } from '../../path-api/table.ts'
import { nextAsk } from './generator/next.ts'
import type { Answer, Ask } from './generator/world/ask.ts'
import { OpenApi } from './generator/world/document.ts'
import { Memory } from './generator/world/memory.ts'
import { Random } from './generator/world/random.ts'
import { curlLine } from './oracle/curl.ts'
import { findingInLine, findingsIn } from './oracle/finding.ts'

/** What the fuzzer asks, and what it takes for a finding; the service itself is tried by `npm run fuzz`. */
describe('the fuzzer', () => {
  const document = new OpenApi(openApi(table, '0'))

  function asks(seed: number, count: number): Ask[] {
    const memory = new Memory(document)
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
    return Array.from({ length: count }, () => nextAsk(world))
  }

  it('asks the same by the same seed, and something else by another', () => {
    assert.deepEqual(asks(1, 300), asks(1, 300))
    assert.notDeepEqual(asks(1, 300), asks(2, 300))
  })

  it('reaches every operation of the document', () => {
    const routes = new Set(asks(3, 16_000).map(({ route }) => route))
    // What needs more than an EHR is asked for seldom until there is some.
    const missing = document.targets.filter(({ method, path }) => !routes.has(`${method} ${path}`))
    assert.deepEqual(
      missing.map(({ id }) => id),
      [],
    )
  })

  const ask: Ask = {
    ...{ actor: 'ann', family: 'class', route: 'GET /1/x', method: 'GET', path: '/1/x', headers: {} },
    loggedIn: true,
  }
  const json = (status: number, body: unknown): Answer => ({
    ...{ status, json: body, text: JSON.stringify(body), ms: 1 },
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
  const kinds = (answer: Answer, shows = false) => findingsIn(ask, answer, shows).map(({ kind }) => kind)

  it('finds what must not be answered', () => {
    const page = { ...json(404, undefined), text: '<p>', headers: { 'content-type': 'text/html' } }
    const refusal = { code: 101, error: 'Object not found.' }
    assert.deepEqual(kinds(json(404, refusal)), [])
    assert.deepEqual(kinds(json(200, [{ error: refusal }])), [])
    assert.deepEqual(kinds(json(200, { name: 'x' }), true), ['what somebody else has written'])
    assert.deepEqual(kinds(json(500, refusal)), ['a 5xx'])
    assert.deepEqual(kinds(json(200, [{ error: { code: 1 } }])), ['an internal error in an answer'])
    assert.deepEqual(kinds(json(404, { title: 'Not found', code: 'not-found' })), [
      'a refusal in another form',
    ])
    assert.deepEqual(kinds(page), ['a refusal that is no JSON'])
    assert.deepEqual(findingsIn({ ...ask, page: true }, page, false), [])
  })

  it('finds errors in the log, and what asked for them', () => {
    const asks = new Map([['one', ask]])
    const line = (level: number) => JSON.stringify({ level, requestId: 'one', msg: 'answered' })
    assert.equal(findingInLine(line(40), asks), undefined)
    assert.deepEqual(findingInLine(line(50), asks)?.asks, [ask])
    assert.equal(findingInLine('(node:1) Warning', asks)?.kind, 'output that is no log')
  })

  it('writes a request as a line for the shell', () => {
    const body = Buffer.from(`{"name":"O'Hara"}`)
    assert.equal(
      curlLine('http://h', { ...ask, method: 'POST', headers: { a: 'b' }, body }, 'x'),
      `curl -sS -i -g --path-as-is -X POST -H 'a: b' --data-binary '{"name":"O'\\''Hara"}' 'http://h/1/x'`,
    )
  })
})
