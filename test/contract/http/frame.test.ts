import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Type } from '@sinclair/typebox'
import { MongoNetworkError } from 'mongodb'
import { accessRules } from '../../../path-api/operation/access.ts'
import { defineOperation } from '../../../path-api/operation/operation.ts'
import type { Services } from '../../../path-api/operation/services.ts'
import { ANNA_HEADERS, createFrameClient, JSON_HEADERS } from './frame-client.ts'
import { sampleTokens, startSampleApi } from './sample-api.ts'

interface Document {
  openapi: string
  paths: Record<string, Record<string, { operationId: string; requestBody?: { description: string } }>>
}

describe('the frame of the path family', () => {
  const client = createFrameClient()
  const { call, note, refused } = client

  describe('authentication and access', () => {
    it('answers 401 with a challenge without a token, and for an invalid token', async () => {
      const without = await call('GET', '/sample/anna/note')
      const challenge = 'Bearer realm="health-record-service"'
      assert.equal(without.headers.get('www-authenticate'), challenge)
      await refused(without, 401, 'unauthenticated')
      const invalid = await call('GET', '/sample/anna/note', { authorization: 'Bearer nobody' })
      assert.equal(invalid.headers.get('www-authenticate'), `${challenge}, error="invalid_token"`)
      await refused(invalid, 401, 'unauthenticated')
    })
    it('accepts the token in Authorization, authToken and the cookie, not in the query', async () => {
      for (const headers of [
        ANNA_HEADERS,
        { authToken: 'user-anna' },
        { cookie: 'a=b; authToken=user-anna' },
      ]) {
        assert.equal((await call('GET', '/sample/anna/note', headers as Record<string, string>)).status, 200)
      }
      await refused(await call('GET', '/sample/anna/note?authToken=user-anna'), 401, 'unauthenticated')
    })
    it('accepts it in the query if configured', async () => {
      const peer = await client.sample.startPeer({ tokens: { ...sampleTokens, tokenFromQuery: true } })
      assert.equal((await fetch(`${peer.url}/sample/anna/note?authToken=user-anna`)).status, 200)
      await peer.close()
    })
    it('accepts changes with a cookie only from our own pages', async () => {
      const cookie = { cookie: 'authToken=user-anna', authorization: '' }
      const put = (headers: Record<string, string>) =>
        note('PUT', { title: 'x' }, { 'if-match': '"3"', ...cookie, ...headers })
      await refused(await put({}), 403, 'cross-site-request')
      await refused(await put({ origin: 'https://evil.example' }), 403, 'cross-site-request')
      for (const site of ['cross-site', 'same-site', 'none'])
        await refused(await put({ 'sec-fetch-site': site }), 403, 'cross-site-request')
      assert.equal((await put({ 'sec-fetch-site': 'same-origin' })).status, 200)
      assert.equal((await put({ origin: 'https://own.example' })).status, 200)
    })
    it("sends no data of an EHR unless a store has checked the caller's access", async () => {
      const problem = await refused(await call('GET', '/sample/ehr/bob', ANNA_HEADERS), 500, 'internal')
      assert.doesNotMatch(JSON.stringify(problem), /diagnosis/)
      assert.equal((await call('GET', '/sample/ehr/anna', ANNA_HEADERS)).status, 200)
    })
    it('sends no data of another user or a chat unless a store has checked the access', async () => {
      const declaration = {
        method: 'get',
        summary: 'x',
        source: 'a test',
        reply: [204],
        handle() {},
      } as const
      const params = { id: Type.String() }
      const data = defineOperation({
        ...declaration,
        id: 'getData',
        path: '/data/{mvUid}',
        access: 'user-data',
      })
      const topic = defineOperation({
        ...declaration,
        id: 'getTopic',
        path: '/chat/{id}',
        params,
        access: 'chat',
      })
      const peer = await client.sample.startPeer({ operations: [data, topic] })
      const paths = ['/data/bob', '/data/anna', '/chat/anna']
      const answers = await Promise.all(
        paths.map((path) => fetch(peer.url + path, { headers: ANNA_HEADERS })),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        [500, 204, 500],
      )
      await peer.close()
    })
    it('refuses to declare an operation on an EHR that its access rule does not protect', () => {
      const declaration = {
        id: 'getThing',
        method: 'get',
        summary: 'x',
        source: 'a test',
        reply: [204],
      } as const
      const handle = () => {}
      assert.throws(
        () => defineOperation({ ...declaration, path: '/a/{ehrId}', access: 'user', handle }),
        /access user/,
      )
      for (const access of ['ehr:read', 'user-data', 'chat'] as const)
        assert.throws(
          () => defineOperation({ ...declaration, path: '/a', access, handle }),
          new RegExp(`access ${access}`),
        )
    })
    it('admits strangers only by the rule for everybody who is logged in', async () => {
      const stranger = {
        mvUid: 'stranger',
        sessionId: 's',
        roles: [],
        application: 'test',
        validUntil: new Date(),
      }
      const connections = { areConnected: async () => false }
      const services = { profiles: { connections } } as unknown as Services
      const open: string[] = []
      for (const [name, rule] of Object.entries(accessRules)) {
        if (!('permits' in rule)) continue
        const isLetIn = async () => rule.permits(stranger, { mvUid: 'other' }, services)
        if (await isLetIn().catch(() => false)) open.push(name)
      }
      assert.deepEqual(open, ['user', 'account'])
    })
    it('hides records of others, and shows them to an administrator', async () => {
      await refused(await call('GET', '/sample/bob/note', ANNA_HEADERS), 404, 'not-found')
      assert.equal((await call('GET', '/sample/bob/note', { authToken: 'admin-root' })).status, 200)
    })
  })

  describe('validation of requests', () => {
    it('reports all violations at once, each with its path', async () => {
      const response = await call(
        'POST',
        '/sample/anna/note?dry=maybe&colour=red',
        { ...ANNA_HEADERS, ...JSON_HEADERS },
        JSON.stringify({ title: 5, stars: 9, colour: 'red' }),
      )
      const { errors } = await refused(response, 400, 'invalid-input')
      assert.deepEqual(errors.map(({ path }: { path: string }) => path).sort(), [
        'body.colour',
        'body.stars',
        'body.title',
        'query.colour',
        'query.dry',
      ])
      for (const { message } of errors) assert.match(message, /^\S+ .*\.$/)
    })
    it('converts query values but not body values', async () => {
      const ok = await call(
        'POST',
        '/sample/anna/note?dry=true&times=1&times=2',
        { ...ANNA_HEADERS, ...JSON_HEADERS },
        '{"title":"a"}',
      )
      assert.equal(ok.status, 201)
      await refused(await note('POST', { title: 'a', stars: '3' }), 400, 'invalid-input')
      const twice = await call(
        'POST',
        '/sample/anna/note?dry=true&dry=false',
        { ...ANNA_HEADERS, ...JSON_HEADERS },
        '{"title":"a"}',
      )
      await refused(twice, 400, 'invalid-input')
    })
    it('refuses operators, prototypes, deep nesting and malformed JSON', async () => {
      await refused(await note('POST', { title: { $gt: '' } }), 400, 'invalid-input')
      const post = (body: string | Buffer) =>
        call('POST', '/sample/anna/note', { ...ANNA_HEADERS, ...JSON_HEADERS }, body)
      await refused(await post('{"title":"a","__proto__":{"stars":1}}'), 400, 'malformed-request')
      await refused(await post(`{"title":${'['.repeat(40)}${']'.repeat(40)}}`), 400, 'malformed-request')
      await refused(await post('['.repeat(500_000)), 400, 'malformed-request')
      await refused(await post('{"title":'), 400, 'malformed-request')
      await refused(await post(Buffer.from([0x22, 0xff, 0x22])), 400, 'malformed-request')
      await refused(await post(''), 400, 'invalid-input')
      const packed = { ...ANNA_HEADERS, ...JSON_HEADERS, 'content-encoding': 'gzip' }
      await refused(await call('POST', '/sample/anna/note', packed, 'not packed'), 400, 'malformed-request')
    })
    it('refuses bodies that are too large or of another type', async () => {
      await refused(await note('POST', { title: 'x'.repeat(1_100_000) }), 413, 'content-too-large')
      const png = { ...ANNA_HEADERS, 'content-type': 'image/png' }
      assert.equal((await call('PUT', '/sample/anna/picture', png, 'abc')).status, 204)
      await refused(await call('PUT', '/sample/anna/picture', png, 'x'.repeat(101)), 413, 'content-too-large')
      await refused(
        await call('PUT', '/sample/anna/picture', { ...ANNA_HEADERS, ...JSON_HEADERS }, 'abc'),
        415,
        'unsupported-media-type',
      )
      const latin = { ...ANNA_HEADERS, 'content-type': 'application/json; charset=latin1' }
      await refused(await call('POST', '/sample/anna/note', latin, '{}'), 415, 'unsupported-media-type')
    })
    it("accepts bodies up to the operation's limit, which the documentation names", async () => {
      const post = (body: string) => call('POST', '/sample/composition', JSON_HEADERS, body)
      const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
      assert.equal((await post(nested(200))).status, 204)
      await refused(await post(nested(201)), 400, 'malformed-request')
      assert.equal((await post(JSON.stringify({ a: 'x'.repeat(4_100_000) }))).status, 204)
      await refused(await post(JSON.stringify({ a: 'x'.repeat(4_200_000) })), 413, 'content-too-large')
      const { paths } = (await (await call('GET', '/openapi.json')).json()) as Document
      assert.equal(
        paths['/sample/composition']?.post?.requestBody?.description,
        'At most 4 MB; JSON nested at most 200 levels, with at most 20,000 values.',
      )
    })
    it('parses a form', async () => {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      assert.deepEqual(await (await call('POST', '/sample/form', type, 'stars=2')).json(), { stars: 3 })
      await refused(await call('POST', '/sample/form', type, 'stars=two'), 400, 'invalid-input')
      const fields = Array.from({ length: 20_001 }, (_, i) => `${i}=x`).join('&')
      const many = await call('POST', '/sample/form', type, fields)
      assert.match(await many.clone().text(), /more than 20,000 values/)
      await refused(many, 400, 'malformed-request')
    })
  })

  describe('routing', () => {
    it('answers unknown paths and methods with problems, and OPTIONS with the allowed methods', async () => {
      await refused(await call('GET', '/nowhere'), 404, 'not-found')
      const wrong = await call('DELETE', '/sample/fixed/note', ANNA_HEADERS)
      assert.equal(wrong.headers.get('allow'), 'GET, HEAD')
      await refused(wrong, 405, 'method-not-allowed')
      const options = await call('OPTIONS', '/sample/anna/note')
      assert.equal(options.status, 204)
      assert.equal(options.headers.get('allow'), 'GET, HEAD, PUT, POST, DELETE')
    })
    it('answers HEAD like GET without a body', async () => {
      for (const path of ['/sample/anna/note', '/sample/anna/picture']) {
        const head = await call('HEAD', path, ANNA_HEADERS)
        assert.equal(head.status, 200)
        assert.equal(await head.text(), '')
      }
    })
    it('prefers a literal segment and accepts a trailing slash', async () => {
      assert.deepEqual(await (await call('GET', '/sample/fixed/note/')).json(), { title: 'fixed' })
    })
    for (const id of ['%00', '%ff', '%', '%2e%2e%2f', '..%5c', 'a'.repeat(10_000), '%24gt', '%F0%9F%98%80']) {
      it(`refuses the id ${id.slice(0, 20)}`, async () => {
        const status = await new Promise<number | undefined>((resolve, reject) => {
          const path = `/sample/${id}/note`
          const { hostname, port } = new URL(client.sample.url)
          request({ hostname, port, path, headers: ANNA_HEADERS }, (answer) => {
            answer.resume()
            resolve(answer.statusCode)
          })
            .on('error', reject)
            .end()
        })
        assert.equal(status, 400)
      })
    }
  })

  describe('a response', () => {
    it('has status, Location, ETag, and no-store', async () => {
      const created = await note('POST', { title: 'a' })
      assert.equal(created.status, 201)
      assert.equal(created.headers.get('etag'), '"1"')
      assert.match(created.headers.get('location') ?? '', /^\/sample\/note\/\w{10}$/)
      assert.equal(created.headers.get('cache-control'), 'no-store')
    })
    it('is 304 to a client that has the version', async () => {
      const same = await call('GET', '/sample/anna/note', { ...ANNA_HEADERS, 'if-none-match': 'W/"3", "9"' })
      assert.equal(same.status, 304)
      assert.equal(
        (await call('GET', '/sample/anna/note', { ...ANNA_HEADERS, 'if-none-match': '"2"' })).status,
        200,
      )
    })
    it('is 412 to a write over another version than the client saw', async () => {
      const put = (headers: Record<string, string>) => note('PUT', { title: 'b' }, headers)
      assert.equal((await put({ 'if-match': '"3"' })).status, 200)
      assert.equal((await put({ 'if-match': '"1", "3"' })).status, 200)
      for (const tag of ['"2"', 'W/"3"', '"abc"']) {
        const stale = await put({ 'if-match': tag })
        assert.equal(stale.headers.get('etag'), '"3"')
        await refused(stale, 412, 'precondition-failed')
      }
      await refused(await put({}), 428, 'precondition-required')
      await refused(await put({ 'if-match': '*' }), 428, 'precondition-required')
      await refused(await put({ 'if-match': 'three' }), 400, 'malformed-request')
    })
    it('is 406 if the client does not accept its type', async () => {
      await refused(
        await call('GET', '/sample/anna/note', { ...ANNA_HEADERS, accept: 'text/html' }),
        406,
        'not-acceptable',
      )
      assert.equal(
        (await call('GET', '/sample/anna/picture', { ...ANNA_HEADERS, accept: 'image/*' })).status,
        200,
      )
    })
    it('does not depend on parameters of the accepted type that change nothing', async () => {
      for (const accept of [
        'application/json; charset=utf-8',
        'text/html, application/json;odata=verbose;q=0.5',
      ])
        assert.equal(
          (await call('GET', '/sample/anna/note', { ...ANNA_HEADERS, accept })).status,
          200,
          accept,
        )
      for (const accept of ['application/json; charset=utf-8; q=0', 'text/json'])
        assert.equal(
          (await call('GET', '/sample/anna/note', { ...ANNA_HEADERS, accept })).status,
          406,
          accept,
        )
    })
    it('can stream', async () => {
      const picture = await call('GET', '/sample/anna/picture', ANNA_HEADERS)
      assert.equal(picture.headers.get('content-type'), 'image/png')
      assert.equal(await picture.text(), 'abcdef')
    })
  })

  describe('a list', () => {
    const page = async (query: string) =>
      (await call('GET', `/sample/anna/notes${query}`, ANNA_HEADERS)) as Response
    it('links to the next page, in its body and its Link header', async () => {
      const first = await page('?tags=a&tags=b&limit=1')
      const body = await first.json()
      assert.deepEqual(body, { items: [{ title: 'first' }], page: { limit: 1, next: 'second-page' } })
      const link = first.headers.get('link') ?? ''
      assert.match(link, /^<\/sample\/anna\/notes\?[^>]+>; rel="next"$/)
      const next = new URL(link.slice(1, link.indexOf('>')), first.url)
      assert.equal(next.search, '?tags=a&tags=b&limit=1&cursor=second-page')
      const second = await fetch(next, { headers: ANNA_HEADERS })
      assert.deepEqual(await second.json(), {
        items: [{ title: 'second-page' }],
        page: { limit: 1, next: null },
      })
      assert.equal(second.headers.get('link'), null)
    })
    it('has 100 items by default, at most 1000, and counts all on request', async () => {
      const { page: info } = (await (await page('?count=true')).json()) as { page: object }
      assert.deepEqual(info, { limit: 100, total: 2, next: 'second-page' })
      for (const limit of ['0', '1001', '-1', 'abc', '1.5']) {
        await refused(await page(`?limit=${limit}`), 400, 'invalid-input')
      }
    })
  })

  describe('pages of other origins', () => {
    const preflight = (origin: string) =>
      call('OPTIONS', '/sample/anna/note', { origin, 'access-control-request-method': 'PUT' })
    it('may call if configured', async () => {
      const friend = await preflight('https://friend.example')
      assert.equal(friend.headers.get('access-control-allow-origin'), 'https://friend.example')
      assert.match(friend.headers.get('access-control-allow-methods') ?? '', /PUT/)
      const answer = await call('GET', '/sample/anna/note', {
        ...ANNA_HEADERS,
        origin: 'https://friend.example',
      })
      assert.match(answer.headers.get('access-control-expose-headers') ?? '', /ETag/)
    })
    it('may not call otherwise', async () => {
      assert.equal((await preflight('https://evil.example')).headers.get('access-control-allow-origin'), null)
    })
  })

  describe('the documentation', () => {
    it('is an OpenAPI document', async () => {
      const response = await call('GET', '/openapi.json')
      const document = (await response.json()) as Document
      assert.equal(document.openapi, '3.1.0')
      assert.equal(document.paths['/sample/{mvUid}/note']?.put?.operationId, 'updateNote')
      assert.ok(document.paths['/1/classes/CarePlan'])
      assert.match(response.headers.get('etag') ?? '', /^"\S+"$/)
    })
    it('is a page with its own scripts and styles', async () => {
      const html = await (await call('GET', '/docs')).text()
      const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
      assert.equal(assets.length, 5)
      for (const asset of assets)
        assert.equal((await fetch(new URL(asset, `${client.sample.url}/docs`))).status, 200)
      assert.doesNotMatch(html, /https?:|<script>|style=/)
    })
  })

  describe('failures', () => {
    it('are answered with 500 without details, and logged without input', async () => {
      const problem = await refused(await call('POST', '/sample/fail/unforeseen'), 500, 'internal')
      assert.doesNotMatch(JSON.stringify(problem), /secret/)
      assert.doesNotMatch(JSON.stringify(client.sample.logged.map(({ message }) => message)), /secret/)
      assert.ok(client.sample.logged.length > 0)
    })
    it('include replies that do not match their schemas, undeclared errors and changes without If-Match', async () => {
      await refused(await call('DELETE', '/sample/anna/note', ANNA_HEADERS), 500, 'internal')
      await refused(await call('POST', '/sample/fail/reply'), 500, 'internal')
      await refused(await call('POST', '/sample/fail/undeclared'), 500, 'internal')
    })
    it('are answered with 503 and Retry-After while the database is unreachable', async () => {
      const outage = await startSampleApi({
        operations: [
          defineOperation({
            id: 'getOutage',
            method: 'get',
            path: '/outage',
            summary: 'x',
            source: 'a test',
            access: 'public',
            reply: [204],
            handle: () => Promise.reject(new MongoNetworkError('connection lost')),
          }),
        ],
      })
      const response = await fetch(`${outage.url}/outage`)
      assert.equal(response.headers.get('retry-after'), '5')
      await refused(response, 503, 'unavailable')
      await outage.close()
    })
  })
})
