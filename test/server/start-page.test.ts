import assert from 'node:assert/strict'
import { call } from '../harness/clients/path-client.ts'
import { service } from '../harness/service/service.ts'

describe('the page at the service’s own address', () => {
  for (const [language, sentence] of [
    ['en', 'This service stores electronic health records'],
    ['nl', 'Deze dienst bewaart elektronische gezondheidsdossiers'],
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
