import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createPatient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { waitForMail } from '../../harness/mail/mail.ts'
import { createAddress, createAdmin, createPerson, logIn, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'
import {
  assertNoFaults,
  button,
  logInOn,
  menu,
  pressAndLoseAnswer,
  tabTo,
  useConsoleBrowser,
} from '../open-console.ts'

describe('the day of an administrator', () => {
  const opened = useConsoleBrowser()
  let admin: Person
  before(async () => {
    admin = await createAdmin()
  })

  async function openPage(name: string): Promise<Page> {
    const page = await opened.open()
    await logInOn(page, admin)
    await menu(page, name).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    return page
  }

  it('finds an account, gives it a role, locks it and unlocks it', async () => {
    const person = await createPerson()
    assertStatus(await person.call('PUT', `/auth/account/${person.mvUid}`, { name: 'Marit Kuipers' }))
    const page = await openPage('All accounts')
    const search = page.getByLabel('Whole e-mail address')
    await search.fill('anna')
    await button(page, 'Find').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await search.getAttribute('aria-invalid'), 'true')
    assert.equal(await button(page, 'Try again').count(), 0)
    await search.fill(person.email)
    await button(page, 'Find').click()
    await page.getByRole('link', { name: 'Marit Kuipers' }).click()
    await page.getByRole('heading', { name: 'Marit Kuipers' }).waitFor()
    await page.getByText('In use').waitFor()
    await page.getByLabel('Analyst').check()
    await button(page, 'Save').click()
    const read = async () => assertStatus(await admin.call('GET', `/auth/account/${person.mvUid}`))
    await waitUntil(async () => (await read()).roles.includes('analyst'))
    await button(page, 'Lock the account Marit Kuipers').click()
    await button(page, 'Yes, lock it').click()
    await page.getByText('Locked').waitFor()
    assert.equal((await logIn(person.email)).status, 401)
    await button(page, 'Unlock the account Marit Kuipers').click()
    await page.getByText('In use').waitFor()
    assert.equal((await logIn(person.email)).status, 200)
    assertNoFaults(page)
  })

  it('opens the menu on a phone by keyboard, and finds it closed on the next page', async () => {
    const page = await opened.open()
    await page.setViewportSize({ width: 360, height: 800 })
    await logInOn(page, admin)
    assert.equal(await menu(page, 'Apps').count(), 0)
    await button(page, 'Menu').focus()
    await page.keyboard.press('Enter')
    await tabTo(page, 'Apps')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor()
    assert.equal(await menu(page, 'Apps').count(), 0)
  })

  it('keeps a role that another administrator has given meanwhile', async () => {
    const person = await createPerson()
    const page = await opened.open()
    await logInOn(page, admin)
    await page.goto(`${service.url}/console/admin/accounts/${person.mvUid}`)
    await page.getByLabel('Analyst').check()
    const path = `/auth/account/${person.mvUid}`
    assertStatus(await admin.call('PUT', path, { roles: ['modeller'] }))
    await button(page, 'Save').click()
    await waitUntil(async () => assertStatus(await admin.call('GET', path)).roles.length === 2)
    await page.getByLabel('Modeller').and(page.locator(':checked')).waitFor()
    assertNoFaults(page)
  })

  it('keeps what was ticked when somebody else changes the account', async () => {
    const person = await createPerson()
    const page = await opened.open()
    await logInOn(page, admin)
    const path = `/auth/account/${person.mvUid}`
    await page.goto(`${service.url}/console/admin/accounts/${person.mvUid}`)
    await page.getByLabel('Analyst').check()
    assertStatus(await admin.call('PUT', path, { roles: ['modeller'] }))
    // The page reads the account again after its own change.
    await page.getByRole('button', { name: /^Lock the account/ }).click()
    await button(page, 'Yes, lock it').click()
    await page.getByLabel('Modeller').and(page.locator(':checked')).waitFor()
    assert.equal(await page.getByLabel('Analyst').isChecked(), true)
    await button(page, 'Save').click()
    await waitUntil(async () => assertStatus(await admin.call('GET', path)).roles.length === 2)
    assertNoFaults(page)
  })

  it('makes an account, whose owner gets a mail, and is told what is wrong', async () => {
    const page = await openPage('All accounts')
    await page.getByText('Make an account for somebody').click()
    await page.getByLabel('Name', { exact: true }).fill('Bart Jansen')
    await page.getByLabel('E-mail address').last().fill('no address')
    await button(page, 'Make the account').click()
    await page.getByText('Type an e-mail address, such as anna@example.org.').first().waitFor()
    const email = createAddress()
    await page.getByLabel('E-mail address').last().fill(email)
    await page.getByLabel('Modeller').check()
    await pressAndLoseAnswer(page, 'Make the account', '**/auth/manage/account')
    await button(page, 'Make the account').click()
    await page.getByText(`The account is made. ${email} gets a mail`).waitFor()
    assert.ok((await waitForMail(email)).link)
    const [account] = assertStatus(await admin.call('GET', `/auth/account?email=${email}`)).items
    assert.deepEqual([account.name, account.roles], ['Bart Jansen', ['modeller']])
    assertNoFaults(page)
  })

  it('cannot lock themselves out', async () => {
    const page = await opened.open()
    await logInOn(page, admin)
    await page.goto(`${service.url}/console/admin/accounts/${admin.mvUid}`)
    await page.getByLabel('Administrator').uncheck()
    assert.equal(await page.getByRole('button', { name: /^Lock the account/ }).count(), 0)
    await button(page, 'Save').click()
    await page.getByText('You cannot take this from yourself. Ask another administrator.').first().waitFor()
    assertNoFaults(page)
  })

  it('brings a deleted record back', async () => {
    const patient = await createPatient()
    assertStatus(await patient.call('PUT', `/auth/account/${patient.mvUid}`, { name: 'Carla Smit' }))
    assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
    const page = await openPage('Deleted records')
    await button(page, 'Restore Carla Smit').click()
    await button(page, 'Yes, bring it back').click()
    await button(page, 'Restore Carla Smit').waitFor({ state: 'detached' })
    assertStatus(await patient.call('GET', `/med/ehr/${patient.ehrId}/status`))
    assertNoFaults(page)
  })

  it('sees the queues, and checks the audit by keyboard', async () => {
    const page = await opened.open()
    await logInOn(page, admin)
    const lastBackupAt = new Date(Date.now() - 3 * 86_400_000).toISOString()
    await page.route('**/health/status', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), lastBackupAt } })
    })
    await tabTo(page, 'Service')
    await page.keyboard.press('Enter')
    await page.getByText('Waiting mails').waitFor()
    await page.getByText('3 days ago').waitFor()
    await page.getByText('Check why no newer backup was made').waitFor()
    await page.getByText('Jobs in the background').waitFor()
    await tabTo(page, 'Start a check')
    await page.keyboard.press('Enter')
    await page.getByText(/^The audit is intact: [\d,]+ entries/).waitFor()
    assertNoFaults(page)
  })

  it('registers an app, gives it a new secret, and removes it', async () => {
    const page = await openPage('Apps')
    await page.getByText('Register an app').click()
    await page.getByLabel('Name of the app').fill('Diary of tests')
    await page.getByLabel('How does the app prove who it is?').selectOption('secret')
    await page.getByLabel('Redirect addresses').fill('no address')
    await button(page, 'Register').click()
    await page.getByRole('alert').getByRole('button').first().click()
    assert.equal(await page.evaluate('document.activeElement.name'), 'redirectUris')
    await page.getByLabel('Redirect addresses').fill('https://app.example.org/callback')
    await pressAndLoseAnswer(page, 'Register', '**/auth/app')
    await button(page, 'Register').click()
    const note = page.getByText('Client secret, which is not shown again:')
    const firstSecret = await note.textContent()
    await button(page, 'New secret Diary of tests').click()
    await button(page, 'Yes, make a new one').click()
    await waitUntil(async () => (await note.textContent()) !== firstSecret)
    await button(page, 'Remove Diary of tests').click()
    await button(page, 'Yes, remove it').click()
    await button(page, 'Remove Diary of tests').waitFor({ state: 'detached' })
    assertNoFaults(page)
  })

  it('registers a system, gives it a new key, and locks it out by keyboard', async () => {
    const page = await openPage('Systems')
    await page.getByText('Register a system').click()
    await page.getByLabel('Name of the system').fill(' ')
    await button(page, 'Register').click()
    await page.getByRole('alert').getByRole('button').first().click()
    assert.equal(await page.evaluate('document.activeElement.name'), 'name')
    const name = `Laboratory ${admin.mvUid}`
    await page.getByLabel('Name of the system').fill(name)
    await page.getByLabel('queries all records').check()
    await pressAndLoseAnswer(page, 'Register', '**/auth/system')
    await button(page, 'Register').click()
    const texts = async () => {
      const [id = '', secret = ''] = await page.locator('.note code').allTextContents()
      return { id, secret }
    }
    await page.getByText('Client secret, which is not shown again:').waitFor()
    const { id, secret } = await texts()
    const tokenStatus = async (key: string) => {
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: id,
        client_secret: key,
      })
      return (await fetch(`${service.url}/auth/token`, { method: 'POST', body })).status
    }
    assert.equal(await tokenStatus(secret), 200)
    await button(page, `New key ${name}`).click()
    await button(page, 'Yes, make a new key').click()
    await waitUntil(async () => (await texts()).secret !== secret)
    assert.deepEqual([await tokenStatus(secret), await tokenStatus((await texts()).secret)], [401, 200])
    await tabTo(page, `Lock out ${name}`)
    await page.keyboard.press('Enter')
    await tabTo(page, 'Yes, lock it out')
    await page.keyboard.press('Enter')
    const row = page.getByRole('listitem').filter({ hasText: name })
    await row.getByText('Locked out').waitFor()
    await row.getByText('queries all records').waitFor()
    assert.equal(await tokenStatus((await texts()).secret), 401)
    assert.equal(await button(page, `Lock out ${name}`).count(), 0)
    assertNoFaults(page)
  })

  it('is the only one who has these pages', async () => {
    const page = await opened.open()
    await logInOn(page, await createPerson())
    assert.equal(await menu(page, 'All accounts').count(), 0)
    await page.goto(`${service.url}/console/admin/accounts`)
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor()
  })
})
