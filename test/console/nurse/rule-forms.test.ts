import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import {
  addParticipant,
  createPatient,
  createPlan,
  letTakePart,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

describe('the forms for thresholds and alert rules', () => {
  const opened = useConsoleBrowser()
  let page: Page
  let patient: Patient
  let planId: string
  before(async () => {
    const nurse = await createPerson()
    patient = await createPatient()
    planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    await letTakePart(patient, planId, nurse, { access: 'WRITE', role: 'Nurse' })
    page = await opened.open()
    await logInOn(page, nurse)
  })
  after(() => assertNoFaults(page))
  const open = (what: string) => goTo(page, `patients/${patient.ehrId}/plan/${planId}/${what}`)
  const read = async (what: string) => assertStatus(await patient.call('GET', `careplan/${planId}/${what}`))
  const isWrong = async (field: Locator): Promise<boolean> =>
    (await field.getAttribute('aria-invalid')) === 'true'

  it('show a wrong limit at its field, with the possible values, and say when it is saved', async () => {
    await open('thresholds')
    const form = page.getByRole('region', { name: 'Blood sugar' })
    const choice = form.getByLabel('Blood sugar', { exact: true })
    await choice.selectOption('Limits for this person')
    const [low, high] = [form.getByLabel('lowest'), form.getByLabel('highest')]
    const save = form.getByRole('button', { name: 'Save' })
    await save.click()
    await form.getByRole('alert').getByText('Fill in one field or more.').waitFor()
    await low.fill('4')
    await high.fill('180')
    await save.click()
    await form.getByRole('alert').getByText('This must be from 0.5 to 60 mmol/L.').waitFor()
    assert.deepEqual([await isWrong(choice), await isWrong(low), await isWrong(high)], [false, false, true])
    await high.fill('3')
    await save.click()
    await form.getByRole('alert').getByText('The highest value must be above the lowest one.').waitFor()
    assert.deepEqual([await isWrong(choice), await isWrong(low), await isWrong(high)], [false, false, true])
    await high.fill('12')
    await save.click()
    await form.getByRole('status').getByText('This is saved.').waitFor()
    const { bloodglucose } = await read('thresholds')
    assert.deepEqual([bloodglucose.bloodGlucoseLow, bloodglucose.bloodGlucoseHigh], [4, 12])
    await high.fill('13')
    assert.equal(await form.getByRole('status').textContent(), '')
  })

  it('refuse minutes and days that are not numbers, or not possible', async () => {
    await open('alerts')
    const minutes = page.locator('[name="escalation.afterMinutes"]')
    await minutes.fill('0')
    await button(page, 'Save').click()
    await page.getByRole('alert').getByText('Type a whole number from 1 to 10080.').waitFor()
    assert.deepEqual([await minutes.inputValue(), await isWrong(minutes)], ['0', true])
    await minutes.fill('20')
    await page.getByRole('checkbox').first().check()
    await button(page, 'Save').click()
    await page.getByRole('status').getByText('This is saved.').waitFor()
    assert.equal((await read('alert-rules')).escalation.afterMinutes, 20)
    await page.getByLabel('Every how many days?').fill('1.5')
    await button(page, 'Expect this measurement').click()
    await page.getByRole('alert').getByText('Type a whole number from 1 to 366.').waitFor()
  })

  it('refuse a mute that is over already, and forget an ended one when the list is full', async () => {
    const ended = Array.from({ length: 20 }, (_, i) => ({
      until: `2026-01-${String(i + 1).padStart(2, '0')}T08:00:00Z`,
      reason: `Mute ${i}`,
    }))
    assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, { mutes: ended }))
    await open('alerts')
    await page.getByLabel('Why?').fill('On holiday')
    await page.getByLabel('Muted until when?').fill('2020-01-01T10:00')
    await button(page, 'Mute').click()
    await page.getByRole('alert').getByText('Choose a time in the future.').waitFor()
    await page.getByLabel('Muted until when?').fill('2099-01-01T10:00')
    await button(page, 'Mute').click()
    await page.getByRole('status').getByText('This is in the list now.').waitFor()
    const { mutes } = await read('alert-rules')
    assert.deepEqual(
      mutes.map(({ reason }: { reason: string }) => reason),
      [...ended.slice(1).map(({ reason }) => reason), 'On holiday'],
    )
  })
})
