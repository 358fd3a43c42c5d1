import assert from 'node:assert/strict'
import type { Route } from 'playwright-core'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, nameProfile, type Person } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import { assertNoFaults, button, goTo, logInOn, menu, useConsoleBrowser } from './open-console.ts'

async function createRate(patient: Patient, carePlanId: string, timestamp: string): Promise<void> {
  const rate = { carePlanId, heartRate: 71, heartRateUnit: '/min', timestamp }
  assertStatus(await patient.call('POST', 'procedure/heartrate', rate), 201)
}

/** The left edges of texts in the main part of a page, in the order in which they are given. */
const leftsOf = `(texts) => texts.map((text) => {
  const nodes = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  while (nodes.nextNode()) {
    const start = nodes.currentNode.data.indexOf(text)
    if (start < 0 || nodes.currentNode.parentNode.closest('h1, .paper-only')) continue
    const range = document.createRange()
    range.setStart(nodes.currentNode, start)
    range.setEnd(nodes.currentNode, start + text.length)
    return range.getBoundingClientRect().left
  }
})`

const runningAnimations = 'document.getAnimations().length'

describe('the console', () => {
  const opened = useConsoleBrowser()

  it('prints a plan and a table of values, with their structure and without menu and buttons', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient, { name: 'Lower blood pressure' })
    const goalId = await createGoal(patient, planId, { name: 'Walk' })
    await createTask(patient, planId, goalId, { name: 'Buy shoes' })
    await createRate(patient, planId, '2026-03-01T08:30:00Z')
    const page = await opened.open()
    await logInOn(page, patient)
    await goTo(page, 'plan')
    const task = page.getByText('Buy shoes').first()
    await task.waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.ok(await task.isVisible())
    assert.ok(await page.getByText(/^Printed by .+ on \d/).isVisible())
    for (const hidden of ['nav', 'footer', 'button', 'main a'])
      for (const one of await page.locator(hidden).all()) assert.equal(await one.isVisible(), false, hidden)
    const plan = (await page.pdf({ tagged: true })).toString('latin1')
    assert.match(plan, /^%PDF-/)
    assert.match(plan, /\/StructTreeRoot/)

    await page.emulateMedia({ media: 'screen' })
    await goTo(page, 'overview?period=all')
    await button(page, 'Show a table Heart rate').click()
    await page.getByRole('cell', { name: '71' }).waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.ok(await page.getByRole('cell', { name: '71' }).isVisible())
    assert.ok(await page.getByRole('columnheader').first().isVisible())
    assert.match((await page.pdf({ tagged: true })).toString('latin1'), /\/StructTreeRoot/)
  })

  it('prints all rows of the chosen period, up to a bound that it names, and then shows a page again', async () => {
    const patient = await createPatient()
    const carePlanId = await createPlan(patient)
    const items = Array.from({ length: 2010 }, (_, i) => ({
      kind: 'heartrate',
      carePlanId,
      heartRate: 60 + (i % 30),
      heartRateUnit: '/min',
      timestamp: new Date(Date.now() - i * 600_000).toISOString(),
    }))
    for (let at = 0; at < items.length; at += 500)
      assertStatus(await patient.call('POST', 'procedure/batch', { items: items.slice(at, at + 500) }))
    const page = await opened.open()
    // Otherwise the service thins the graph out.
    await page.route(/medgraph/, (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/points=\d+/, 'points=2500'),
      }),
    )
    await logInOn(page, patient)
    const assertPrinted = async (period: string, values: number) => {
      const printed = Math.min(values, 2000)
      await button(page, period).click()
      await page.getByText(`${values.toLocaleString('en')} values.`).waitFor()
      assert.equal(await page.locator('tbody tr').count(), 25)
      await page.evaluate("dispatchEvent(new Event('beforeprint'))")
      assert.equal(await page.locator('tbody tr').count(), printed)
      const note = page.getByText('Only the newest 2,000 rows are printed.')
      assert.equal(await note.count(), printed === 2000 ? 1 : 0)
      await page.evaluate("dispatchEvent(new Event('afterprint'))")
      await page.waitForFunction("document.querySelectorAll('tbody tr').length === 25")
    }
    const sinceWeek = new Date().setHours(23, 59, 59, 999) - 7 * 86_400_000
    await goTo(page, 'overview')
    await button(page, 'Show a table Heart rate').click()
    await page.locator('tbody tr').first().waitFor()
    await assertPrinted('Week', items.filter(({ timestamp }) => Date.parse(timestamp) >= sinceWeek).length)
    await assertPrinted('All', items.length)
    assertNoFaults(page)
  })

  for (const [reducedMotion, isMoving] of [
    ['no-preference', true],
    ['reduce', false],
  ] as const)
    it(`${isMoving ? 'moves' : 'moves nothing'} while it loads, with the preference ${reducedMotion}`, async () => {
      const page = await opened.open()
      await logInOn(page, await createPatient())
      await page.emulateMedia({ reducedMotion })
      let answer = () => {}
      await page.route(/\/careplan\?/, async (route) => {
        await new Promise<void>((resolve) => {
          answer = resolve
        })
        await route.continue()
      })
      await page.goto(`${service.url}/console/plan`)
      await page.locator('.skeleton').first().waitFor()
      assert.equal(Number(await page.evaluate(runningAnimations)) > 0, isMoving)
      answer()
    })

  it('names the time zone of a plan in which measurements are expected, to those in another one', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    const expected = [{ kind: 'heartrate', from: '2026-03-01', everyDays: 1, by: '20:00' }]
    const rules = { timeZone: 'Europe/Amsterdam', expected }
    assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, rules))
    for (const [language, timezoneId, text] of [
      ['en', 'America/New_York', 'Heart rate: every day, before 20:00 (time zone Europe/Amsterdam)'],
      ['nl', 'America/New_York', 'Hartslag: elke dag, vóór 20:00 (tijdzone Europe/Amsterdam)'],
      ['en', 'Europe/Amsterdam', 'Heart rate: every day, before 20:00'],
    ] as const) {
      const page = await opened.open({ language, timezoneId })
      await logInOn(page, nurse)
      await goTo(page, `patients/${patient.ehrId}/plan/${planId}/alerts`)
      await page.getByText(text, { exact: true }).first().waitFor()
      const isForeign = timezoneId !== rules.timeZone
      assert.equal(await page.getByText(/plan: Europe\/Amsterdam/).count(), isForeign ? 1 : 0)
      assertNoFaults(page)
    }
  })

  it('stores measurements and creates plans at a URL without https, where browsers offer no UUID', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    const page = await opened.open()
    await page.addInitScript('delete Crypto.prototype.randomUUID')
    await page.reload()
    await logInOn(page, patient)
    assert.equal(await page.evaluate('crypto.randomUUID'), undefined)
    await goTo(page, 'measure?kind=heartrate')
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await button(page, 'Save').click()
    await page.getByText('Heart rate 72 per minute').waitFor()
    await goTo(page, `plan/${planId}/goal/new`)
    await page.getByLabel('Goal', { exact: true }).fill('Walk')
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Walk', exact: true }).waitFor()
    assertNoFaults(page)
  })

  it('says in Dutch that the service refuses something, with the code of a rare reason', async () => {
    const patient = await createPatient()
    await createPlan(patient)
    const page = await opened.open({ language: 'nl' })
    await logInOn(page, patient)
    const refusals = [
      { code: 'rare-case', shown: 'Dit is niet gelukt. Code: rare-case' },
      { code: 'rule-violated', shown: 'Dit klopt nog niet. Kijk het na. Code: rare-rule' },
    ]
    for (const { code, shown } of refusals) {
      const violation = { path: 'heartRate', code: 'rare-rule', message: 'must not be so' }
      const errors = code === 'rule-violated' ? [violation] : []
      const problem = { status: 422, code, title: 'The input breaks a rule', detail: 'Not now', errors }
      const reply = { status: 422, contentType: 'application/problem+json', body: JSON.stringify(problem) }
      const save = (route: Route) =>
        route.request().method() === 'POST' ? route.fulfill(reply) : route.fallback()
      await page.route('**/procedure/heartrate', save)
      await goTo(page, 'measure?kind=heartrate')
      await page.getByLabel('Hartslag', { exact: true }).fill('72')
      await page.locator('main button[type=submit]').click()
      await page.getByRole('alert').getByText(shown).waitFor()
      const text = (await page.getByRole('main').textContent()) ?? ''
      assert.doesNotMatch(text, /The input|Not now|must not/)
      await page.unroute('**/procedure/heartrate', save)
    }
    assertNoFaults(page)
  })

  it('keeps names that are written from right to left in their places in a sentence', async () => {
    const [patient, ...nurses] = await Promise.all([
      createPatient(),
      ...Array.from({ length: 3 }, () => createPerson()),
    ])
    const planId = await createPlan(patient, { description: 'דנה!' })
    assertStatus(await patient.call('POST', 'diagnosis', { name: 'דנה!' }), 201)
    const roles = ['גלי', 'רון', 'נעם']
    for (const [i, role] of roles.entries()) {
      const body = { mvUid: nurses[i]?.mvUid, role, access: 'WRITE' }
      assertStatus(await patient.call('POST', `careplan/${planId}/participant`, body), 201)
    }
    const nurse = nurses[0] as Person
    await nameProfile(nurse, 'דנה')
    const topic = { title: 'דנה!', text: 'One a day' }
    const { id } = assertStatus(await nurse.call('POST', `/chat/careplan/${planId}`, topic), 201)
    const page = await opened.open()
    await logInOn(page, patient)
    const assertOrder = async (texts: readonly string[]) => {
      const lefts = (await page.evaluate(`(${leftsOf})(${JSON.stringify(texts)})`)) as number[]
      assert.deepEqual(
        lefts,
        lefts.toSorted((one, other) => one - other),
        texts.join(' '),
      )
    }
    await goTo(page, 'plan')
    await page.getByText(/^Taking part/).waitFor()
    await assertOrder(['Taking part', ...roles])
    const assertReversed = async () => {
      await page.getByText('דנה!').first().waitFor()
      await assertOrder(['!', 'דנה'])
    }
    await assertReversed()
    await goTo(page, 'messages')
    await assertReversed()
    await goTo(page, 'record/timeline')
    await assertReversed()
    await page.setViewportSize({ width: 320, height: 640 })
    await assertReversed()
    await goTo(page, `messages/${planId}/${id}`)
    await page.getByText('One a day').waitFor()
    const year = String(new Date().getFullYear())
    await assertOrder(['דנה', `${new Date().getDate()} `, year])
    assertNoFaults(page)
  })

  it('breaks a word that is longer than a card of a phone', async () => {
    const patient = await createPatient()
    assertStatus(await patient.call('POST', 'diagnosis', { name: 'x'.repeat(100) }), 201)
    const page = await opened.open()
    await page.setViewportSize({ width: 320, height: 640 })
    await logInOn(page, patient)
    await goTo(page, 'record/timeline')
    await page.locator('td', { hasText: 'xx' }).waitFor()
    assert.equal(await page.evaluate("document.querySelector('.scroll').scrollWidth > innerWidth"), false)
    assertNoFaults(page)
  })

  it('says that there is no page at a URL that cannot be decoded', async () => {
    const page = await opened.open()
    await logInOn(page, await createPatient())
    await goTo(page, 'messages/%E0%A4%A')
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor()
    assertNoFaults(page)
  })

  it('takes and shows times in the time zone of the browser', async () => {
    const patient = await createPatient()
    await createRate(patient, await createPlan(patient), '2026-03-01T12:00:00Z')
    const page = await opened.open({ timezoneId: 'America/New_York' })
    await logInOn(page, patient)
    await goTo(page, 'measure?kind=heartrate')
    await page.getByLabel('Heart rate', { exact: true }).fill('64')
    await button(page, 'Another time').click()
    await page.getByLabel('When did you measure?').fill('2026-03-02T08:30')
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Saved' }).waitFor()
    const { items } = assertStatus(await patient.call('GET', 'procedure/heartrate'))
    assert.equal(items[0].timestamp, '2026-03-02T13:30:00.000Z')
    for (const [timezoneId, enteredTime, stored] of [
      ['America/New_York', '2 March 2026 at 08:30', '1 March 2026 at 07:00'],
      ['Europe/Amsterdam', '2 March 2026 at 14:30', '1 March 2026 at 13:00'],
    ] as const) {
      const otherPage = await opened.open({ timezoneId })
      await logInOn(otherPage, patient)
      await goTo(otherPage, 'overview?period=all')
      await button(otherPage, 'Show a table Heart rate').click()
      await otherPage.getByText(enteredTime).waitFor()
      await otherPage.getByText(stored).waitFor()
    }
  })

  it('shows parts of a page from the top, so that none moves under a finger while the others load', async () => {
    const patient = await createPatient()
    await createPlan(patient, { name: 'First' })
    await createPlan(patient, { name: 'Second' })
    const page = await opened.open()
    await logInOn(page, patient)
    for (const [path, held, lower] of [
      ['access', /\/participant\?/, page.getByLabel('Code of the helper')],
      ['', /\/careplan\/todo/, page.getByRole('heading', { name: 'Who looked at your record' })],
      ['plan', /\/careplan\/\w+$/, page.getByRole('heading', { name: 'First' })],
    ] as const) {
      let answer = () => {}
      const isAnswered = new Promise<void>((resolve) => {
        answer = resolve
      })
      let isFirst = true
      await page.route(held, async (route) => {
        const isHeld = isFirst
        isFirst = false
        if (isHeld) await isAnswered
        await route.continue()
      })
      await page.goto(`${service.url}/console/${path}`)
      await page.locator('.skeleton p:not(.early)').getByText('Loading …').first().waitFor()
      assert.equal(await lower.count(), 0, path)
      answer()
      await lower.waitFor()
      await page.unroute(held)
    }
    assertNoFaults(page)
  })

  it('lists the session of this browser first, then the others by their last use', async () => {
    const page = await opened.open()
    await logInOn(page, await createPatient())
    const session = (device: string, minute: number, current = false) => ({
      sid: device,
      current,
      device,
      lastUsedAt: `2026-01-01T10:0${minute}:00.000Z`,
    })
    const items = [session('old', 1), session('newest', 5), session('here', 2, true), session('newer', 3)]
    await page.route(/\/auth\/sessions/, (route, request) => {
      const at = Number(new URL(request.url()).searchParams.get('cursor'))
      const next = at + 1 < items.length ? String(at + 1) : null
      return route.fulfill({ json: { items: [items[at]], page: { limit: 1, next } } })
    })
    await menu(page, 'Account').click()
    await page.getByText('newest').first().waitFor()
    const names = await page.locator('li:has(p.help) strong').allTextContents()
    assert.deepEqual(names, ['here', 'newest', 'newer', 'old'])
  })
})
