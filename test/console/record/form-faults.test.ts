import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createGoal, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { createPerson } from '../../harness/people/people.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

/** The lines of the summary of what is wrong. */
async function faultsOn(page: Page): Promise<string[]> {
  const summary = page.getByRole('alert')
  await summary.waitFor()
  return summary.getByRole('listitem').allTextContents()
}

describe('the faults of a form', () => {
  const opened = useConsoleBrowser()
  let page: Page
  let patient: Patient
  before(async () => {
    patient = await createPatient()
    page = await opened.open()
  })
  after(() => assertNoFaults(page))

  it('name the field, and say of an empty one that it is to be filled in', async () => {
    await page.getByRole('link', { name: 'Make a new account' }).click()
    await button(page, 'Make the account').click()
    assert.deepEqual(await faultsOn(page), [
      'Your name: Fill in this field.',
      'E-mail address: Fill in this field.',
      'Password: Fill in this field.',
    ])
    await page.getByLabel('E-mail address').fill('anna')
    await button(page, 'Make the account').click()
    await page
      .getByRole('alert')
      .getByText('E-mail address: Type an e-mail address, such as anna@example.org.')
      .waitFor()
    await page.goBack()
    await logInOn(page, patient)
    await goTo(page, 'messages/new')
    await button(page, 'Send').click()
    assert.deepEqual(await faultsOn(page), [
      'What is it about? Fill in this field.',
      'Your message: Fill in this field.',
    ])
    await button(page, 'Your message: Fill in this field.').click()
    assert.equal(await page.evaluate('document.activeElement.name'), 'text')
  })

  it('stand at the password that is wrong', async () => {
    await goTo(page, 'account')
    await page.getByLabel('Your password now').fill('not the password')
    await page.getByLabel('New password').fill('another correct horse battery')
    await button(page, 'Show password').nth(1).click()
    assert.equal(await page.getByLabel('New password').getAttribute('type'), 'text')
    assert.equal(await page.getByLabel('Your password now').getAttribute('type'), 'password')
    await button(page, 'Change the password').click()
    assert.deepEqual(await faultsOn(page), ['Your password now: This password is wrong. Check it.'])
    assert.equal(await page.getByLabel('Your password now').getAttribute('aria-invalid'), 'true')
  })

  it('say in words what is wrong with a participant', async () => {
    const planId = await createPlan(patient)
    await createGoal(patient, planId)
    const other = await createPerson()
    await goTo(page, 'access')
    const form = page.locator('form', { has: page.getByRole('heading', { name: 'Let somebody take part' }) })
    await form.locator('[name=mvUid]').fill(other.mvUid)
    await form.locator('[name=end]').fill('2020-01-01')
    await form.locator('[type=submit]').click()
    await form.getByRole('alert').getByText('Choose a later day.').waitFor()
    await form.locator('[name=end]').fill('')
    await form.locator('[name=mvUid]').fill(patient.mvUid)
    await form.locator('[type=submit]').click()
    await form.getByRole('alert').getByText('the person of this record').waitFor()
    await form.locator('[name=mvUid]').fill(other.mvUid)
    await form.locator('[type=submit]').click()
    await form.getByRole('status').getByText('This is in the list now.').waitFor()
  })
})
