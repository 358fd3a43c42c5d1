import assert from 'node:assert/strict'
import type { Page, Route } from 'playwright-core'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  letTakePart,
} from '../../harness/care/patients.ts'
import { createPerson, nameProfile } from '../../harness/people/people.ts'
import { waitUntil } from '../../harness/wait.ts'
import { assertNoFaults, button, goTo, logInOn, menu, useConsoleBrowser } from '../open-console.ts'
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

/** As a browser does when the user goes to another tab, and comes back. */
const show = (page: Page, state: 'hidden' | 'visible') =>
  page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' })
    document.dispatchEvent(new Event('visibilitychange'))
  `)

/** A browser has no more connections to a service without HTTP/2. */
const MAX_CONNECTIONS = 6

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

  it('show the user who logged in last, and send nothing of the other one in their name', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    await nameProfile(nurse, 'Nurse Bo')
    const first = await opened.open()
    const second = await opened.open({}, first.context())
    await logInOn(first, patient)
    await logInOn(second, nurse)
    await first.getByText('Somebody else has logged in with this browser').waitFor()
    await button(second, 'Log out').click()

    // Without a word from the other tab, as when the browser has frozen this one.
    await first.context().addInitScript('BroadcastChannel.prototype.postMessage = () => {}')
    for (const page of [first, second]) await page.reload()
    await logInOn(first, patient)
    await goTo(first, 'account')
    await first.getByLabel('Keep measurements on this device while there is no network').check()
    await goTo(first, 'measure?kind=heartrate')
    let answer = (route: Route) => route.abort()
    await first.route('**/procedure/heartrate', (route) => answer(route))
    await first.getByLabel('Heart rate', { exact: true }).fill('71')
    await button(first, 'Save').click()
    await first.getByRole('heading', { name: 'Kept on this device' }).waitFor()
    await logInOn(second, nurse)
    const senders: string[] = []
    answer = (route) => {
      const [, claims = ''] = (route.request().headers().authorization ?? '').split('.')
      senders.push(JSON.parse(Buffer.from(claims, 'base64url').toString()).sub)
      return route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"status":401}' })
    }
    await first.evaluate("for (const name of ['offline', 'online']) dispatchEvent(new Event(name))")
    await first.getByText('You were logged out. Log in to continue.').waitFor()
    assert.deepEqual([...new Set(senders)], [patient.mvUid])
    assert.deepEqual(await readRates(patient), [])
    assertNoFaults(first)
  })

  it('share one stream of the same changes with many more, and another tab takes it over', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    const goalId = await createGoal(patient, planId)
    const addTask = (name: string) => createTask(patient, planId, goalId, { name })
    await addTask('Walk')
    const firstTab = await opened.open()
    const streams: string[] = []
    firstTab.context().on('request', (request) => {
      const [, followed] = /\/(\w+)\/\w+\/changes\?/.exec(request.url()) ?? []
      if (followed) streams.push(followed)
    })
    await logInOn(firstTab, patient)
    const otherTabs: Page[] = []
    for (let i = 0; i < MAX_CONNECTIONS; i++) otherTabs.push(await opened.open({}, firstTab.context()))
    const pages = [firstTab, ...otherTabs]
    for (const page of pages) await button(page, 'Done Walk').waitFor()
    await addTask('Swim')
    for (const page of pages) await button(page, 'Done Swim').waitFor()
    assert.deepEqual(streams.sort(), ['account', 'ehr'])

    await show(firstTab, 'hidden')
    await waitUntil(() => streams.length === 4)
    await addTask('Run')
    for (const page of otherTabs) await button(page, 'Done Run').waitFor()
    assert.equal(await button(firstTab, 'Done Run').count(), 0)
    await show(firstTab, 'visible')
    await button(firstTab, 'Done Run').waitFor()
    await addTask('Rest')
    for (const page of pages) await button(page, 'Done Rest').waitFor()
    assert.deepEqual(streams.sort(), ['account', 'account', 'ehr', 'ehr'])
    for (const page of pages) assertNoFaults(page)
  })

  it('show a saved view and a new patient of the worklist at once', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    await letTakePart(patient, await createPlan(patient), nurse, { access: 'WRITE' })
    const first = await opened.open()
    await logInOn(first, nurse)
    await goTo(first, 'worklist?all=true')
    const second = await opened.open({}, first.context())
    await menu(second, 'Worklist').click()
    for (const page of [first, second]) await page.getByText('Save this view').click()
    await first.getByLabel('Name of this view').fill('Half a na')
    await second.getByLabel('Name of this view').fill('Mine')
    await button(second, 'Save').click()
    await first.getByRole('link', { name: 'Mine' }).waitFor()
    const patients = first.getByRole('list', { name: 'Worklist' }).getByRole('link')
    await patients.first().waitFor()
    const other = await createPatient()
    await letTakePart(other, await createPlan(other), nurse, { access: 'READ' })
    await patients.nth(1).waitFor()
    assert.equal(await first.getByLabel('Name of this view').inputValue(), 'Half a na')
    for (const page of [first, second]) assertNoFaults(page)
  })
})
