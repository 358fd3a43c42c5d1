import assert from 'node:assert/strict'
import type { Page, Route } from 'playwright-core'
import { DAY_MS } from '../../../schemas/time/durations.ts'
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
import { createPerson, nameProfile } from '../../harness/people/people.ts'
import { assertNoFaults, button, goTo, logInOn, menu, useConsoleBrowser } from '../open-console.ts'

const dateIn = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

const createTopic = async (patient: Patient, title: string, about = `ehr/${patient.ehrId}`) =>
  assertStatus(await patient.call('POST', `/chat/${about}`, { title, text: `Message 1 of ${title}` }), 201).id

describe('the pages of a record', () => {
  const opened = useConsoleBrowser()
  let page: Page
  let patient: Patient
  let topicId: string
  before(async () => {
    patient = await createPatient()
    const planId = await createPlan(patient)
    const goalId = await createGoal(patient, planId)
    await createTask(patient, planId, goalId, { name: 'Buy shoes' })
    await createTask(patient, planId, goalId, { name: 'Run', dueDate: dateIn(0) })
    await createTask(patient, planId, goalId, { name: 'Rest', dueDate: dateIn(1) })
    await createWeight(patient, planId)
    for (const name of ['Asthma', 'Gout', 'Angina', 'Eczema', 'Migraine'])
      assertStatus(await patient.call('POST', 'diagnosis', { name }), 201)
    const formerPlan = await createPlan(patient)
    await createTopic(patient, 'Former plan', `careplan/${formerPlan}`)
    const closing = { status: 'COMPLETED' }
    assertStatus(await patient.call('POST', `careplan/${formerPlan}/close`, closing), 200)
    for (const title of ['First', 'Second', 'Third']) topicId = await createTopic(patient, title)
    for (let i = 2; i <= 5; i++) {
      const message = { text: `Message ${i} of Third` }
      assertStatus(await patient.call('POST', `/chat/ehr/${patient.ehrId}/${topicId}`, message), 201)
    }
    page = await opened.open()
    await page.clock.install()
    await logInOn(page, patient)
    // Pages of two entries show the same as large ones of a long record.
    await page.route(/limit=\d+/, (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/limit=\d+/, 'limit=2'),
      }),
    )
  })
  after(() => assertNoFaults(page))
  /** Holds the request for a further page of a list. */
  const holdPage = (url: RegExp) =>
    new Promise<Route>((resolve) => void page.route(url, resolve, { times: 1 }))
  /** The note about it, once it is visible. */
  const turningNote = () => page.getByRole('status').locator('p:not(.early)', { hasText: 'Loading …' })

  it('show all entries of a long list', async () => {
    await goTo(page, 'record')
    for (const name of ['Asthma', 'Gout', 'Angina', 'Eczema', 'Migraine'])
      await page.getByText(name, { exact: true }).waitFor()
  })

  it('list all conversations, also those of plans that are over', async () => {
    await goTo(page, 'messages')
    for (const title of ['First', 'Second', 'Third', 'Former plan'])
      await page.getByRole('link', { name: title, exact: true }).waitFor()
  })

  it('show by when a goal is to be reached, and which is late', async () => {
    const planId = await createPlan(patient, { name: 'Dates' })
    await createGoal(patient, planId, { name: 'Walk far', dueDate: '2099-03-01' })
    await createGoal(patient, planId, { name: 'Swim', dueDate: '2026-01-01' })
    await goTo(page, 'plan')
    await page.getByText('by 1 March 2099').waitFor()
    await page.getByText('was due on 1 January 2026').waitFor()
  })

  it('name the people who take part in a plan', async () => {
    const nurse = await createPerson()
    await nameProfile(nurse, 'Bo Smith')
    const planId = await createPlan(patient, { name: 'Together' })
    await letTakePart(patient, planId, nurse, { access: 'WRITE', role: 'Nurse' })
    await goTo(page, 'plan')
    await page.getByText('Taking part: Bo Smith (Nurse).').waitFor()
  })

  it('show all records by date in the language of the reader, each with its history', async () => {
    const dutch = await opened.open({ language: 'nl' })
    const reader = await createPatient()
    const carePlanId = await createPlan(reader)
    await createTask(reader, carePlanId, await createGoal(reader, carePlanId), { name: 'Wandelen' })
    const timestamp = '2026-03-01T08:30:00Z'
    const pressure = { systolic: 126, systolicUnit: 'mm[Hg]', diastolic: 80, diastolicUnit: 'mm[Hg]' }
    const answersFrom = (unanswered: number) =>
      Array.from({ length: 14 }, (_, i) => (i < unanswered ? null : 1))
    for (const [kind, body] of [
      ['bloodpressure', pressure],
      ['hads', { answers: answersFrom(0) }],
      ['hads', { timestamp: '2026-03-02T08:30:00Z', answers: answersFrom(10) }],
    ] as const)
      assertStatus(await reader.call('POST', `procedure/${kind}`, { carePlanId, timestamp, ...body }), 201)
    await logInOn(dutch, reader)
    await goTo(dutch, 'record/timeline')
    const contentsOf = async (kind: string) =>
      await dutch.getByRole('row').filter({ hasText: kind }).locator('td:nth-child(3)').allTextContents()
    assert.deepEqual(await contentsOf('Bloeddruk'), ['126/80 mmHg'])
    assert.deepEqual(await contentsOf('Vragenlijst angst'), ['geen score', 'Angst 7, Depressie 7 punten'])
    for (const row of await dutch
      .getByRole('row')
      .filter({ has: dutch.getByRole('cell') })
      .all())
      assert.equal(await row.getByRole('link', { name: /^Geschiedenis/ }).count(), 1)
    await dutch.getByRole('link', { name: 'Geschiedenis Wandelen' }).click()
    await dutch.getByRole('heading', { name: 'Wandelen' }).waitFor()
    assertNoFaults(dutch)
  })

  it('say that the next page of a table is on its way', async () => {
    await goTo(page, 'record/timeline')
    const formerRows = await page.locator('tbody').textContent()
    const heldRoute = holdPage(/timeline.*cursor=/)
    await button(page, 'Older').click()
    const route = await heldRoute
    await page.locator('[aria-busy=true] table').waitFor()
    await turningNote().waitFor()
    assert.equal(await page.locator('tbody').textContent(), formerRows)
    await route.fallback()
    await page.locator('[aria-busy=false] table').waitFor()
    await button(page, 'Newer').waitFor()
    assert.equal(await turningNote().count(), 0)
  })

  it('lead to the older messages of a conversation, and say new ones', async () => {
    await goTo(page, `messages/${topicId}`)
    const log = page.getByRole('log')
    await log.getByText('Message 5 of Third').waitFor()
    assert.equal(await log.getByRole('listitem').count(), 2)
    // Twice on a slow network: the second tap meets the button of the first page.
    const heldRoute = holdPage(new RegExp(`${topicId}.*cursor=`))
    await button(page, 'Older').click()
    const route = await heldRoute
    await button(page, 'Older').click()
    await page.locator('[role=log][aria-busy=true]').waitFor()
    await turningNote().waitFor()
    await route.fallback()
    await log.getByText('Message 3 of Third').waitFor()
    await button(page, 'Older').click()
    await log.getByText('Message 1 of Third').waitFor()
    assert.equal(await button(page, 'Older').count(), 0)
    for (let i = 0; i < 2; i++) await button(page, 'Newer').click()
    const arabic = 'مرحبا 10 mg'
    await page.getByLabel('Your reply').fill(arabic)
    await button(page, 'Send').click()
    await log.getByText(arabic).waitFor()
    const direction = "getComputedStyle(document.querySelector('.messages li:last-child .text')).direction"
    assert.equal(await page.evaluate(direction), 'rtl')
  })

  it('keep what is typed while the former text is stored', async () => {
    await goTo(page, `messages/${topicId}`)
    const reply = page.getByLabel('Your reply')
    const heldRoute = new Promise<Route>((resolve) => void page.route(`**/chat/ehr/*/${topicId}`, resolve))
    await reply.fill('Thank you')
    await button(page, 'Send').click()
    const route = await heldRoute
    await reply.fill('One more question')
    await page.unroute(`**/chat/ehr/*/${topicId}`)
    await route.continue()
    await page.getByRole('log').getByText('Thank you').waitFor()
    assert.equal(await reply.inputValue(), 'One more question')
    await button(page, 'Send').click()
    await page.getByRole('log').getByText('One more question').waitFor()
    assert.equal(await reply.inputValue(), '')
  })

  it('keep the focus in the list when a task is done, and say so', async () => {
    await menu(page, 'Home').click()
    const done = button(page, 'Done Buy shoes')
    await done.press('Enter')
    await page.getByText('“Buy shoes” is done.').waitFor()
    await done.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.id'), 'tasks')
  })

  it('tell the time truly while they stay open', async () => {
    const timestamp = new Date(Date.now() - 2 * DAY_MS + 3_600_000).toISOString()
    const rate = { carePlanId: await createPlan(patient), heartRate: 71, heartRateUnit: '/min', timestamp }
    assertStatus(await patient.call('POST', 'procedure/heartrate', rate), 201)
    await menu(page, 'Home').click()
    assert.equal(await page.getByText('was due on').count(), 0)
    assert.equal(await button(page, 'Done Rest').count(), 0)
    const ages = page.locator('section[aria-labelledby=newest] time')
    for (const age of ['1 day ago', /(month|year)s? ago/]) await ages.filter({ hasText: age }).waitFor()
    await page.clock.fastForward(DAY_MS)
    await button(page, 'Done Rest').waitFor()
    await page.getByText(/was due on/).waitFor()
  })

  it('are printed without forms, and without columns of links', async () => {
    await goTo(page, 'access')
    const field = page.getByLabel('Code of the helper')
    await field.waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.ok(!(await field.isVisible()))
    await goTo(page, 'record/timeline')
    const heads = await page.getByRole('columnheader').allTextContents()
    assert.deepEqual(heads, ['When', 'Kind', 'What'])
    await page.emulateMedia({ media: 'screen' })
  })
})
