import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import express from 'express'
import supertest from 'supertest'
import { serveConsole } from '../../server/http/console.ts'
import { request } from '../harness/service/service.ts'

const page = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

describe('the files of the console', () => {
  it('are led to from the URL of the service, for browsers', async () => {
    const led = await request().get('/').set(page).expect(303)
    assert.equal(led.headers.location, '/console/')
    await request().get('/?lang=nl').set(page).expect(200)
    await request().get('/').expect(200)
  })

  it('are a page which permits only own scripts and styles', async () => {
    for (const path of ['/console', '/console/', '/console/messages/new']) {
      const { headers, text } = await request().get(path).expect(200)
      const policy = headers['content-security-policy'] ?? ''
      assert.equal(headers['cache-control'], 'no-store')
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
      assert.match(policy, /; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; /)
      assert.match(policy, /; require-trusted-types-for 'script'; trusted-types 'none'$/)
      assert.doesNotMatch(policy, /unsafe|nonce|https?:/)
      assert.doesNotMatch(text, /<script>|<style|%[A-Z]+%/)
    }
  })

  it('are assets that never change, compressed for those who accept it', async () => {
    const { text } = await request().get('/console')
    const assets = [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    )
    assert.ok(assets.length > 2)
    for (const path of assets) {
      const { headers } = await request().get(path).set('Accept-Encoding', 'gzip').expect(200)
      assert.match(headers['cache-control'] ?? '', /max-age=31536000, immutable/)
      assert.equal(headers['content-encoding'], 'gzip')
      assert.match(headers['content-type'] ?? '', /^text\/(javascript|css); charset=utf-8$/)
      const plain = await request().get(path).set('Accept-Encoding', 'identity').expect(200)
      assert.equal(plain.headers['content-encoding'], undefined)
      assert.match(plain.headers.vary ?? '', /Accept-Encoding/)
    }
  })

  it('are missing if an older version had them, and never lie outside', async () => {
    for (const path of ['/console/assets/index-0ldHash0.js', '/console/assets/..%2f..%2fpackage.json'])
      await request().get(path).expect(404)
    await request().post('/console').expect(404)
  })

  it('have a size within its budget, as the build measured it', () => {
    const sizes = JSON.parse(readFileSync('dist/console-sizes.json', 'utf8')) as Record<string, unknown>[]
    const names = sizes.map(({ name }) => name)
    for (const name of ['login', 'home', 'src/ui/chart/plot.ts']) assert.ok(names.includes(name), name)
    for (const { size, budget } of sizes) assert.ok(Number(size) > 0 && Number(size) <= Number(budget))
  })

  it('lie below the path of PUBLIC_URL', async () => {
    const app = express().use(serveConsole('/records', 'https://example.org/terms?a="b"'))
    const { text } = await supertest(app).get('/console').expect(200)
    assert.match(text, /src="\/records\/console\/assets\/index-/)
    assert.match(text, /content="https:\/\/example.org\/terms\?a=%22b%22"/)
  })
})
