import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { findAccessibilityViolations } from '../harness/browser/axe.ts'
import { useBrowser } from '../harness/browser/browser.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import {
  authorizationOf,
  createSmartApp,
  newVerifier,
  redeemCode,
  type SmartApp,
} from '../harness/people/smart-apps.ts'
import { service } from '../harness/service/service.ts'

const SCOPES = ['launch/patient', 'patient/Observation.rs', 'patient/Condition.cruds', 'offline_access']

describe('the page on which a person admits an app', () => {
  const browser = useBrowser()
  let page: Page
  let patient: Patient
  let app: SmartApp
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
    app = await createSmartApp(SCOPES)
  })

  // A page for each test: the app's address does not exist, and its failure would end the next navigation.
  beforeEach(async () => {
    page = await browser().newPage({ viewport: { width: 360, height: 740 } })
  })
  afterEach(() => page.close())

  for (const [language, logIn, allow, reveal] of [
    ['en', 'Log in', 'Allow', 'Show password'],
    ['nl', 'Inloggen', 'Toestaan', 'Wachtwoord tonen'],
  ] as const)
    it(`is accessible and leads to the app: ${language}`, async () => {
      const verifier = newVerifier()
      const parameters = { ...authorizationOf(app, SCOPES.join(' '), verifier), lang: language }
      await page.goto(`${service.url}/auth/smart/authorize?${new URLSearchParams(parameters)}`)
      assert.deepEqual(await findAccessibilityViolations(page), [])
      await page.locator('input[type=email]').fill(patient.email)
      await page.locator('input[type=password]').fill(patient.password)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Space')
      await page.getByRole('button', { name: reveal, pressed: true }).waitFor()
      assert.equal(await page.locator('input[name=password]').getAttribute('type'), 'text')
      assert.deepEqual(await findAccessibilityViolations(page), [])
      await page.getByRole('button', { name: logIn }).click()
      await page.getByRole('button', { name: allow }).waitFor()
      const text = (await page.locator('main').textContent()) ?? ''
      assert.ok(text.includes(app.name) && text.includes('app.example.org'), text)
      assert.ok(!page.url().includes(patient.ehrId))
      assert.deepEqual(await findAccessibilityViolations(page), [])
      assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 360)
      await page.getByRole('radio').check()
      const atApp = page.waitForRequest('https://app.example.org/**')
      await page.getByRole('button', { name: allow }).click()
      const code = new URL((await atApp).url()).searchParams.get('code') ?? ''
      assertStatus(await redeemCode(app, code, verifier))
    })

  const logInAt = async (parameters: Record<string, string>) => {
    await page.goto(`${service.url}/auth/smart/authorize?${new URLSearchParams(parameters)}`)
    await page.locator('input[type=email]').fill(patient.email)
    await page.locator('input[type=password]').fill(patient.password)
    await page.getByRole('button', { name: 'Log in' }).click()
  }

  it('keeps the e-mail address after a wrong password, and distinguishes "Allow" from "Refuse"', async () => {
    const parameters = { ...authorizationOf(app, SCOPES.join(' '), newVerifier()), lang: 'en' }
    await page.goto(`${service.url}/auth/smart/authorize?${new URLSearchParams(parameters)}`)
    await page.getByLabel('E-mail').fill(patient.email)
    await page.getByLabel('Password').fill('a wrong password')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('E-mail').inputValue(), patient.email)
    await page.getByLabel('Password').fill(patient.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    const backgroundOf = (decision: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('[value=${decision}]')).backgroundColor`)
    assert.notEqual(await backgroundOf('admit'), await backgroundOf('refuse'))
  })

  it('tells the app about a launch that is unknown', async () => {
    const launched = await createSmartApp(['launch', 'patient/Observation.rs'])
    const scope = 'launch patient/Observation.rs'
    const atApp = page.waitForRequest('https://app.example.org/**')
    await logInAt({ ...authorizationOf(launched, scope, newVerifier()), launch: 'unknown', lang: 'en' })
    assert.equal(new URL((await atApp).url()).searchParams.get('error'), 'invalid_request')
  })

  it('follows an app that redirects on to another origin', async () => {
    const home = createServer((_, res) => res.end('home')).listen(0, '127.0.0.1')
    const hop = createServer((_, res) =>
      res.writeHead(302, { location: `http://localhost:${portOf(home)}/home` }).end(),
    ).listen(0, '127.0.0.1')
    await Promise.all([once(home, 'listening'), once(hop, 'listening')])
    const redirectUris = [`http://127.0.0.1:${portOf(hop)}/callback`]
    const local = await createSmartApp(SCOPES, { redirectUris })
    const [redirectUri = ''] = redirectUris
    await logInAt({
      ...authorizationOf({ ...local, redirectUri }, SCOPES.join(' '), newVerifier()),
      lang: 'en',
    })
    await page.getByRole('radio').check()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL('http://localhost:*/home')
    for (const server of [home, hop]) server.close()
  })
})

const portOf = (server: Server): number => (server.address() as AddressInfo).port
