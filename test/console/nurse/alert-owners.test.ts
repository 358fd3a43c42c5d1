import assert from 'node:assert/strict'
import {
  addParticipant,
  createAlert,
  createPatient,
  createPlan,
  letTakePart,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, nameProfile } from '../../harness/people/people.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

const ALERT = 'Blood pressure 185/112 mmHg: Much too high'

describe('an alert in the console', () => {
  const opened = useConsoleBrowser()

  it('is seen once a nurse opens the patient, and shows other nurses who took it and when', async () => {
    const [patient, nurse, colleague] = await Promise.all([createPatient(), createPerson(), createPerson()])
    await nameProfile(colleague, 'Bo Smit')
    const planId = await createPlan(patient)
    for (const one of [nurse, colleague])
      await letTakePart(patient, planId, one, { access: 'WRITE', role: 'Nurse' })
    const alertId = await createAlert(patient, planId)
    const read = async () => assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${alertId}`))

    const page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, 'worklist')
    await page.getByText(/, new$/).waitFor()
    assert.equal((await read()).alertState, 'NEW')
    await goTo(page, `patients/${patient.ehrId}`)
    await page.getByText(/, seen$/).waitFor()
    const { seenBy, version } = await read()
    assert.equal(seenBy, nurse.mvUid)

    const other = await opened.open()
    await logInOn(other, colleague)
    await goTo(other, `patients/${patient.ehrId}`)
    await button(other, `Take ${ALERT}`).click()
    await other.getByText(/taken by you on/).waitFor()
    assert.equal((await read()).version, version + 1)
    await page.getByRole('heading', { name: 'Taken by others' }).waitFor()
    await page.getByText(/, taken by Bo Smit on .* at \d\d:\d\d$/).waitFor()
    await page.getByText('Nothing waits for you here.').waitFor()

    await page.getByLabel(ALERT).check()
    await page.getByLabel('What did you do?').fill('Called')
    await button(page, 'Resolve').click()
    await page.getByText('Somebody else has taken this alert. Release it first.').first().waitFor()
    await page.getByRole('button', { name: /^Release (it|them)$/ }).click()
    await button(page, `Take ${ALERT}`).waitFor()
    for (const one of [page, other]) assertNoFaults(one)
  })

  it('can be taken at once when the page of the patient opens', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    await createAlert(patient, planId)
    const page = await opened.open()
    await logInOn(page, nurse)
    // The answer to "seen" comes late.
    await page.route('**/handle', async (route) => {
      const isSeeing = route.request().postData()?.includes('SEE')
      if (isSeeing) await new Promise((resolve) => setTimeout(resolve, 500))
      await route.continue()
    })
    await goTo(page, `patients/${patient.ehrId}`)
    await button(page, `Take ${ALERT}`).click()
    await page.getByText(/taken by you on/).waitFor()
    assertNoFaults(page)
  })

  it('is only read by those who may only read its plan, on each page', async () => {
    const [patient, nurse, colleague] = await Promise.all([createPatient(), createPerson(), createPerson()])
    await nameProfile(patient, 'Anna de Vries')
    const planId = await createPlan(patient)
    await letTakePart(patient, planId, nurse, { access: 'READ', role: 'Nurse' })
    await letTakePart(patient, planId, colleague, { access: 'WRITE', role: 'Nurse' })
    const alertId = await createAlert(patient, planId)
    const rules = {
      escalation: { afterMinutes: 45, participants: [colleague.mvUid] },
      mutes: [{ kind: 'bmi', until: '2099-03-01T08:00:00Z', reason: 'In hospital' }],
    }
    assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, rules))
    const page = await opened.open()
    await logInOn(page, nurse)
    const handling = page.getByRole('main').getByRole('button', { name: /^(Take|Resolve|Release)/ })
    for (const path of ['worklist', `patients/${patient.ehrId}`]) {
      await goTo(page, path)
      await page.getByText(ALERT).waitFor()
      assert.equal(await page.locator('.alerts').getByRole('checkbox').count(), 0)
      assert.equal(await handling.count(), 0)
    }
    const plan = `patients/${patient.ehrId}/plan/${planId}`
    for (const [path, text] of [
      [`${plan}/thresholds`, 'Blood pressure: an alert if the value is too high or too low by ESC/ESH 2018.'],
      [`${plan}/alerts`, 'To Nurse, each time after 45 minutes.'],
    ] as const) {
      await goTo(page, path)
      await page.getByText('You may only read this plan.').waitFor()
      await page.getByText(text).waitFor()
      assert.equal(await page.locator('main').getByRole('button').count(), 0)
      assert.equal(await page.locator('main form').count(), 0)
    }
    await page.getByText(/^Weight and height, until 1 March 2099/).waitFor()
    const alert = assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${alertId}`))
    assert.equal(alert.alertState, 'NEW')
    assertNoFaults(page)
  })
})
