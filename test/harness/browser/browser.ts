import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

/**
 * Starts Chromium for the suite that calls this in its body; without Chromium, the suite skips.
 * @returns the browser, for the suite's own hooks and tests
 */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined
  before(async function () {
    if (!existsSync(executablePath)) {
      process.stderr.write(`${executablePath} is missing: the tests of pages skip\n`)
      return this.skip()
    }
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(() => browser?.close())
  return () => browser as Browser
}

/** Collects what a page reports as errors, and what it throws. */
export function collectFaults(page: Page, faults: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
}
