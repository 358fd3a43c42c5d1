import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright-core'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../harness/care/patients.ts'
import { findAccessibilityViolations } from '../harness/clients/axe.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import { assertNoFaults, type ConsoleBrowser, logInOn, startConsoleBrowser } from './open-console.ts'

const DAYS = 40
const DAY_MS = 86_400_000
/** 320 px are a screen of 1280 px at a zoom of 400 %. */
const WIDTHS = [360, 320, 1440]

/** A patient with something on each page, at whom a nurse has looked. */
async function createBusyPatient(): Promise<{ patient: Patient; paths: string[] }> {
  const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
  const planId = await createPlan(patient, { description: 'Below 140/90 by the summer' })
  const goalId = await createGoal(patient, planId)
  await createTask(patient, planId, goalId, { dueDate: '2026-01-05' })
  await addParticipant(planId, nurse, 'read')
  const items = Array.from({ length: DAYS }, (_, day) => ({
    kind: 'bodyweight',
    ...{ carePlanId: planId, weight: 80 - day / 10, weightUnit: 'kg' },
    timestamp: new Date(Date.now() - day * DAY_MS).toISOString(),
  }))
  assertStatus(await patient.call('POST', 'procedure/batch', { items }))
  const topic = { title: 'The new tablets', text: 'Do they go with the old ones?' }
  const { id } = assertStatus(await patient.call('POST', `/chat/ehr/${patient.ehrId}`, topic), 201)
  assertStatus(
    await patient.call('POST', 'diagnosis', { name: 'High blood pressure', status: 'active' }),
    201,
  )
  assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${planId}`))
  const own = [`plan/${planId}/goal/${goalId}`, `messages/${id}`]
  return { patient, paths: [...PAGES, ...own] }
}

const PAGES = [
  ...['', 'measure', 'measure?kind=bloodpressure', 'measure?kind=bmi', 'overview', 'overview?period=all'],
  ...['plan', 'messages', 'messages/new', 'record', 'access', 'account', 'nowhere'],
]

/** Goes to a page without loading the console again. */
async function show(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', '/console/${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await page.locator('main:not(:has(.skeleton)) h1').waitFor()
}

const widthOf = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth')

describe('every page of a patient', () => {
  let opened: ConsoleBrowser
  let patient: Patient
  let paths: string[]
  before(async function () {
    const started = await startConsoleBrowser()
    if (!started) return this.skip()
    opened = started
    ;({ patient, paths } = await createBusyPatient())
  })
  after(() => opened?.close())

  for (const language of ['en', 'nl'] as const)
    it(`passes axe-core in the language ${language}, light and dark`, async () => {
      const page = await opened.open({ language })
      assert.deepEqual(await findAccessibilityViolations(page), [], 'login')
      await logInOn(page, patient)
      for (const path of paths) {
        await show(page, path)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          assert.deepEqual(await findAccessibilityViolations(page), [], `${path} ${colorScheme}`)
        }
      }
      assert.equal(await page.getAttribute('html', 'lang'), language)
      assertNoFaults(page)
    })

  it('fits screens from 320 to 1440 px without scrolling sideways', async () => {
    const page = await opened.open()
    await logInOn(page, patient)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      for (const path of paths) {
        await show(page, path)
        assert.ok((await widthOf(page)) <= width, `${path} is ${await widthOf(page)} px wide on ${width} px`)
      }
    }
  })

  it('has a heading of its own, which gets the focus and names the tab', async () => {
    const page = await opened.open()
    await logInOn(page, patient)
    for (const path of paths) {
      await show(page, path)
      const [heading = '', ...more] = await page.locator('h1').allTextContents()
      assert.deepEqual(more, [], path)
      assert.equal(await page.title(), `${heading} – Health record`)
    }
    await page.getByRole('link', { name: 'My record' }).click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
  })

  it('is shown in the README', async () => {
    const page = await opened.open()
    await page.setViewportSize({ width: 1000, height: 900 })
    await logInOn(page, patient)
    await page.getByText('kilograms').waitFor()
    assert.match((await page.locator('main').textContent()) ?? '', /was due on 5 January 2026/)
    assert.match((await page.locator('main').textContent()) ?? '', /1 person looked at your record this week/)
    if (!process.env.SCREENSHOTS) return
    mkdirSync(process.env.SCREENSHOTS, { recursive: true })
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/console-home.png` })
    await page.goto(`${service.url}/console/overview`)
    await page.locator('.plot canvas').waitFor()
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/console-overview.png` })
  })
})
