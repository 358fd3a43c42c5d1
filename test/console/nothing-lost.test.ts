import assert from 'node:assert/strict'
import type { Page, Route } from 'playwright-core'
import { sessionsOf } from '../../records/accounts/login/sessions.ts'
import { createGoal, createPatient, createPlan, createWeight } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { endOtherSessions } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import {
  assertNoFaults,
  button,
  logInOn,
  menu,
  pressAndLoseAnswer,
  useConsoleBrowser,
} from './open-console.ts'

const upper = (page: Page) => page.getByLabel('Upper pressure', { exact: true })

describe('the console', () => {
  const opened = useConsoleBrowser()

  async function openLoggedIn(path = '') {
    const patient = await createPatient()
    const page = await opened.open()
    await logInOn(page, patient)
    await page.goto(`${service.url}/console/${path}`)
    await page.locator('nav').waitFor()
    return { patient, page }
  }

  it('keeps the session and what was typed when the page is loaded again', async () => {
    const { page } = await openLoggedIn('measure?kind=bloodpressure')
    await upper(page).fill('131')
    await page.reload()
    assert.equal(await upper(page).inputValue(), '131')
    const readable = await page.evaluate(
      'document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)',
    )
    assert.doesNotMatch(String(readable), /eyJ|refreshToken/)
    assertNoFaults(page)
  })

  it('leaves the focus where the user has put it when a page loads late', async () => {
    const patient = await createPatient()
    const page = await opened.open()
    const heldRoute = new Promise<Route>((resolve) => void page.route(/home-page-/, resolve))
    await logInOn(page, patient)
    await button(page, 'Log out').focus()
    await (await heldRoute).continue()
    await page.locator('h1').waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Log out')
    await menu(page, 'My record').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
    assertNoFaults(page)
  })

  it('says that it takes longer when the service asks to wait', async () => {
    const { page } = await openLoggedIn('record')
    const headers = { 'retry-after': '20' }
    await page.route('**/medgraph**', (route) => route.fulfill({ status: 429, headers, body: '{}' }))
    await page.clock.install()
    await menu(page, 'Overview').click()
    await page.getByText('Loading …').waitFor()
    await page.clock.fastForward(8000)
    await page.getByText('This takes longer than usual. Wait a moment.').waitFor()
    await page.unroute('**/medgraph**')
    await page.clock.fastForward(20_000)
    await page.getByText('Nothing has been measured yet.').waitFor()
  })

  it('says that the session ended while no page was open, and says so once', async () => {
    const { patient, page } = await openLoggedIn()
    await page.goto('about:blank')
    await endOtherSessions(patient)
    await page.goto(`${service.url}/console`)
    const note = page.getByText('You were logged out since your last visit. Log in to continue.')
    await note.waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    assert.equal(await note.count(), 0)
  })

  it('keeps what was typed when the session ends, and shows it after the next login', async () => {
    const { patient, page } = await openLoggedIn('measure?kind=bloodpressure')
    await upper(page).fill('132')
    await page.getByLabel('Lower pressure', { exact: true }).fill('85')
    await endOtherSessions(patient)
    await button(page, 'Save').click()
    await page.getByText('You were logged out. Log in to continue. Your entries are kept.').waitFor()
    await logInOn(page, patient)
    assert.equal(await upper(page).inputValue(), '132')
    await button(page, 'Save').click()
    await page.getByText('Upper pressure 132 mmHg, Lower pressure 85 mmHg').waitFor()
    assert.equal(await sessionsOf(service.db).countDocuments({ _p_user: `_User$${patient.mvUid}` }), 2)
  })

  it('forgets what was typed, and ends in every tab, when the person logs out', async () => {
    const { patient, page } = await openLoggedIn('measure?kind=bloodpressure')
    const other = await opened.open({}, page.context())
    await other.locator('nav').waitFor()
    await upper(page).fill('133')
    await button(other, 'Log out').click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await logInOn(page, patient)
    assert.equal(await upper(page).inputValue(), '')
  })

  it('saves once what is sent twice, and survives a lost answer', async () => {
    const { patient, page } = await openLoggedIn('measure?kind=heartrate')
    let lost = 0
    await page.route('**/procedure/heartrate', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue()
      lost++
      await route.fetch()
      return route.abort('connectionreset')
    })
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await button(page, 'Save').dblclick()
    await page.getByText('Heart rate 72 per minute').waitFor()
    const { items } = assertStatus(await patient.call('GET', 'procedure/heartrate'))
    assert.deepEqual([items.length, lost], [1, 1])
  })

  it('saves once what was sent before the page was loaded again', async () => {
    const { patient, page } = await openLoggedIn('measure?kind=heartrate')
    const planId = await createPlan(patient)
    const goalId = await createGoal(patient, planId)
    const save = async (path: string, label: string, text: string) => {
      await page.getByLabel(label, { exact: true }).fill(text)
      await pressAndLoseAnswer(page, 'Save', path)
      await page.reload()
      assert.equal(await page.getByLabel(label, { exact: true }).inputValue(), text)
      await button(page, 'Save').click()
    }
    await save('**/procedure/heartrate', 'Heart rate', '72')
    await page.getByText('Heart rate 72 per minute').waitFor()
    assert.equal(assertStatus(await patient.call('GET', 'procedure/heartrate')).items.length, 1)

    await page.goto(`${service.url}/console/plan/${planId}/goal/${goalId}/task/new`)
    await save('**/task', 'Task', 'Buy shoes')
    await page.getByRole('heading', { name: 'My plan' }).waitFor()
    const [goal] = assertStatus(await patient.call('GET', `careplan/${planId}`)).goals
    assert.equal(goal.tasks.length, 1)
  })

  it('sends a message about another plan after a lost answer', async () => {
    const { patient, page } = await openLoggedIn('messages/new')
    const plans = [await createPlan(patient, { name: 'Asthma' }), await createPlan(patient, { name: 'Gout' })]
    const plan = page.getByLabel('Does it belong to a plan?')
    await plan.selectOption('Asthma')
    await page.getByLabel('What is it about?').fill('The new tablets')
    await page.getByLabel('Your message').fill('When do I take them?')
    await pressAndLoseAnswer(page, 'Send', '**/chat/careplan/*')
    await plan.selectOption('Gout')
    await button(page, 'Send').click()
    await page.getByRole('heading', { name: 'The new tablets' }).waitFor()
    for (const id of plans)
      assert.equal(assertStatus(await patient.call('GET', `/chat/careplan/${id}`)).items.length, 1)
  })

  it('keeps the field for the time while it is empty, and asks for a time', async () => {
    const { patient, page } = await openLoggedIn('measure?kind=heartrate')
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await button(page, 'Another time').click()
    const time = page.getByLabel('When did you measure?')
    await time.focus()
    await page.keyboard.press('Backspace')
    assert.ok(await time.isVisible())
    await time.fill('')
    await button(page, 'Save').click()
    await page.getByText('Say when you measured.').first().waitFor()
    assert.deepEqual(assertStatus(await patient.call('GET', 'procedure/heartrate')).items, [])
    await time.fill('2999-01-01T08:00')
    await button(page, 'Save').click()
    await page.getByText('This time is not possible.').first().waitFor()
  })

  it('ends the session that a log-out without an answer left, before any page opens', async () => {
    const { patient, page } = await openLoggedIn()
    await page.route('**/auth/**', (route) => route.abort())
    await button(page, 'Log out').click()
    await page.getByText('You are logged out here, but the service did not answer.').waitFor()
    await page.evaluate("localStorage.setItem('/console:logged-in', '1')")
    await page.unroute('**/auth/**')
    await page.reload()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    assert.equal(await page.getByText('You are logged out here').count(), 0)
    assert.equal(assertStatus(await patient.call('GET', '/auth/sessions')).items.length, 1)
    await logInOn(page, patient)
  })

  it('says that the service does not answer when the page is loaded meanwhile, and goes on', async () => {
    const { page } = await openLoggedIn('record')
    const problem = {
      status: 503,
      contentType: 'application/problem+json',
      body: '{"status":503,"code":"unavailable"}',
    }
    await page.route('**/auth/login/token', (route) => route.fulfill(problem))
    await page.reload()
    await page.getByRole('heading', { name: 'The service does not answer' }).waitFor()
    await page.unroute('**/auth/login/token')
    await button(page, 'Try again').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
  })

  it('sends a refused measurement with a new key, changed or not, and keeps what was typed', async () => {
    const { patient, page } = await openLoggedIn('measure?kind=bloodpressure')
    await createPlan(patient)
    const keys: (string | undefined)[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST' && /procedure/.test(request.url()))
        keys.push(request.headers()['idempotency-key'])
    })
    await upper(page).fill('100')
    await page.getByLabel('Lower pressure', { exact: true }).fill('110')
    const waitForRefusal = () => page.waitForResponse((response) => response.status() === 422)
    for (let i = 0; i < 2; i++) await Promise.all([waitForRefusal(), button(page, 'Save').click()])
    await page.getByText('The lower pressure must be below the upper pressure.').first().waitFor()
    assert.equal(await upper(page).inputValue(), '100')
    await upper(page).fill('120')
    await page.getByLabel('Lower pressure', { exact: true }).fill('80')
    await button(page, 'Save').click()
    await page.getByText('Upper pressure 120 mmHg, Lower pressure 80 mmHg').waitFor()
    assert.deepEqual([keys.length, new Set(keys).size, keys.includes(undefined)], [3, 3, false])
    const { items } = assertStatus(await patient.call('GET', 'procedure/bloodpressure'))
    assert.equal(items.length, 1)
    assertNoFaults(page)
  })

  it('shows what others change before it hears of changes', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    const page = await opened.open()
    const heldRoute = new Promise<Route>((resolve) => void page.route('**/ehr/*/changes?*', resolve))
    await logInOn(page, patient)
    await page.getByText('Nothing has been measured yet.').waitFor()
    const stream = await heldRoute
    await createWeight(patient, planId, 72.5)
    await stream.continue()
    await page.getByText('72.5 kilograms').waitFor()
    assertNoFaults(page)
  })

  it('shows what others change within a moment, and leaves a form alone', async () => {
    const { patient, page } = await openLoggedIn()
    const planId = await createPlan(patient)
    await page.getByText('Nothing has been measured yet.').waitFor()
    await createWeight(patient, planId, 71.5)
    await page.getByText('71.5 kilograms').waitFor()

    const goalId = await createGoal(patient, planId, { description: 'Half an hour' })
    await page.goto(`${service.url}/console/plan/${planId}/goal/${goalId}`)
    await page.getByLabel('Notes', { exact: true }).fill('With the dog')
    await page.getByLabel('Description', { exact: true }).fill('An hour')
    const path = `careplan/${planId}/goal/${goalId}`
    const theirs = { name: 'Walk every day', description: 'Twenty minutes' }
    assertStatus(await patient.call('PUT', path, theirs))
    await page.getByText('Somebody else changed this just now').waitFor()
    assert.equal(await page.getByLabel('Description', { exact: true }).inputValue(), 'An hour')
    for (const text of ['Before: Half an hour', 'Theirs: Twenty minutes', 'Yours: An hour'])
      await page.getByText(text).waitFor()

    const kept = String(await page.evaluate('JSON.stringify(sessionStorage)'))
    for (const typed of ['An hour', 'With the dog']) assert.ok(kept.includes(typed), kept)
    // Nothing of the record stays in the browser.
    for (const stored of ['Half an hour', 'Twenty minutes', 'Walk']) assert.ok(!kept.includes(stored), kept)
    await page.reload()
    await page.getByLabel('Yours: An hour').waitFor()
    assert.equal(await page.getByText('Before:').count(), 0)
    assert.equal(await page.getByLabel('Description', { exact: true }).inputValue(), 'An hour')
    await page.getByLabel('Theirs: Twenty minutes').check()
    await button(page, 'Use this in my form').click()
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'My plan' }).waitFor()
    const { goals } = assertStatus(await patient.call('GET', `careplan/${planId}`))
    const { name, description, notes } = goals[0]
    assert.deepEqual([name, description, notes], ['Walk every day', 'Twenty minutes', 'With the dog'])
    assertNoFaults(page)
  })

  it('says that there is a new version when a part of the page is gone, and keeps what was typed', async () => {
    const { page } = await openLoggedIn('measure?kind=bloodpressure')
    await upper(page).fill('134')
    await page.route('**/assets/record-page-*.js', (route) => route.fulfill({ status: 404 }))
    await menu(page, 'My record').click()
    await page.getByRole('heading', { name: 'There is a new version' }).waitFor()
    await page.unroute('**/assets/record-page-*.js')
    await button(page, 'Load again').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
    await page.goBack()
    assert.equal(await upper(page).inputValue(), '134')
  })
})
