import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { createFrameClient } from './frame-client.ts'

interface Document {
  paths: Record<string, object>
  components: Record<string, Record<string, unknown>>
}

describe('the OpenAPI document as it is served', () => {
  const client = createFrameClient()
  const { call, refused } = client

  /** Without decompression. */
  const get = (headers: Record<string, string>) =>
    new Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: Buffer }>(
      (resolve, reject) => {
        request(`${client.sample.url}/openapi.json`, { headers }, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk) => chunks.push(chunk))
          answer.on('end', () =>
            resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }),
          )
        })
          .on('error', reject)
          .end()
      },
    )

  it('is compressed as the client accepts it, and revalidated in that coding', async () => {
    const plain = await get({ 'accept-encoding': 'identity' })
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(plain.headers['cache-control'], 'no-cache')
    const etags = new Set([plain.headers.etag])
    for (const [accepted, coding, decode] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
      ['br;q=0, gzip', 'gzip', gunzipSync],
    ] as const) {
      const { headers, body } = await get({ 'accept-encoding': accepted })
      assert.equal(headers['content-encoding'], coding)
      assert.match(headers.vary ?? '', /Accept-Encoding/)
      assert.ok(body.length < plain.body.length / 10, `${body.length}`)
      assert.deepEqual(decode(body), plain.body)
      etags.add(headers.etag)
      const again = await get({ 'accept-encoding': accepted, 'if-none-match': headers.etag ?? '' })
      assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, headers.etag])
      assert.match(again.headers.vary ?? '', /Accept-Encoding/)
    }
    assert.equal(etags.size, 3)
  })
  it('can be had for one family, with what that family refers to', async () => {
    const load = async (query: string) =>
      (await (await call('GET', `/openapi.json${query}`)).json()) as Document
    const page = await load('')
    const path = await load('?family=path')
    const ofClasses = await load('?family=class')
    assert.deepEqual({ ...path.paths, ...ofClasses.paths }, page.paths)
    assert.ok(Object.keys(ofClasses.paths).every((name) => /^\/(1|functions)\//.test(name)))
    assert.ok(path.paths['/sample/{mvUid}/note'] && !path.paths['/1/classes/CarePlan'])
    for (const part of [path, ofClasses]) {
      const text = JSON.stringify(part)
      const referenced = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map(([, name]) => name))
      const present = ['schemas', 'responses', 'parameters', 'examples'].flatMap((kind) =>
        Object.keys(part.components[kind] ?? {}).map((name) => `${kind}/${name}`),
      )
      assert.deepEqual(present.sort(), [...referenced].sort())
    }
    assert.deepEqual(Object.keys(ofClasses.components.securitySchemes ?? {}).sort(), [
      'applicationId',
      'restApiKey',
      'sessionToken',
    ])
    await refused(await call('GET', '/openapi.json?family=other'), 400, 'invalid-input')
  })
})
