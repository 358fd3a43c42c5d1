import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { html } from '../../path-api/pages/page.ts'
import { table } from '../../path-api/table.ts'
import { complaintsOf } from '../harness/clients/axe.ts'
import { call } from '../harness/clients/path-client.ts'
import { mailTo } from '../harness/people/mail.ts'
import { newAddress, newPerson, signUp } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

const pages = table.filter(({ method, reply: [, schema] }) => method === 'get' && schema === html)

/** What a link has to lead to, for those pages that are nothing without one. */
const links: Record<string, () => Promise<string>> = {
  showActivation: async () => {
    const email = newAddress()
    await signUp(email).expect(201)
    return (await mailTo(email)).link
  },
  showPasswordChoice: async () => {
    const { email } = await newPerson()
    assert.equal((await call('POST', '/auth/account/password/reset', { email })).status, 202)
    return (await mailTo(email)).link
  },
}

/** The narrowest telephone, and a room without light: where pages break first. */
describe('every page', () => {
  let browser: Browser
  let page: Page
  before(async function () {
    if (!existsSync(executablePath)) return this.skip()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ viewport: { width: 360, height: 740 } })
  })
  after(() => browser?.close())

  it('is one of those that are tried', () => {
    const ids = pages.map(({ id }) => id)
    assert.ok(ids.length > 5 && Object.keys(links).every((id) => ids.includes(id)), ids.join())
  })

  for (const { id, path, query } of pages)
    it(`${path}: fits 360 px, dark and light, in both languages, and axe-core has nothing to say`, async () => {
      const link = new URL((await links[id]?.()) ?? service.url + path)
      if ('token' in query.properties && !links[id]) link.searchParams.set('token', 'void')
      for (const language of ['en', 'nl']) {
        link.searchParams.set('lang', language)
        assert.equal((await page.goto(link.href))?.status(), 200)
        assert.equal(await page.locator('html').getAttribute('lang'), language)
        if (links[id]) assert.equal(await page.locator('form').count(), 1)
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 360)
      }
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await complaintsOf(page), [], colorScheme)
      }
    })
})
