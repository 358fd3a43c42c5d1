import assert from 'node:assert/strict'
import { assertProblem, call } from '../harness/clients/path-client.ts'
import { service } from '../harness/service/service.ts'

describe('the page at the service’s own address', () => {
  for (const [language, sentence] of [
    ['en', 'This service stores electronic health records'],
    ['nl', 'Deze dienst bewaart dossiers'],
  ] as const)
    it(`describes the service, with links (${language})`, async () => {
      const { status, body, headers } = await call('GET', `/?lang=${language}`)
      assert.equal(status, 200)
      assert.match(headers.get('content-type') ?? '', /^text\/html/)
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
      assert.ok(body.includes(`<html lang="${language}">`) && body.includes(sentence))
      for (const address of [`${service.url}</td>`, `${service.url}/1</td>`])
        assert.ok(body.includes(address))
      const links = [...String(body).matchAll(/href="([^"]+)"/g)].map(([, href = '']) =>
        href.replace(service.url, ''),
      )
      assert.equal(links.length, 5)
      for (const href of links)
        assert.equal((await call('GET', href.replaceAll('&amp;', '&'))).status, 200, href)
    })
})

describe('an address at which there is nothing', () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  for (const [language, heading] of [
    ['en', 'Page not found'],
    ['nl', 'Pagina niet gevonden'],
  ] as const)
    it(`shows a page to browsers, with the policy of other pages (${language})`, async () => {
      const headers = { accept, 'accept-language': language }
      const { status, body, headers: responseHeaders } = await call('GET', '/nowhere', undefined, headers)
      assert.equal(status, 404)
      assert.match(responseHeaders.get('content-type') ?? '', /^text\/html/)
      assert.ok(body.includes(`<html lang="${language}">`) && body.includes(`<h1>${heading}</h1>`), body)
      assert.match(body, /<a href="\/">/)
      const start = await call('GET', '/')
      assert.equal(
        responseHeaders.get('content-security-policy'),
        start.headers.get('content-security-policy'),
      )
    })

  it('is a problem document to programs', async () => {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json, text/html' }])
      assertProblem(await call('GET', '/nowhere', undefined, headers), 404, 'not-found')
    assertProblem(await call('POST', '/nowhere', {}, { accept }), 404, 'not-found')
    assert.equal(typeof (await call('GET', '/1/nowhere', undefined, { accept })).body.code, 'number')
  })
})
