import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { findAccessibilityViolations } from '../harness/browser/axe.ts'
import { collectFaults, useBrowser } from '../harness/browser/browser.ts'
import { service } from '../harness/service/service.ts'

describe('the documentation page in a browser', () => {
  const browser = useBrowser()
  let page: Page
  const faults: string[] = []

  before(async () => {
    page = await browser().newPage()
    collectFaults(page, faults)
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith('data:'))
        faults.push(request.url())
    })
  })

  it('shows the operations, loads nothing from other hosts and violates no policy', async () => {
    await page.goto(`${service.url}/docs`)
    await page.waitForSelector('.opblock-tag')
    assert.deepEqual(faults, [])
  })

  it('keeps an entered token when the page is reloaded', async () => {
    await page.click('.auth-wrapper button.authorize')
    await page.fill('.auth-container input[aria-label="auth-bearer-value"]', 'a.b.c')
    await page.locator('.auth-container button.authorize').first().click()
    await page.reload()
    await page.waitForSelector('.auth-wrapper button.authorize.locked')
    await page.waitForSelector('.opblock-tag')
  })

  const inBothColorSchemes = async (check: () => Promise<void>) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      // Buttons begin to fade to their new colours with one of the next frames.
      await page.evaluate(
        `new Promise((begin) => requestAnimationFrame(() => requestAnimationFrame(begin))).then(() =>
          Promise.allSettled(document.getAnimations().map((one) => one.finished))).then(() => {})`,
      )
      const background = await page.evaluate<string>(
        'getComputedStyle(document.documentElement).backgroundColor',
      )
      assert.equal(background === 'rgb(28, 32, 34)', colorScheme === 'dark', background)
      await check()
    }
  }

  it('passes axe-core in light and dark mode', () =>
    inBothColorSchemes(async () => assert.deepEqual(await findAccessibilityViolations(page), [])))

  it('sends requests to an operation', async () => {
    await page.locator('.opblock-tag', { hasText: 'Service' }).click()
    const operation = page.locator('#operations-Service-getLiveness')
    await operation.click()
    await operation.locator('button.execute').click()
    const answer = operation.locator('.live-responses-table .response-col_status').nth(1)
    assert.match((await answer.textContent()) ?? '', /200/)
    assert.deepEqual(faults, [])
  })

  it('is readable in light and dark mode while operations are open', async () => {
    await page.locator('#operations-Service-getReadiness .opblock-summary-control').click()
    await page.locator('.opblock-tag', { hasText: 'Login' }).click()
    await page.locator('.opblock.opblock-post .opblock-summary-control').first().click()
    await page.waitForSelector('.opblock-post textarea')
    await inBothColorSchemes(async () => {
      const violations = await findAccessibilityViolations(page)
      assert.deepEqual(
        violations.filter((violation) => violation.startsWith('color-contrast')),
        [],
      )
    })
  })
})
