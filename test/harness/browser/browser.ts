import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

/** Debian's packages of Chromium. The one without windows takes half of the processor time. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

const executablePath = process.env.CHROMIUM ?? PROGRAMS.find((path) => existsSync(path))

/**
 * Starts Chromium for the suite that calls this in its body; without Chromium, the suite skips.
 * @returns the browser, for the suite's own hooks and tests
 */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined
  before(async function () {
    if (executablePath === undefined || !existsSync(executablePath)) {
      process.stderr.write(`${executablePath ?? 'Chromium'} is missing: the tests of pages skip\n`)
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
