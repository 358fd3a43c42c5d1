import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { pathParameterNames } from '../../../path-api/operation/operation.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { CLASS_NAMES, type ClassName } from '../../../records/kinds.ts'
import { byClass, type Json, newPlace } from '../../family-kinds.ts'
import {
  createAlert,
  createTask,
  createWeight,
  letTakePart,
  type Patient,
} from '../../harness/care/patients.ts'
import { exampleObject, fillPath, parentIdsOf, withOtherKey } from '../../harness/care/samples/examples.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import {
  BLOOD_PRESSURE,
  createPressureComposition,
  createPressuresComposition,
  getStoredTemplate,
} from '../../harness/openehr-samples.ts'
import { actFor, createHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, nameProfile, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import {
  assertNoFaults,
  button,
  giveOneEntryAtATime,
  goTo,
  logInOn,
  menu,
  tabTo,
  useConsoleBrowser,
} from '../open-console.ts'

/** The kinds of records that can be restored. The EHR itself is restored by administrators. */
const RESTORABLE = CLASS_NAMES.flatMap((name) => {
  const operation = operationTable.find(({ id }) => id === `restore${name}`)
  return operation && name !== 'Ehr' ? [{ name, template: operation.path.replace(/\/restore$/, '') }] : []
})

const version = (page: Page, number: number) =>
  page.getByRole('heading', { name: `Version ${number}`, exact: true })
const restoreButtons = (page: Page) => page.getByRole('button', { name: /^Restore/ })

async function participate(patient: Patient, planId: string, access: 'READ' | 'WRITE'): Promise<Person> {
  const person = await createPerson()
  await letTakePart(patient, planId, person, { access })
  return person
}

describe('the history in the console', () => {
  const opened = useConsoleBrowser()

  async function openAs(person: Person): Promise<Page> {
    const page = await opened.open()
    await giveOneEntryAtATime(page)
    await logInOn(page, person)
    return page
  }

  /** Changes the description of the goal on its form. */
  async function describeGoal(page: Page, text: string): Promise<void> {
    await page.getByRole('link', { name: 'Change Walk' }).click()
    await page.getByLabel('Description', { exact: true }).fill(text)
    await button(page, 'Save').click()
    await page.getByText(text).waitFor()
  }

  it('shows a nurse who corrected a goal twice each version, and brings the first one back', async () => {
    const { patient, place } = await newPlace()
    const { carePlanId, goalId } = place
    const nurse = await participate(patient, carePlanId, 'WRITE')
    await nameProfile(patient, 'Ann Jansen')
    const page = await openAs(nurse)
    await page.goto(`${service.url}/console/patients/${patient.ehrId}`)
    await describeGoal(page, 'Half an hour')
    await describeGoal(page, 'An hour')
    await page.getByRole('link', { name: 'History Walk' }).click()
    await page.getByRole('heading', { name: 'History: goal' }).waitFor()
    await page.getByRole('row', { name: 'Description – Half an hour' }).waitFor()
    await page.getByRole('row', { name: 'Description Half an hour An hour' }).waitFor()
    await page.getByText(/^Added, .*, Ann Jansen$/).waitFor()
    await page
      .getByText(/^Changed, .*, You$/)
      .first()
      .waitFor()
    await tabTo(page, 'Restore Version 1')
    await page.keyboard.press('Enter')
    await page.getByText('Version 1 is back.').waitFor()
    await page.getByRole('row', { name: 'Description An hour –' }).waitFor()
    const { goals } = assertStatus(await patient.call('GET', `careplan/${carePlanId}`))
    assert.deepEqual([goals[0].id, goals[0].description, goals[0].version], [goalId, null, 4])
    assertNoFaults(page)
  })

  it('says who acted for whom, and who took an alert, and shows no id', async () => {
    const { patient, place } = await newPlace()
    const helper = await createPerson()
    await Promise.all([nameProfile(patient, 'Ann Jansen'), nameProfile(helper, 'Piet Jansen')])
    await createHelper(patient, helper, ['READ', 'PLAN'])
    const acting = await actFor(patient, helper)
    const path = `careplan/${place.carePlanId}/goal/${place.goalId}`
    const body = { name: 'Walk', description: 'An hour' }
    assertStatus(await acting.call('PUT', `/ehr/${patient.ehrId}/${path}`, body))
    const alert = await createAlert(patient, place.carePlanId)
    const nurse = await participate(patient, place.carePlanId, 'WRITE')
    await nameProfile(nurse, 'Nurse Bo')
    const step = `/ehr/${patient.ehrId}/alert/${alert}/handle`
    assertStatus(await nurse.call('POST', step, { action: 'TAKE' }))
    const patients = await openAs(patient)
    const nurses = await openAs(nurse)
    await goTo(patients, `history/${path}`)
    await patients.getByText(/^Changed, .*, Piet Jansen, for you$/).waitFor()
    await goTo(nurses, `patients/${patient.ehrId}/history/${path}`)
    await nurses.getByText(/^Changed, .*, Piet Jansen, for Ann Jansen$/).waitFor()
    await goTo(patients, `history/event/${alert}`)
    await patients.getByRole('row', { name: 'Taken by – Nurse Bo' }).waitFor()
    for (const { mvUid } of [patient, helper, nurse])
      assert.ok(!(await patients.locator('main').textContent())?.includes(mvUid))
    assertNoFaults(patients)
  })

  it('offers no way back to a participant who only reads, nor to a helper without the plan', async () => {
    const { patient, place } = await newPlace()
    const { carePlanId, goalId } = place
    const path = `careplan/${carePlanId}/goal/${goalId}`
    assertStatus(await patient.call('PUT', path, { name: 'Walk', description: 'An hour' }))
    const reader = await participate(patient, carePlanId, 'READ')
    const helper = await createPerson()
    await createHelper(patient, helper, ['READ', 'RECORD'])
    const readers = await openAs(reader)
    await goTo(readers, `patients/${patient.ehrId}/history/${path}`)
    const helpers = await openAs(helper)
    await helpers.getByRole('button', { name: /^Act for/ }).click()
    await menu(helpers, 'Care plans').click()
    await helpers.getByRole('link', { name: 'History Walk' }).click()
    const patients = await openAs(patient)
    await goTo(patients, `history/${path}`)
    for (const [page, count] of [
      [readers, 0],
      [helpers, 0],
      [patients, 1],
    ] as const) {
      await version(page, 1).waitFor()
      assert.equal(await restoreButtons(page).count(), count)
      assertNoFaults(page)
    }
  })

  it('is reached from tasks and goals that are closed, by keyboard', async () => {
    const { patient, place } = await newPlace()
    const { carePlanId, goalId } = place
    const goal = `careplan/${carePlanId}/goal/${goalId}`
    const taskId = await createTask(patient, carePlanId, goalId)
    const closed = { outcome: 'Red ones' }
    assertStatus(await patient.call('POST', `${goal}/task/${taskId}/close`, closed))
    const page = await openAs(patient)
    for (const [summary, name, outcome] of [
      ['1 task is done.', 'Buy shoes', 'Red ones'],
      ['1 goal is closed', 'Walk', 'Each day'],
    ] as const) {
      await menu(page, 'My plan').click()
      await page.locator('summary', { hasText: summary }).focus()
      await page.keyboard.press('Enter')
      await page.getByText(outcome).waitFor()
      await tabTo(page, `History ${name}`)
      await page.keyboard.press('Enter')
      await page.getByRole('row', { name: 'State open done' }).waitFor()
      if (name !== 'Walk') assertStatus(await patient.call('POST', `${goal}/close`, { outcome: 'Each day' }))
    }
    assertNoFaults(page)
  })

  it('brings back a record that somebody deleted while it was shown', async () => {
    const { patient } = await newPlace()
    const { id } = assertStatus(await patient.call('POST', 'diagnosis', { name: 'Asthma' }), 201)
    const page = await openAs(patient)
    await menu(page, 'My record').click()
    await page.getByRole('link', { name: 'History Asthma' }).click()
    await version(page, 1).waitFor()
    assert.equal(await restoreButtons(page).count(), 0)
    assertStatus(await patient.call('DELETE', `diagnosis/${id}`), 204)
    await page.getByText(/^Deleted/).waitFor()
    await page.getByRole('heading', { name: 'Asthma' }).waitFor()
    await button(page, 'Restore Version 1').click()
    await page.getByText('Version 1 is back.').waitFor()
    assert.equal(assertStatus(await patient.call('GET', `diagnosis/${id}`)).name, 'Asthma')
    assertNoFaults(page)
  })

  it('finds what was deleted from the record, and brings it back, by keyboard', async () => {
    const { patient, place } = await newPlace()
    const nurse = await participate(patient, place.carePlanId, 'WRITE')
    await Promise.all([nameProfile(patient, 'Ann Jansen'), nameProfile(nurse, 'Nurse Bo')])
    const weight = await createWeight(patient, place.carePlanId, 70.5)
    assertStatus(await nurse.call('DELETE', `/ehr/${patient.ehrId}/procedure/bodyweight/${weight}`), 204)
    assertStatus(await patient.call('PUT', 'adversereaction/Latex', { substance: 'Latex' }), 201)
    assertStatus(await patient.call('DELETE', 'adversereaction/Latex'), 204)

    const page = await openAs(patient)
    await menu(page, 'My record').click()
    await tabTo(page, 'Deleted')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /You reaction Latex/ }).waitFor()
    await page.getByRole('row', { name: /Nurse Bo Weight 70.5 kg/ }).waitFor()
    await tabTo(page, 'History Latex')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Restore Version 1')
    await page.keyboard.press('Enter')
    await page.getByText('Version 1 is back.').waitFor()
    assertStatus(await patient.call('GET', 'adversereaction/Latex'))
    await goTo(page, 'record/deleted')
    await page.getByRole('row', { name: /Latex/ }).waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('link', { name: /^History/ }).count(), 1)

    const nurses = await openAs(nurse)
    await goTo(nurses, `patients/${patient.ehrId}/record`)
    await nurses.getByRole('link', { name: 'Deleted', exact: true }).click()
    await nurses.getByRole('link', { name: 'History 70.5 kg' }).click()
    await button(nurses, 'Restore Version 1').click()
    await nurses.getByText('Version 1 is back.').waitFor()
    await page.getByText('Nothing was deleted.').waitFor()
    for (const one of [page, nurses]) assertNoFaults(one)
  })

  it('shows the versions of a document with their differences', async () => {
    const { patient } = await newPlace()
    const path = `/med/ehr/${patient.ehrId}/composition`
    const template = await getStoredTemplate()
    const pressure = (systolic: number) => createPressureComposition(template, systolic)
    const { compositionId } = assertStatus(await patient.call('POST', `${path}/json`, pressure(120)), 201)
    const one = `${path}/${compositionId}`
    const { etag } = await patient.call('GET', `${one}/json`)
    assertStatus(await patient.call('PUT', `${one}/json`, pressure(135), { 'if-match': etag }))
    const page = await openAs(patient)
    await menu(page, 'My record').click()
    await page.getByRole('link', { name: 'History Encounter' }).click()
    await page.getByRole('heading', { name: 'History: document' }).waitFor()
    await page.getByRole('row', { name: /systolic, magnitude 120 135$/ }).waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
    await page.getByText(/^Added, .*, You$/).waitFor()
    assertStatus(await patient.call('DELETE', one), 204)
    await page.getByText(/^Deleted, .*, You$/).waitFor()
    await goTo(page, 'record/deleted')
    const deleted = page.getByRole('row', { name: /You document Encounter/ })
    await deleted.getByRole('link').click()
    await button(page, 'Restore Version 1').click()
    await version(page, 4).waitFor()
    await page.getByText('Version 1 is back.').waitFor()
    const { uid, ...content } = assertStatus(await patient.call('GET', `${one}/json`))
    assert.deepEqual([uid.value.slice(-1), content], ['4', pressure(120)])
    await goTo(page, 'record/deleted')
    await page.getByText('Nothing was deleted.').waitFor()
    assertNoFaults(page)
  })

  it('offers to restore a document of a care plan to those who may write there', async () => {
    const { patient, place } = await newPlace()
    const template = await getStoredTemplate()
    const path = `/med/ehr/${patient.ehrId}/composition`
    const pressure = (systolic: number) => createPressureComposition(template, systolic)
    const inPlan = `${path}/json?carePlanId=${place.carePlanId}`
    const response = await patient.call('POST', inPlan, pressure(120))
    const { compositionId } = assertStatus(response, 201)
    assertStatus(await patient.call('POST', inPlan, pressure(130)), 201)
    const condition = { 'if-match': response.etag }
    assertStatus(await patient.call('PUT', `${path}/${compositionId}/json`, pressure(135), condition))
    for (const [access, buttons] of [
      ['WRITE', 1],
      ['READ', 0],
    ] as const) {
      const page = await openAs(await participate(patient, place.carePlanId, access))
      await goTo(page, `patients/${patient.ehrId}/history/composition/${compositionId}`)
      await version(page, 2).waitFor()
      assert.equal(await restoreButtons(page).count(), buttons, access)
      assertNoFaults(page)
    }
  })

  it('offers no way back for a measurement of a document, and leads to the document', async () => {
    const { patient } = await newPlace()
    const path = `/med/ehr/${patient.ehrId}/composition`
    const template = await getStoredTemplate(BLOOD_PRESSURE)
    const pressure = (systolic: number) =>
      createPressuresComposition(template, BLOOD_PRESSURE, [[systolic, 80]])
    const stored = await patient.call('POST', `${path}/json`, pressure(120))
    const { compositionId } = assertStatus(stored, 201)
    const condition = { 'if-match': stored.etag }
    assertStatus(await patient.call('PUT', `${path}/${compositionId}/json`, pressure(135), condition))
    const { items } = assertStatus(await patient.call('GET', 'procedure/bloodpressure'))
    const page = await openAs(patient)
    await goTo(page, `history/procedure/bloodpressure/${items[0].id}`)
    await page.getByText('This measurement is part of a document.').waitFor()
    assert.equal(await restoreButtons(page).count(), 0)
    await tabTo(page, 'Show the history of the document')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'History: document' }).waitFor()
    await page.getByRole('row', { name: /systolic, magnitude 120 135$/ }).waitFor()
    assertNoFaults(page)
  })

  it('has every kind of record that can be restored', async () => {
    const { patient, place } = await newPlace()
    const taskId = await createTask(patient, place.carePlanId, place.goalId)
    const idsByClass: Partial<Record<ClassName, string>> = {
      CarePlan: place.carePlanId,
      Goal: place.goalId,
      Task: taskId,
    }
    const page = await openAs(patient)
    const headings = new Set<string>()
    for (const { name, template } of RESTORABLE) {
      const values = withOtherKey(name, { ...parentIdsOf(name, place), ...exampleObject(name) })
      const id = idsByClass[name] ?? (await byClass(patient).post(name, values).expect(201)).body.objectId
      const own = pathParameterNames(template).at(-1) ?? ''
      const path = fillPath(template, { ...place, taskId, [own]: (values as Json)[own] ?? id })
      await goTo(page, path.replace(/^\/\w+\/[^/]+/, 'history'))
      await version(page, 1).waitFor()
      headings.add((await page.locator('h1').textContent()) ?? '')
    }
    assert.ok(RESTORABLE.length > 15)
    assert.equal(headings.size, RESTORABLE.length, [...headings].join())
    assertNoFaults(page)
  })
})
