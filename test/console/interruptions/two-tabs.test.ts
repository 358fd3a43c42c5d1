import assert from 'node:assert/strict'
import type { Page, Route } from 'playwright-core'
import { createPatient } from '../../harness/care/patients.ts'
import { button, goTo, logInOn, menu, useConsoleBrowser } from '../open-console.ts'
import { readRates } from './stored-rates.ts'

/** Saves a heart rate with an access token that has ended, and with the next one. @returns the status of the refresh */
async function saveWithEndedToken(page: Page, rate: number): Promise<number> {
  let isEnded = true
  const refuse = (route: Route) => {
    if (!isEnded || route.request().method() !== 'POST') return route.fallback()
    isEnded = false
    return route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"status":401}' })
  }
  await page.route('**/procedure/heartrate', refuse)
  await goTo(page, 'measure')
  await goTo(page, 'measure?kind=heartrate')
  await page.getByLabel('Heart rate', { exact: true }).fill(String(rate))
  const [refreshed] = await Promise.all([
    page.waitForResponse('**/auth/login/token'),
    button(page, 'Save').click(),
  ])
  await page.getByRole('heading', { name: 'Saved' }).waitFor()
  await page.unroute('**/procedure/heartrate', refuse)
  return refreshed.status()
}

describe('two tabs', () => {
  const opened = useConsoleBrowser()

  it('refresh the tokens of one session at the same moment, time after time', async () => {
    const patient = await createPatient()
    const first = await opened.open()
    await logInOn(first, patient)
    const second = await opened.open({}, first.context())
    await menu(second, 'Measure').waitFor()
    for (const rate of [60, 70, 80])
      assert.deepEqual(
        await Promise.all([saveWithEndedToken(first, rate), saveWithEndedToken(second, rate + 1)]),
        [200, 200],
      )
    const rates = (await readRates(patient)).map(({ heartRate }) => heartRate)
    assert.deepEqual(rates.sort(), [60, 61, 70, 71, 80, 81])
    for (const page of [first, second]) {
      await page.reload()
      await menu(page, 'Measure').waitFor()
    }
  })
})
