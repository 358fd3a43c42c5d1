import assert from 'node:assert/strict'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { collectFaults, useBrowser } from '../harness/browser/browser.ts'
import { waitForMail } from '../harness/mail/mail.ts'
import { password } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

interface ConsoleOptions {
  language?: 'en' | 'nl'
  url?: string
  timezoneId?: string
}

const faults = new WeakMap<Page, string[]>()

/** A refused request is not a fault: the page shows it. */
const isFault = (text: string): boolean => !/Failed to load resource/.test(text)

/** Asserts that nothing was thrown, and that the policy for scripts and styles refused nothing. */
export const assertNoFaults = (page: Page): void => assert.deepEqual(faults.get(page)?.filter(isFault), [])

export async function register(page: Page, email: string, name = 'Anna de Vries'): Promise<void> {
  await page.getByRole('link', { name: 'Make a new account' }).click()
  await page.getByLabel('Your name').fill(name)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByLabel('I agree to the terms of service').check()
  await button(page, 'Make the account').click()
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
}

/** Follows the mailed link; the page of the service leads back to the console. */
export async function activate(page: Page, email: string): Promise<void> {
  await page.goto((await waitForMail(email)).link)
  const terms = page.locator('input[type=checkbox]')
  if (await terms.count()) await terms.check()
  await page.locator('button').first().click()
  await page.waitForLoadState()
  await page.goto(`${service.url}/console`)
}

/** Opens the console in the browser of a suite; its faults fail the test that asks for them. */
export function useConsoleBrowser() {
  const browser = useBrowser()
  return {
    /** In a context of its own, or in one that is given, as another tab. */
    async open(
      { language = 'en', url = service.url, timezoneId }: ConsoleOptions = {},
      context?: BrowserContext,
    ): Promise<Page> {
      const options = { locale: language, ...(timezoneId && { timezoneId }) }
      const page = await (context ?? (await browser().newContext(options))).newPage()
      const pageFaults: string[] = []
      faults.set(page, pageFaults)
      collectFaults(page, pageFaults)
      await page.goto(`${url}/`)
      await page.locator('h1').waitFor()
      return page
    },
  }
}

/** Lets the console read one entry at a time of the lists that it shows as a whole, as it reads pages of longer lists. */
export async function giveOneEntryAtATime(page: Page): Promise<void> {
  await page.route(/[?&]limit=200(&|$)/, (route, request) =>
    route.continue({ url: request.url().replace('limit=200', 'limit=1') }),
  )
}

/** Logs in, and waits for the home page. */
export async function logInOn(page: Page, { email, password }: { email: string; password: string }) {
  await page.locator('input[type=email]').fill(email)
  await page.locator('input[type=password]').fill(password)
  await page.locator('button[type=submit]').click()
  await page.locator('nav').waitFor()
}

/** Goes to a page about the same person without loading the console again, and waits until it has read what it shows. */
export async function goTo(page: Page, path: string): Promise<void> {
  const [start = ''] = /^\/console(\/for\/\w+)?/.exec(new URL(page.url()).pathname) ?? []
  await page.evaluate(
    `history.pushState(null, '', '${start}/${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await page.locator('main:not(:has(.skeleton)) h1').waitFor()
}

/** Presses a button; the answers to its request are lost. @param path of the request */
export async function pressAndLoseAnswer(page: Page, name: string, path: string): Promise<void> {
  await page.route(path, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    await route.fetch()
    return route.abort('connectionreset')
  })
  await button(page, name).click()
  await page.getByText('There is no connection.').first().waitFor()
  await page.unroute(path)
}

const nameOfFocus = `(() => {
  const one = document.activeElement
  return [one?.labels?.[0]?.textContent, one?.getAttribute('aria-label'), one?.textContent].find((text) => text) ?? ''
})()`

const MAX_TABS = 60

/** Goes to the control with this name, as somebody without a mouse does. @param key `Shift+Tab` goes back */
export async function tabTo(
  page: Page,
  name: string | RegExp,
  key: 'Tab' | 'Shift+Tab' = 'Tab',
): Promise<void> {
  const passed: string[] = []
  for (let i = 0; i < MAX_TABS; i++) {
    await page.keyboard.press(key)
    const focused = String(await page.evaluate(nameOfFocus)).trim()
    if (typeof name === 'string' ? focused === name : name.test(focused)) return
    passed.push(focused)
  }
  assert.fail(`Tab does not lead to ${name}, but to ${passed.join(', ')}`)
}

/** Goes to each field, and types its value. */
async function typeByKeyboard(page: Page, values: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(values)) {
    await tabTo(page, label)
    await page.keyboard.type(value)
  }
}

/** Makes an account, follows the mailed link and comes back to the console, without a mouse. */
export async function registerByKeyboard(page: Page, email: string, name: string): Promise<void> {
  await tabTo(page, 'Make a new account')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Make an account' }).waitFor()
  await typeByKeyboard(page, { 'Your name': name, 'E-mail address': email, Password: password })
  await tabTo(page, /^I agree to the terms/)
  await page.keyboard.press('Space')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
  // The program for mails opens the link.
  await page.goto((await waitForMail(email)).link)
  await tabTo(page, 'Confirm')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Your e-mail address is confirmed' }).waitFor()
  // In the tests, this link leads to another app.
  await tabTo(page, 'Open the app')
  await page.goto(`${service.url}/console`)
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
}

/** Logs in without a mouse, and waits for the home page. */
export async function logInByKeyboard(page: Page, email: string): Promise<void> {
  await typeByKeyboard(page, { 'E-mail address': email, Password: password })
  await page.keyboard.press('Enter')
  await page.locator('nav').waitFor()
}

export const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true })
export const menu = (page: Page, name: string): Locator =>
  page.getByRole('navigation').getByRole('link', { name, exact: true })
