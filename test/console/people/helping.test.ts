import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { findAccessibilityViolations } from '../../harness/browser/axe.ts'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createHelper, inviteHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, nameProfile, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import {
  assertNoFaults,
  button,
  giveOneEntryAtATime,
  goTo,
  logInOn,
  menu,
  pressAndLoseAnswer,
  useConsoleBrowser,
} from '../open-console.ts'

async function rename(person: Person, displayName: string): Promise<void> {
  await nameProfile(person, displayName)
  assertStatus(await person.call('PUT', `/auth/account/${person.mvUid}`, { name: displayName }))
}

const focusedLabel = (page: Page) => page.evaluate('document.activeElement.labels?.[0]?.textContent')

const banner = (page: Page) => page.locator('.helping')

describe('a helper in the console', () => {
  const opened = useConsoleBrowser()
  let anna: Patient
  let piet: Person
  beforeEach(async () => {
    ;[anna, piet] = await Promise.all([createPatient(), createPerson()])
    await Promise.all([rename(anna, 'Anna de Vries'), rename(piet, 'Piet de Vries')])
    const planId = await createPlan(anna)
    await createTask(anna, planId, await createGoal(anna, planId))
  })

  it('is not invited while a day is missing, and the form says which one', async () => {
    const page = await opened.open()
    await logInOn(page, anna)
    await menu(page, 'Access').click()
    await page.getByLabel('Code of the helper').fill(piet.mvUid)
    for (const label of ['From when?', 'Until when?']) {
      const field = page.getByLabel(label, { exact: true }).last()
      const day = await field.inputValue()
      await field.fill('')
      await button(page, 'Invite').click()
      await page.getByRole('alert').waitFor()
      assert.equal(await field.getAttribute('aria-invalid'), 'true')
      assert.equal(await page.getByLabel('Code of the helper').inputValue(), piet.mvUid)
      await field.fill(day)
    }
    await pressAndLoseAnswer(page, 'Invite', `**/profile/${anna.mvUid}/helper`)
    await button(page, 'Invite').click()
    await page.getByText('This is in the list now.').last().waitFor()
    await page.getByText('Has not accepted yet.').waitFor()
    const invitation = await anna.call('GET', `/profile/${anna.mvUid}/helper/${piet.mvUid}`)
    assert.equal(invitation.headers.get('etag'), '"1"')
    assertNoFaults(page)
  })

  it('is invited, accepts, acts with a banner on each page, and stops when the person ends it', async () => {
    const annas = await opened.open()
    await logInOn(annas, anna)
    await menu(annas, 'Access').click()
    await annas.getByLabel('Code of the helper').fill('nobody')
    await button(annas, 'Invite').click()
    await annas.getByText('There is no other user with this code. Check it.').first().waitFor()
    await annas.getByLabel('Code of the helper').fill(piet.mvUid)
    await annas.getByLabel('This person is your').selectOption('CHILD')
    await annas.getByLabel('enter measurements and answers').check()
    await button(annas, 'Invite').click()
    await annas.getByText('Has not accepted yet.').waitFor()

    const piets = await opened.open()
    await logInOn(piets, piet)
    await menu(piets, 'Account').click()
    await piets.getByText(piet.mvUid).waitFor()
    await piets.getByText('Anna de Vries asks you to help.').waitFor()
    await button(piets, 'Yes, I will help').click()
    await button(piets, 'Act for Anna de Vries').click()
    await piets.getByRole('heading', { name: 'Record of Anna de Vries' }).waitFor()
    assert.match((await banner(piets).textContent()) ?? '', /You act for Anna de Vries/)
    const items = await piets.locator('nav li').allTextContents()
    assert.deepEqual(items, ['Home', 'Measure', 'Overview', 'Care plans', 'Record'])
    assert.equal(await button(piets, 'Done Buy shoes').count(), 0)

    await piets.reload()
    await banner(piets).waitFor()
    await menu(piets, 'Measure').click()
    await piets.getByRole('link', { name: 'Blood pressure' }).click()
    await piets.getByLabel('Upper pressure', { exact: true }).fill('128')
    await piets.getByLabel('Lower pressure', { exact: true }).fill('82')
    await button(piets, 'Save').click()
    await piets.getByText('Upper pressure 128 mmHg, Lower pressure 82 mmHg').waitFor()

    await annas.reload()
    await annas.getByRole('rowheader', { name: 'Piet de Vries, for you' }).first().waitFor()
    await menu(annas, 'Home').click()
    await annas.getByRole('listitem').getByText('Piet de Vries, for you').waitFor()
    await menu(annas, 'Access').click()
    await button(annas, 'End the help Piet de Vries').click()
    await button(annas, 'Yes, end it').click()
    await annas.getByText('Nobody may act for you.').waitFor()

    await menu(piets, 'Home').click()
    await piets.getByText('You can no longer act for Anna de Vries.').waitFor()
    await piets.getByRole('heading', { name: 'Hello Piet de Vries' }).waitFor()
    for (const page of [annas, piets]) assertNoFaults(page)
  })

  it('sees at once what the person does, as the person does, and both keep what they type', async () => {
    const annas = await opened.open()
    const piets = await opened.open()
    await logInOn(annas, anna)
    await menu(annas, 'Access').click()
    await annas.getByText('Nobody may act for you.').waitFor()
    await annas.getByLabel('Code of the helper').fill('half a co')
    await logInOn(piets, piet)
    await goTo(piets, 'measure?kind=heartrate')
    await piets.getByLabel('Heart rate', { exact: true }).fill('72')

    await inviteHelper(anna, piet, ['READ'])
    await piets.getByText('Anna de Vries asks you to help.').waitFor()
    await annas.getByText('Has not accepted yet.').waitFor()
    await button(piets, 'No').click()
    await annas.getByText('Nobody may act for you.').waitFor()

    await createHelper(anna, piet, ['READ'])
    await button(piets, 'Act for Anna de Vries').waitFor()
    await button(annas, 'End the help Piet de Vries').waitFor()
    assert.equal(await annas.getByLabel('Code of the helper').inputValue(), 'half a co')
    assert.match(String(await focusedLabel(annas)), /^Code of the helper/)
    assert.equal(await piets.getByLabel('Heart rate', { exact: true }).inputValue(), '72')
    const ended = await anna.call('DELETE', `/profile/${anna.mvUid}/helper/${piet.mvUid}`)
    assertStatus(ended, 204)
    await button(piets, 'Act for Anna de Vries').waitFor({ state: 'detached' })
    await annas.getByText('Nobody may act for you.').waitFor()
    for (const page of [annas, piets]) assertNoFaults(page)
  })

  it('gets new permissions at once while acting, keeps the form that is open, and stops at the end', async () => {
    await createHelper(anna, piet, ['READ', 'RECORD'])
    const page = await opened.open()
    await logInOn(page, piet)
    await button(page, 'Act for Anna de Vries').click()
    await banner(page).waitFor()
    await menu(page, 'Measure').click()
    await page.getByRole('link', { name: 'Heart rate' }).click()
    await page.getByLabel('Heart rate', { exact: true }).fill('64')

    await inviteHelper(anna, piet, ['READ', 'MESSAGES'])
    await menu(page, 'Messages').waitFor()
    await menu(page, 'Measure').waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Heart rate', { exact: true }).inputValue(), '64')
    await button(page, 'Save').click()
    await page.getByText('You may not do this. If you act for somebody, ask them to allow it.').waitFor()
    await inviteHelper(anna, piet, ['READ', 'RECORD'])
    await menu(page, 'Measure').waitFor()
    await button(page, 'Save').click()
    await page.getByText('Heart rate 64 per minute').waitFor()

    const ended = await anna.call('DELETE', `/profile/${anna.mvUid}/helper/${piet.mvUid}`)
    assertStatus(ended, 204)
    await page.getByText('You can no longer act for Anna de Vries.').waitFor()
    await menu(page, 'Account').waitFor()
    assertNoFaults(page)
  })

  it('finds the person in the URL, in another tab, after a login and on the way back', async () => {
    await createHelper(anna, piet, ['READ'])
    await createHelper(await createPatient(), piet, ['READ'])
    const page = await opened.open()
    await giveOneEntryAtATime(page)
    await logInOn(page, piet)
    await button(page, 'Act for Anna de Vries').click()
    await menu(page, 'Overview').click()
    const url = page.url()
    assert.equal(url, `${service.url}/console/for/${anna.mvUid}/overview`)
    assert.equal(service.url + (await menu(page, 'Overview').getAttribute('href')), url)
    const isAnnas = (one: Page) => banner(one).getByText('You act for Anna de Vries').waitFor()

    const otherTab = await opened.open({}, page.context())
    await otherTab.goto(url)
    await isAnnas(otherTab)
    await otherTab.goto(`${service.url}/console/overview`)
    await menu(otherTab, 'Account').waitFor()
    assert.equal(await banner(otherTab).count(), 0)
    await otherTab.goBack()
    await isAnnas(otherTab)

    await menu(page, 'Care plans').click()
    await button(page, 'Stop').click()
    await menu(page, 'Account').waitFor()
    for (const path of ['plan', 'for/']) assert.ok(!page.url().includes(path), page.url())
    // Two of its own pages, then those about Anna.
    for (const _ of [1, 2]) await page.goBack()
    await isAnnas(page)
    assert.equal(page.url(), url)

    await page.context().clearCookies()
    await page.reload()
    await logInOn(page, piet)
    await isAnnas(page)
    assert.equal(page.url(), url)

    const ended = await anna.call('DELETE', `/profile/${anna.mvUid}/helper/${piet.mvUid}`)
    assertStatus(ended, 204)
    await page.getByText('You can no longer act for Anna de Vries.').waitFor()
    assert.equal(page.url(), `${service.url}/console/overview`)
    await otherTab.goto(url)
    await otherTab.getByText('You may not act for this person.').waitFor()
    await otherTab.getByRole('heading', { name: 'Hello Piet de Vries' }).waitFor()
    assert.equal(otherTab.url(), `${service.url}/console/`)
    for (const one of [page, otherTab]) assertNoFaults(one)
  })

  it('is asked for a later time, and cannot act before', async () => {
    const annas = await opened.open()
    await logInOn(annas, anna)
    await menu(annas, 'Access').click()
    await annas.getByLabel('Code of the helper').fill(piet.mvUid)
    await annas.getByLabel('From when?').fill('2099-03-01')
    await annas.getByLabel('Until when?', { exact: true }).fill('2099-09-01')
    await button(annas, 'Invite').click()
    await annas.getByText('From 1 March 2099. Until 1 September 2099.').waitFor()

    const piets = await opened.open()
    await logInOn(piets, piet)
    await piets.getByText('From 1 March 2099. Until 1 September 2099.').waitFor()
    await button(piets, 'Yes, I will help').click()
    await button(piets, 'Yes, I will help').waitFor({ state: 'detached' })
    assert.equal(await button(piets, 'Act for Anna de Vries').count(), 0)
    const [{ from }] = assertStatus(await anna.call('GET', `/profile/${anna.mvUid}/helper`)).items
    assert.equal(from.slice(0, 4), '2099')
  })

  it('writes messages that say for whom they were written', async () => {
    await createHelper(anna, piet, ['READ', 'MESSAGES'])
    const piets = await opened.open()
    await logInOn(piets, piet)
    await button(piets, 'Act for Anna de Vries').click()
    await menu(piets, 'Messages').click()
    await piets.getByRole('link', { name: 'New message' }).click()
    await piets.getByLabel('What is it about?').fill('The new tablets')
    await piets.getByLabel('Your message').fill('Do they go with the old ones?')
    await button(piets, 'Send').click()
    await piets.getByText(/^Piet de Vries, for Anna de Vries, /).waitFor()

    const annas = await opened.open()
    await logInOn(annas, anna)
    await menu(annas, 'Messages').click()
    await annas.getByText(/^Piet de Vries, for you, /).waitFor()
    await annas.getByRole('link', { name: 'The new tablets' }).click()
    await annas
      .getByRole('listitem')
      .getByText(/^Piet de Vries, for you, /)
      .waitFor()
    await annas.getByLabel('Your reply').fill('I have found it on the box.')
    await button(annas, 'Send').click()
    await annas.getByText(/^You, /).waitFor()
    for (const page of [annas, piets]) assertNoFaults(page)
  })

  it('returns to the own record with one button, by keyboard, and after a log-out', async () => {
    await createHelper(anna, piet, ['READ', 'MESSAGES', 'PLAN'])
    const page = await opened.open()
    await logInOn(page, piet)
    await button(page, 'Act for Anna de Vries').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Record of Anna de Vries' }).waitFor()
    await menu(page, 'Messages').waitFor()
    await button(page, 'Done Buy shoes').waitFor()
    await button(page, 'Stop').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hello Piet de Vries' }).waitFor()
    await button(page, 'Act for Anna de Vries').click()
    await button(page, 'Log out').click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await logInOn(page, piet)
    await page.getByRole('heading', { name: 'Hello Piet de Vries' }).waitFor()
    assertNoFaults(page)
  })

  for (const language of ['en', 'nl'] as const)
    it(`passes axe-core in the language ${language}, light and dark`, async () => {
      await createHelper(anna, piet, ['READ', 'RECORD', 'MESSAGES', 'PLAN'])
      const page = await opened.open({ language })
      await logInOn(page, piet)
      await page.getByRole('button', { name: 'Anna de Vries' }).click()
      await banner(page).waitFor()
      await page.locator('main:not(:has(.skeleton)) h1').waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await findAccessibilityViolations(page), [], colorScheme)
      }
      assertNoFaults(page)
    })
})
