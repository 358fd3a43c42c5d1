import assert from 'node:assert/strict'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { createGoal, createPatient, createPlan, createTask } from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createAddress, password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitFor } from '../../harness/wait.ts'
import {
  activate,
  assertNoFaults,
  button,
  logInByKeyboard,
  logInOn,
  menu,
  register,
  registerByKeyboard,
  tabTo,
  useConsoleBrowser,
} from '../open-console.ts'

/** The share of a graph that is not empty: lines alone fill little of it. */
const shadedShare = `(() => {
  const { width, height } = document.querySelector('.plot canvas')
  const { data } = document.querySelector('.plot canvas').getContext('2d').getImageData(0, 0, width, height)
  return data.filter((one, at) => at % 4 === 3 && one > 0).length / (width * height)
})()`

/** Keeps the texts that graphs draw; a canvas does not show them otherwise. */
const keepDrawnTexts = `
  globalThis.drawnTexts = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
    drawnTexts.push(text)
    return fillText.call(this, text, ...at)
  }`

const AXIS_TIMES = {
  en: /^(\d{1,2} (Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)|\d\d:\d\d)$/,
  nl: /^(\d{1,2} (jan|feb|mrt|apr|mei|jun|jul|aug|sep|okt|nov|dec)\.?|\d\d:\d\d)$/,
}

const NEW_PASSWORD = 'another correct horse battery'

describe('the first day of a patient', () => {
  const opened = useConsoleBrowser()

  it('leads by mouse from the registration to a measured value, a message and the own access log', async () => {
    const page = await opened.open()
    const email = createAddress()
    await register(page, email)
    await activate(page, email)
    await logInOn(page, { email, password })
    await page.getByText('Nothing has been measured yet.').waitFor()

    await page.getByRole('link', { name: 'Enter a measurement' }).click()
    await page.getByRole('link', { name: 'Blood pressure' }).click()
    await page.getByLabel('Upper pressure', { exact: true }).fill('128,5')
    await page.getByLabel('Lower pressure', { exact: true }).fill('82')
    await button(page, 'Save').click()
    await page.getByText('Upper pressure 128.5 mmHg, Lower pressure 82 mmHg').waitFor()
    await button(page, 'Measure again').click()
    await page.getByLabel('Upper pressure', { exact: true }).fill('126,5')
    await page.getByLabel('Lower pressure', { exact: true }).fill('80')
    await button(page, 'Save').click()
    await page.getByText('Mean of 2 readings: Upper pressure 127.5 mmHg, Lower pressure 81 mmHg').waitFor()
    await page.getByRole('link', { name: 'To the start page' }).click()
    await page.getByText('126.5 over 80 millimetres of mercury').waitFor()

    await menu(page, 'Overview').click()
    await page.getByText(/Upper pressure: last 126\.5 mmHg on .* 2 values/).waitFor()
    await page.locator('.plot canvas').waitFor()
    const bands = page.getByRole('list', { name: 'Areas of “Upper pressure”' })
    assert.match((await bands.textContent()) ?? '', /Normal.*mmHg/)
    assert.ok((await page.evaluate<number>(shadedShare)) > 0.5)
    await button(page, 'Show a table Blood pressure').click()
    await page.locator('tbody tr').first().waitFor()
    assert.equal(await page.locator('tbody tr').count(), 2)
    await page.getByRole('cell', { name: /^126\.5 \(\S.*\)$/ }).waitFor()

    await menu(page, 'Messages').click()
    await page.getByRole('link', { name: 'New message' }).click()
    await page.getByLabel('What is it about?').fill('My new tablets')
    await page.getByLabel('Your message').fill('Do they go with the old ones?')
    await button(page, 'Send').click()
    await page.getByRole('heading', { name: 'My new tablets' }).waitFor()
    await page.getByText('Do they go with the old ones?').waitFor()

    await menu(page, 'Access').click()
    await page.getByText('Nobody else has looked at your data.').waitFor()
    await button(page, 'Log out').click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    assertNoFaults(page)
  })

  it('can be done by keyboard only, from the registration', async () => {
    const page = await opened.open()
    const email = createAddress()
    await registerByKeyboard(page, email, 'Anna de Vries')
    await logInByKeyboard(page, email)

    await tabTo(page, 'Enter a measurement')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Measure' }).waitFor()
    await tabTo(page, 'Blood pressure')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Upper pressure')
    await page.keyboard.type('260')
    await tabTo(page, 'Lower pressure')
    await page.keyboard.type('8o')
    await page.keyboard.press('Enter')
    // The summary of what is wrong has the focus, and leads to the field.
    await tabTo(page, /^Lower pressure: type a number/)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('80')
    await page.keyboard.press('Enter')
    await page.getByRole('alertdialog', { name: 'Is this right?' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.name'), 'diastolic')
    await tabTo(page, 'Upper pressure', 'Shift+Tab')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('118')
    await page.keyboard.press('Enter')
    await page.getByText('Upper pressure 118 mmHg, Lower pressure 80 mmHg').waitFor()

    await tabTo(page, 'Overview', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.locator('.plot canvas').waitFor()
    await tabTo(page, /^Graph of Blood pressure/)
    await page.keyboard.press('End')
    await page.getByText(/^Upper pressure: 118 mmHg, /).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByText(/^Lower pressure: 80 mmHg, /).waitFor()
    assertNoFaults(page)
  })

  it('shows ten tasks for today on the home page, the others by a button, and leads to the plan for those of later', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    const goalId = await createGoal(patient, planId)
    const page = await opened.open()
    await logInOn(page, patient)
    await page.getByText('There is nothing to do today.').waitFor()
    const dateIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
    const overdueTasks = Array.from({ length: 11 }, (_, i) => ({
      name: `Late ${i}`,
      dueDate: dateIn(-2 - i),
    }))
    const later = ['Later', 'Much later'].map((name, i) => ({ name, dueDate: dateIn(2 + i) }))
    const due = { name: 'Due today', dueDate: dateIn(0) }
    for (const task of [...overdueTasks, due, { name: 'On any day' }, ...later])
      await createTask(patient, planId, goalId, task)
    await page.getByText('Not shown yet: 3.').waitFor()
    const names = [...overdueTasks.map(({ name }) => name).toReversed(), 'Due today', 'On any day']
    const shownNames = () =>
      page.getByRole('region', { name: 'To do today' }).locator('li strong').allTextContents()
    assert.deepEqual(await shownNames(), names.slice(0, 10))
    await button(page, 'Show more').click()
    await page.getByText('On any day').first().waitFor()
    assert.deepEqual(await shownNames(), names)
    await page.getByRole('link', { name: '2 tasks for later are in the plan' }).click()
    await page.getByText('Much later').first().waitFor()
    assertNoFaults(page)
  })

  it('reads five care plans at first, and the others by a button', async () => {
    const patient = await createPatient()
    for (let i = 0; i < 7; i++) await createPlan(patient)
    const page = await opened.open()
    const plansRead = new Set<string>()
    page.on('request', (request) => {
      const [, id] = /^\/ehr\/\w+\/careplan\/(\w+)$/.exec(new URL(request.url()).pathname) ?? []
      if (id && id !== 'todo') plansRead.add(id)
    })
    await logInOn(page, patient)
    await menu(page, 'My plan').click()
    await page.getByText('Not shown yet: 2.').waitFor()
    const plans = page.locator('section.panel')
    assert.deepEqual([await plans.count(), plansRead.size], [5, 5])
    await button(page, 'Show more').click()
    await plans.nth(6).waitFor()
    assert.equal(plansRead.size, 7)
    assertNoFaults(page)
  })

  it('allows a new password, which ends other sessions, and the deletion of the account', async () => {
    const patient = await createPatient()
    const other = await opened.open()
    await logInOn(other, patient)
    const page = await opened.open()
    await logInOn(page, patient)
    await menu(page, 'Account').click()
    await page.getByLabel('Your password now').fill('not the password')
    await page.getByLabel('New password').fill(NEW_PASSWORD)
    await button(page, 'Change the password').click()
    await page.getByText('This password is wrong. Check it.', { exact: true }).waitFor()
    await page.getByLabel('Your password now').fill(patient.password)
    await button(page, 'Change the password').click()
    await page.getByText('The password is changed.').waitFor()
    await other.reload()
    await other.getByRole('heading', { name: 'Log in' }).waitFor()

    await page.reload()
    await page.getByText('Delete my account').click()
    await page.getByLabel('Your password, to confirm this').fill(NEW_PASSWORD)
    await button(page, 'Delete the account').click()
    await page.getByRole('alertdialog', { name: 'Delete the account' }).waitFor()
    await page.keyboard.press('Escape')
    await button(page, 'Delete the account').click()
    await button(page, 'Yes, delete it').click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    const login = { email: patient.email, password: NEW_PASSWORD }
    assertProblem(await patient.call('POST', '/auth/login/password', login), 401, 'invalid-credentials')
    assertNoFaults(page)
  })

  for (const language of ['en', 'nl'] as const)
    it(`has the day before the month and 24 hours beside a graph, in the language ${language}`, async () => {
      const patient = await createPatient()
      const weight = { weight: 70, weightUnit: 'kg', timestamp: new Date().toISOString() }
      const body = { carePlanId: await createPlan(patient), ...weight }
      assertStatus(await patient.call('POST', 'procedure/bodyweight', body), 201)
      const page = await opened.open({ language })
      await page.addInitScript(keepDrawnTexts)
      await logInOn(page, patient)
      await page.goto(`${service.url}/console/overview?period=week`)
      await page.locator('.plot canvas').waitFor()
      const texts = await waitFor(async () => {
        const drawn = await page.evaluate<string[]>('drawnTexts')
        return drawn.some((one) => /[a-z]{3}/i.test(one)) ? drawn : undefined
      }, 'the texts of the graph')
      const times = texts.filter((one) => /:|\d .*[a-z]|[a-z].* \d/i.test(one))
      assert.ok(times.length > 2)
      for (const time of times) assert.match(time, AXIS_TIMES[language])
      assertNoFaults(page)
    })
})
