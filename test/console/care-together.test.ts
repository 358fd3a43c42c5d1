import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  letTakePart,
} from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createAddress, createPerson, password } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import {
  activate,
  assertNoFaults,
  button,
  goTo,
  logInOn,
  menu,
  register,
  tabTo,
  useConsoleBrowser,
} from './open-console.ts'

const CODE_LABEL = 'Your code. Others need it to accept your help, or to add you to their plan:'

async function readOwnCode(page: Page): Promise<string> {
  await menu(page, 'Account').click()
  const line = await page.getByText(CODE_LABEL).textContent()
  return (line ?? '').replace(CODE_LABEL, '').trim()
}

/** Presses Enter in the last field of a form, as people do without a mouse. */
async function typeInto(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(fields)) {
    await tabTo(page, name)
    await page.keyboard.type(text)
  }
  await page.keyboard.press('Enter')
}

async function startTopic(page: Page, title: string, text: string, plan?: string): Promise<void> {
  await menu(page, 'Messages').click()
  await page.getByRole('link', { name: 'New message' }).click()
  await page.getByLabel('What is it about?').fill(title)
  await page.getByLabel('Your message').fill(text)
  if (plan) await page.getByLabel('Does it belong to a plan?').selectOption({ label: plan })
  await button(page, 'Send').click()
  await page.getByRole('heading', { name: title }).waitFor()
}

describe('a care plan in the console', () => {
  const opened = useConsoleBrowser()

  it('is started from a template by a patient, who lets a new nurse take part', async () => {
    const nursePage = await opened.open()
    const email = createAddress()
    await register(nursePage, email, 'Nurse Bo')
    await activate(nursePage, email)
    await logInOn(nursePage, { email, password })
    const code = await readOwnCode(nursePage)

    const patient = await createPatient()
    const page = await opened.open()
    await logInOn(page, patient)
    await menu(page, 'My plan').click()
    await page.getByRole('link', { name: 'Start a plan' }).click()
    await page.getByLabel('Template').selectOption({ label: 'Living with high blood pressure' })
    await page.getByLabel('First day').fill('2026-03-02')
    await button(page, 'Start the plan').click()
    await page.getByRole('heading', { name: 'Living with high blood pressure' }).waitFor()
    const [plan] = assertStatus(await patient.call('GET', 'careplan')).items
    assert.equal(plan.name, 'Living with high blood pressure')
    assert.ok(assertStatus(await patient.call('GET', `careplan/${plan.id}`)).goals.length > 1)

    await menu(page, 'Access').click()
    await page.getByLabel('Code of this person').fill(code)
    await page.getByLabel('Who is it?').fill('Diabetes nurse')
    await button(page, 'Let them take part').click()
    await page
      .getByText('Nurse Bo (Diabetes nurse) may read and write “Living with high blood pressure”')
      .waitFor()

    await menu(nursePage, 'Worklist').click()
    await nursePage.getByRole('list', { name: 'Worklist' }).getByRole('link').click()
    await nursePage.getByRole('link', { name: 'Add a goal' }).click()
    await nursePage.getByLabel('Goal', { exact: true }).fill('Less salt')
    await nursePage.getByLabel('To be reached by').fill('2027-06-01')
    await button(nursePage, 'Save').click()
    await nursePage.getByRole('link', { name: 'Add a task Less salt' }).click()
    await nursePage.getByLabel('Task', { exact: true }).fill('Read the labels')
    await button(nursePage, 'Save').click()
    await nursePage.getByRole('button', { name: 'Done Read the labels' }).waitFor()

    await nursePage.getByRole('link', { name: 'Add goals of a template' }).click()
    await nursePage.getByLabel('Template').selectOption({ label: 'Towards a healthy weight' })
    await button(nursePage, 'Add the goals').click()
    await nursePage.getByRole('heading', { name: 'A target that fits me' }).waitFor()

    await menu(page, 'My plan').click()
    await page.getByRole('heading', { name: 'A target that fits me' }).waitFor()
    await page.getByRole('heading', { name: 'Less salt', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Done Read the labels' }).waitFor()
    assertNoFaults(page)
    assertNoFaults(nursePage)
  })

  it('is started without a template, and gets goals and tasks, by keyboard only', async () => {
    const patient = await createPatient()
    const page = await opened.open()
    await logInOn(page, patient)
    await menu(page, 'My plan').focus()
    await page.keyboard.press('Enter')
    await tabTo(page, 'Start a plan')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Start a plan' }).waitFor()
    await tabTo(page, 'Name of the plan')
    await page.keyboard.press('Enter')
    // The summary of what is wrong has the focus, and leads to the field.
    await page.getByRole('alert').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Walk more')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Walk more' }).waitFor()
    await tabTo(page, 'Add a goal Walk more')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'New goal' }).waitFor()
    await typeInto(page, { Goal: 'Ten thousand steps' })
    await page.getByRole('heading', { name: 'Ten thousand steps' }).waitFor()
    await tabTo(page, 'Add a task Ten thousand steps')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'New task' }).waitFor()
    await typeInto(page, { Task: 'Buy shoes' })
    await page.getByRole('button', { name: 'Done Buy shoes' }).waitFor()
    assertNoFaults(page)
  })

  it('shows why a person cannot take part, and keeps what was typed', async () => {
    const patient = await createPatient()
    await createPlan(patient)
    const page = await opened.open()
    await logInOn(page, patient)
    await goTo(page, 'access')
    await page.getByLabel('Code of this person').fill('no such person!')
    await button(page, 'Let them take part').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Code of this person').inputValue(), 'no such person!')
    assert.equal(await page.getByLabel('Code of this person').getAttribute('aria-invalid'), 'true')
  })

  it('shows the patient who takes part, and which values raise an alert', async () => {
    const [patient, nurse, friend] = await Promise.all([createPatient(), createPerson(), createPerson()])
    const planId = await createPlan(patient)
    await letTakePart(patient, planId, nurse, { access: 'READ', role: 'Nurse' })
    await letTakePart(patient, planId, friend, { access: 'READ', role: 'Dietician' })
    const thresholds = {
      bloodpressure: 'esc2018',
      bodyweight: { weightLow: 60.5, weightHigh: 75.5, unit: 'kg' },
    }
    assertStatus(await patient.call('PUT', `careplan/${planId}/thresholds`, thresholds))
    for (const [language, texts] of [
      ['en', ['Weight: an alert for Weight below 60.5 kg or Weight above 75.5 kg.', 'by ESC/ESH 2018.']],
      [
        'nl',
        ['Gewicht: een melding bij Gewicht onder 60,5 kg of Gewicht boven 75,5 kg.', 'volgens ESC/ESH 2018.'],
      ],
    ] as const) {
      const page = await opened.open({ language })
      await logInOn(page, patient)
      await goTo(page, 'plan')
      for (const text of texts) await page.getByText(text).waitFor()
      const taking = (await page.getByText(/^(Taking part|Doen mee): /).textContent()) ?? ''
      assert.match(taking, /Nurse/)
      assert.match(taking, / (and|en) /)
    }
  })

  it('is reached by a nurse for whom nothing waits', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    await addParticipant(await createPlan(patient, { name: 'Lower blood pressure' }), nurse, 'write')
    const page = await opened.open()
    await logInOn(page, nurse)
    await menu(page, 'Worklist').click()
    await page.getByText('Nobody needs you now.').waitFor()
    await page.getByLabel('Also patients who need no action').check()
    await page.getByRole('list', { name: 'Worklist' }).getByRole('link').click()
    await page.getByRole('heading', { name: 'Lower blood pressure' }).waitFor()
    assertNoFaults(page)
  })

  it('gets the measurements that it watches, though another plan is newer', async () => {
    const patient = await createPatient()
    const watching = await createPlan(patient)
    const expecting = await createPlan(patient)
    const newest = await createPlan(patient)
    const thresholds = { bloodpressure: 'esc2018' }
    assertStatus(await patient.call('PUT', `careplan/${watching}/thresholds`, thresholds))
    const expected = [{ kind: 'bodyweight', from: '2026-03-01', everyDays: 7, by: '20:00' }]
    assertStatus(await patient.call('PUT', `careplan/${expecting}/alert-rules`, { expected }))
    const page = await opened.open()
    await logInOn(page, patient)
    for (const [kind, values, planId] of [
      ['bloodpressure', { 'Upper pressure': '185', 'Lower pressure': '95' }, watching],
      ['bodyweight', { Weight: '80' }, expecting],
      ['heartrate', { 'Heart rate': '72' }, newest],
    ] as const) {
      await goTo(page, `measure?kind=${kind}`)
      for (const [label, value] of Object.entries(values))
        await page.getByRole('textbox', { name: label, exact: true }).fill(value)
      await button(page, 'Save').click()
      await page.getByRole('heading', { name: 'Saved' }).waitFor()
      const [measurement] = assertStatus(await patient.call('GET', `procedure/${kind}`)).items
      assert.equal(measurement.carePlanId, planId, kind)
    }
    const alerts = `/med/${patient.ehrId}/event?type=measurement-alert&carePlanId=${watching}`
    assert.equal(assertStatus(await patient.call('GET', alerts)).items.length, 1)
  })

  it('offers changes to a participant for as long as they may write', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const plan = await createPlan(patient)
    await createTask(patient, plan, await createGoal(patient, plan))
    const added = await patient.call('POST', `careplan/${plan}/participant`, {
      mvUid: nurse.mvUid,
      access: 'WRITE',
    })
    const { participationId } = assertStatus(added, 201)
    const page = await opened.open()
    await logInOn(page, nurse)
    await goTo(page, `patients/${patient.ehrId}`)
    const offers = page.locator('main').getByRole('link', { name: /^(Add a goal|Add a task|Change)/ })
    await offers.nth(2).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Done/ }).count(), 1)
    const rules = page.getByRole('link', { name: /^(Thresholds|Alerts) of/ })
    await rules.nth(1).waitFor()
    const measurement = page.getByLabel('Which measurement?')
    await measurement.waitFor()

    const reader = { access: 'READ' }
    assertStatus(await patient.call('PUT', `careplan/${plan}/participant/${participationId}`, reader))
    await offers.first().waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('button', { name: /^Done/ }).count(), 0)
    await measurement.waitFor({ state: 'detached' })
    await rules.first().waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Walk' }).waitFor()
    await page.getByText(/^Taking part: /).waitFor()
    assertNoFaults(page)
  })

  it('carries a conversation between patient and nurse, and one about the plan', async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const planId = await createPlan(patient, { name: 'Lower blood pressure' })
    await letTakePart(patient, planId, nurse, { access: 'WRITE', role: 'Nurse' })
    const patientPage = await opened.open()
    await logInOn(patientPage, patient)
    await startTopic(patientPage, 'The side effects', 'I am dizzy.', 'Lower blood pressure')
    await startTopic(patientPage, 'My new tablets', 'Do they go with the old ones?')
    const [topic] = assertStatus(await patient.call('GET', `/chat/careplan/${planId}`)).items
    assert.equal(topic.title, 'The side effects')
    // On the page of a conversation, the answer would count as read.
    await patientPage.goto(`${service.url}/console/`)

    const page = await opened.open()
    await logInOn(page, nurse)
    await menu(page, 'Worklist').click()
    await page.getByText(/2 new messages/).waitFor()
    await goTo(page, `patients/${patient.ehrId}`)
    await page.getByRole('link', { name: 'Messages' }).last().click()
    for (const [title, answer] of [
      ['The side effects', 'Take half of it.'],
      ['My new tablets', 'They do.'],
    ] as const) {
      await page.getByRole('link', { name: title }).click()
      await page.getByLabel('Your reply').fill(answer)
      await button(page, 'Send').click()
      await page.getByRole('listitem').getByText(answer).waitFor()
      await page.getByRole('main').getByRole('link', { name: 'Messages' }).click()
    }

    await patientPage.goto(`${service.url}/console/`)
    await patientPage.getByText('2 new messages.').waitFor()
    await menu(patientPage, 'Messages').click()
    await patientPage.getByRole('link', { name: 'The side effects' }).click()
    await patientPage.getByText('Take half of it.').waitFor()
    await menu(patientPage, 'Messages').click()
    await patientPage.getByRole('link', { name: 'My new tablets' }).click()
    await patientPage.getByText('They do.').waitFor()
    assertNoFaults(page)
    assertNoFaults(patientPage)
  })
})
