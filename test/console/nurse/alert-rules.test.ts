import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

describe('the alert rules of a plan', () => {
  const opened = useConsoleBrowser()

  it('say in the field that a date is missing or does not exist', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    const page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, `patients/${patient.ehrId}/plan/${planId}/alerts`)
    const until = page.getByLabel('Muted until when?')
    await page.getByLabel('Why?').fill('In hospital')
    await until.fill('')
    await button(page, 'Mute').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await until.getAttribute('aria-invalid'), 'true')
    assert.equal(await page.getByLabel('Why?').inputValue(), 'In hospital')
    await until.fill('2099-03-01T08:00')
    await button(page, 'Mute').click()
    await page.getByText('All alerts, until 1 March 2099 at 08:00: In hospital').first().waitFor()

    await page.getByLabel('Why?').fill('On holiday')
    await until.focus()
    // The browser takes the day and the month one after the other.
    await page.keyboard.type('31022099')
    await button(page, 'Mute').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await until.getAttribute('aria-invalid'), 'true')
    const { mutes } = assertStatus(await patient.call('GET', `careplan/${planId}/alert-rules`))
    assert.equal(mutes.length, 1)
    assertNoFaults(page)
  })
})
