import assert from 'node:assert/strict'
import type { BrowserContext, Page } from 'playwright-core'
import {
  createGoal,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  letTakePart,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createHelper, inviteHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, nameProfile, type Person } from '../../harness/people/people.ts'
import { waitUntil } from '../../harness/wait.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

/** What others change appears without any event of the browser. */
const SOON = { timeout: 50_000 }
const ENDED = 'You can no longer see this'

/** What the record says; none of it may stay on a page. */
const FACTS = ['Anna de Vries', 'Asthma', 'Walk more', 'Buy shoes', 'My tablets', 'Take half of it']

const mainText = async (page: Page) => (await page.locator('main').textContent()) ?? ''

async function assertEnded(page: Page): Promise<void> {
  await page.getByRole('heading', { name: ENDED }).waitFor(SOON)
  await waitUntil(async () => (await page.getByRole('alert').count()) === 1)
  const text = await mainText(page)
  for (const fact of FACTS) assert.ok(!text.includes(fact), `${page.url()} shows ${fact}: ${text}`)
  assert.equal(await page.getByRole('alert').count(), 1)
  assert.equal(await page.getByRole('navigation').count(), 1)
  assertNoFaults(page)
}

describe('the end of access to a record', function suite() {
  this.timeout(120_000)
  const opened = useConsoleBrowser()
  let patient: Patient
  let nurse: Person
  let planId: string
  let goalId: string
  let topicId: string
  let participationId: string
  beforeEach(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    await nameProfile(patient, 'Anna de Vries')
    planId = await createPlan(patient)
    goalId = await createGoal(patient, planId, { name: 'Walk more' })
    await createTask(patient, planId, goalId, { name: 'Buy shoes' })
    await createWeight(patient, planId)
    assertStatus(await patient.call('POST', 'diagnosis', { name: 'Asthma' }), 201)
    const message = { title: 'My tablets', text: 'Take half of it' }
    topicId = assertStatus(await patient.call('POST', `/chat/ehr/${patient.ehrId}`, message), 201).id
    participationId = (await letTakePart(patient, planId, nurse, { access: 'WRITE' })).participationId
  })

  const endParticipation = async (plan = planId, participation = participationId) =>
    assertStatus(await patient.call('DELETE', `careplan/${plan}/participant/${participation}`), 204)

  async function openTab(context: BrowserContext, path: string): Promise<Page> {
    const page = await opened.open({}, context)
    await goTo(page, `patients/${patient.ehrId}${path}`)
    return page
  }

  it('clears open pages, and shows one note and what was typed', async () => {
    const page = await opened.open()
    await logInOn(page, nurse)
    const paths = ['', '/record', '/record/timeline', '/messages', `/plan/${planId}/thresholds`]
    const pages = await Promise.all(paths.map((path) => openTab(page.context(), path)))
    const form = await openTab(page.context(), `/plan/${planId}/goal/new`)
    await form.getByLabel('Goal', { exact: true }).fill('Swim each week')
    const reply = await openTab(page.context(), `/messages/${topicId}`)
    await reply.getByLabel('Your reply').fill('Then with water')
    const side = await openTab(page.context(), '')
    await side.getByLabel('Which measurement?').selectOption('heartrate')
    await side.getByLabel('Heart rate', { exact: true }).fill('77')
    await goTo(page, 'worklist?all=true')
    await page.getByRole('link', { name: /Anna de Vries/ }).waitFor()

    await endParticipation()
    for (const one of [...pages, form, reply, side]) await assertEnded(one)
    await form.getByText('Goal: Swim each week').waitFor()
    await reply.getByText('Your reply: Then with water').waitFor()
    await side.getByText('Heart rate: 77').waitFor()
    await page.getByRole('link', { name: /Anna de Vries/ }).waitFor({ state: 'detached', ...SOON })

    await letTakePart(patient, planId, nurse, { access: 'WRITE' })
    await button(form, 'Try again').click()
    await form.getByText('Anna de Vries').waitFor()
    assert.equal(await form.getByLabel('Goal', { exact: true }).inputValue(), 'Swim each week')
  })

  it('clears the pages of one plan, and keeps those of another', async () => {
    const otherPlan = await createPlan(patient, { name: 'Sleep well' })
    await letTakePart(patient, otherPlan, nurse, { access: 'WRITE' })
    const page = await opened.open()
    await logInOn(page, nurse)
    const ended = await openTab(page.context(), `/plan/${planId}/goal/${goalId}`)
    const overview = await openTab(page.context(), '')
    await overview.getByRole('button', { name: 'Done Buy shoes' }).waitFor()
    await endParticipation()
    await assertEnded(ended)
    await overview.getByRole('button', { name: 'Done Buy shoes' }).waitFor({ state: 'detached', ...SOON })
    await overview.getByRole('heading', { name: 'Sleep well' }).waitFor()
    assert.equal(await overview.getByRole('alert').count(), 0)
  })

  it('clears the messages that a helper may not read any more', async () => {
    await createHelper(patient, nurse, ['READ', 'MESSAGES'])
    const page = await opened.open()
    await logInOn(page, nurse)
    await page.getByRole('button', { name: /^Act for/ }).click()
    await page.getByRole('heading', { name: /^Record of/ }).waitFor()
    await goTo(page, `messages/${topicId}`)
    await page.getByText('Take half of it').waitFor()
    await inviteHelper(patient, nurse, ['READ'])
    await assertEnded(page)
  })
})
