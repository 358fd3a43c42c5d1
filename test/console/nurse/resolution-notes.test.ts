import assert from 'node:assert/strict'
import { addParticipant, createAlert, createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, nameProfile, type Person } from '../../harness/people/people.ts'
import { assertNoFaults, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

const NOTE = 'What did you do?'

/** A patient with an alert, in whose plan a nurse may write. */
async function createAlarmingPatient(nurse: Person, displayName: string) {
  const patient = await createPatient()
  const planId = await createPlan(patient)
  await addParticipant(planId, nurse, 'write')
  await nameProfile(patient, displayName)
  return { patient, planId, alertId: await createAlert(patient, planId) }
}

describe('the note of a resolution', () => {
  const opened = useConsoleBrowser()

  it('stays with the patient for whom it was typed', async () => {
    const nurse = await createPerson()
    const anna = await createAlarmingPatient(nurse, 'Anna de Vries')
    const bart = await createAlarmingPatient(nurse, 'Bart Jansen')
    const page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, `patients/${anna.patient.ehrId}`)
    await page.getByRole('checkbox').first().check()
    await page.getByLabel(NOTE).fill('Called Anna')

    await goTo(page, `patients/${bart.patient.ehrId}`)
    await page.getByRole('checkbox').first().check()
    assert.equal(await page.getByLabel(NOTE).inputValue(), '')
    await page.getByLabel(NOTE).fill('Called Bart')

    await goTo(page, 'worklist')
    const row = (name: string) =>
      page.locator('.worklist > li').filter({ hasText: name }).getByRole('checkbox')
    await row('Anna de Vries').check()
    assert.equal(await page.getByLabel(NOTE).inputValue(), 'Called Anna')
    await row('Bart Jansen').check()
    assert.equal(await page.getByLabel(NOTE).inputValue(), '')
    await row('Anna de Vries').uncheck()
    assert.equal(await page.getByLabel(NOTE).inputValue(), 'Called Bart')
    assertNoFaults(page)
  })

  it('stays with the alert for which it was typed', async () => {
    const nurse = await createPerson()
    const { patient, planId, alertId } = await createAlarmingPatient(nurse, 'Anna de Vries')
    const page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, `patients/${patient.ehrId}`)
    await page.getByRole('checkbox').first().check()
    await page.getByLabel(NOTE).fill('Called about the first one')
    const step = { action: 'RESOLVE', note: 'By a colleague' }
    assertStatus(await patient.call('POST', `alert/${alertId}/handle`, step))
    await page.getByLabel(NOTE).waitFor({ state: 'detached' })
    await createAlert(patient, planId)
    await page.getByRole('checkbox').first().check()
    assert.equal(await page.getByLabel(NOTE).inputValue(), '')
    assertNoFaults(page)
  })
})
