import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import {
  createGoal,
  createPatient,
  createPlan,
  letTakePart,
  type Patient,
} from '../../harness/care/patients.ts'
import { createPerson, nameProfile } from '../../harness/people/people.ts'
import { waitUntil } from '../../harness/wait.ts'
import { assertNoFaults, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

describe('the pages of a patient', () => {
  const opened = useConsoleBrowser()
  let page: Page
  let patient: Patient
  let planPath: string
  before(async () => {
    const [owner, nurse] = await Promise.all([createPatient(), createPerson()])
    patient = owner
    await nameProfile(patient, 'Anna de Vries')
    const planId = await createPlan(patient)
    const goalId = await createGoal(patient, planId)
    await letTakePart(patient, planId, nurse, { access: 'WRITE' })
    planPath = `patients/${patient.ehrId}/plan/${planId}`
    page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, `${planPath}/goal/${goalId}`)
  })
  after(() => assertNoFaults(page))

  const readTitle = () => page.locator('h1').textContent()

  it('say whose plan a form changes', async () => {
    for (const [path, title] of [
      ['goal/new', 'New goal'],
      ['template', 'Add goals of a template'],
      ['goal/x/task/new', 'New task'],
      ['thresholds', 'Thresholds of “Lower blood pressure”'],
    ]) {
      await goTo(page, `${planPath}/${path}`)
      await page.getByRole('region', { name: 'Patient' }).getByText('Anna de Vries').waitFor()
      assert.equal(await readTitle(), title)
      assert.equal(await page.title(), `${title} – Health Record Service`)
    }
  })

  it('keep the focus in the section of a form that closes after it is saved', async () => {
    await goTo(page, `patients/${patient.ehrId}`)
    await page.getByLabel('Which measurement?').selectOption('heartrate')
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await page.keyboard.press('Enter')
    await page.getByText('Saved').waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Enter a measurement')
  })

  it('have a heading, and neither forms nor other statements, if the record does not exist', async () => {
    for (const path of [
      'patients/unknown',
      'patients/unknown/plan/unknown/goal/new',
      `${planPath}x/template`,
      `${planPath}x/goal/y`,
      `${planPath}x/thresholds`,
      `patients/${patient.ehrId}/messages/unknown`,
    ]) {
      await goTo(page, 'worklist')
      await goTo(page, path)
      await page.getByText('This does not exist, or you may not see it.').waitFor()
      // The page reads once more when it begins to follow changes.
      await waitUntil(async () => {
        const isTold = (await page.getByRole('alert').count()) === 1
        return isTold && (await page.evaluate('document.activeElement.tagName')) === 'H1'
      })
      assert.equal(await readTitle(), 'This page does not exist', path)
      assert.equal(await page.title(), 'This page does not exist – Health Record Service')
      assert.equal(await page.locator('form, section').count(), 0, path)
    }
  })
})
