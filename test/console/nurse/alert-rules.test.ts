import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan, letTakePart } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, nameProfile } from '../../harness/people/people.ts'
import { waitFor } from '../../harness/wait.ts'
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

  it('name those who take alerts, and show what somebody else has chosen meanwhile', async () => {
    const [patient, nurse, colleague] = await Promise.all([createPatient(), createPerson(), createPerson()])
    const planId = await createPlan(patient)
    await nameProfile(colleague, 'Bo Smit')
    await addParticipant(planId, nurse, 'write')
    await letTakePart(patient, planId, nurse, { access: 'WRITE', role: 'Nurse' })
    await letTakePart(patient, planId, colleague, { access: 'WRITE', role: 'Doctor' })
    const path = `careplan/${planId}/alert-rules`
    const page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, `patients/${patient.ehrId}/plan/${planId}/alerts`)
    await page.getByLabel('Bo Smit, Doctor').check()
    // Changes of other rules in the meantime are not a conflict.
    const expected = [{ kind: 'heartrate', from: '2026-03-01', everyDays: 1, by: '09:00' }]
    const escalation = { afterMinutes: 10, participants: [nurse.mvUid] }
    assertStatus(await patient.call('PUT', path, { expected }))
    await page.getByText('Heart rate: every day').first().waitFor()
    assert.equal(await page.getByText('Somebody else changed this just now').count(), 0)
    assertStatus(await patient.call('PUT', path, { expected, escalation }))
    for (const text of ['Theirs: You', 'Yours: Bo Smit, Doctor', 'Before: 30', 'Theirs: 10'])
      await page.getByText(text).waitFor()
    await button(page, 'Save').click()
    await page.getByText('Theirs: 10').waitFor()
    assert.deepEqual(assertStatus(await patient.call('GET', path)).escalation, escalation)

    await button(page, 'Use this in my form').click()
    await page.getByLabel('Bo Smit, Doctor (1)').waitFor()
    await button(page, 'Save').click()
    const savedRules = await waitFor(async () => {
      const rules = assertStatus(await patient.call('GET', path))
      return rules.escalation.participants[0] === colleague.mvUid ? rules : undefined
    })
    assert.deepEqual([savedRules.escalation.afterMinutes, savedRules.expected.length], [10, 1])
    assertNoFaults(page)
  })
})
