import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { operationTable } from '../../path-api/operation-table.ts'
import { htmlBody } from '../../path-api/pages/page.ts'
import { findAccessibilityViolations } from '../harness/browser/axe.ts'
import { useBrowser } from '../harness/browser/browser.ts'
import { call } from '../harness/clients/path-client.ts'
import { waitForMail } from '../harness/mail/mail.ts'
import { createAddress, createPerson, signUp } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

const pages = operationTable.filter(
  ({ method, reply: [, schema] }) => method === 'get' && schema === htmlBody,
)

/** Links for the pages that need one. */
const LINKS: Record<string, () => Promise<string>> = {
  showActivation: async () => {
    const email = createAddress()
    await signUp(email).expect(201)
    return (await waitForMail(email)).link
  },
  showPasswordChoice: async () => {
    const { email } = await createPerson()
    assert.equal((await call('POST', '/auth/account/password/reset', { email })).status, 202)
    return (await waitForMail(email)).link
  },
}

/** The narrowest phone and dark mode, where layouts break first. */
describe('every page', () => {
  const browser = useBrowser()
  let page: Page
  before(async () => {
    page = await browser().newPage({ viewport: { width: 360, height: 740 } })
  })

  it('is tried here', () => {
    const ids = pages.map(({ id }) => id)
    assert.ok(ids.length > 5 && Object.keys(LINKS).every((id) => ids.includes(id)), ids.join())
  })

  for (const { id, path, query } of pages)
    it(`fits 360 px in light and dark mode and both languages, and passes axe-core: ${path}`, async () => {
      const link = new URL((await LINKS[id]?.()) ?? service.url + path)
      if ('token' in query.properties && !LINKS[id]) link.searchParams.set('token', 'void')
      for (const language of ['en', 'nl']) {
        link.searchParams.set('lang', language)
        assert.equal((await page.goto(link.href))?.status(), 200)
        assert.equal(await page.locator('html').getAttribute('lang'), language)
        if (LINKS[id]) assert.equal(await page.locator('form').count(), 1)
        assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 360)
      }
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await findAccessibilityViolations(page), [], colorScheme)
      }
    })
})
