import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page, Request } from 'playwright-core'
import { COLOUR_RULES, findAccessibilityViolations } from '../../harness/browser/axe.ts'
import {
  addParticipant,
  createAlert,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../harness/openehr-samples.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { assertNoFaults, goTo, logInOn, menu, useConsoleBrowser } from '../open-console.ts'
import { assertTrees, readTree } from './accessibility-trees.ts'
import { createAdministrator, createAnalyst, createModeller } from './staff-visitors.ts'
import type { Visitor } from './visitor.ts'

const DAYS = 40
const DAY_MS = 86_400_000
/** After this time no change counts as recent. */
const QUIET_MS = 30_000
/** Longer than a page takes to read again what has changed. */
const SETTLE_MS = 300
/** 320 px are a screen of 1280 px at a zoom of 400 %. */
const WIDTHS = [360, 320, 1440]

const named = async (who: Person, displayName: string, more: object = {}) =>
  assertStatus(await who.call('PUT', `/profile/${who.mvUid}`, { name: { displayName }, ...more }))

const ROLES = ['patient', 'nurse', 'administrator', 'analyst', 'modeller'] as const

/** A patient with something on each page, a nurse who looks at them, and people with roles. */
async function createVisitors(): Promise<Record<(typeof ROLES)[number], Visitor>> {
  const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
  const planId = await createPlan(patient, { description: 'Below 140/90 by the summer' })
  const goalId = await createGoal(patient, planId)
  await createTask(patient, planId, goalId, { dueDate: '2026-01-05' })
  assertStatus(
    await patient.call('PUT', `careplan/${planId}/goal/${goalId}`, { name: 'Walk', notes: 'With the dog' }),
  )
  await addParticipant(planId, nurse, 'write')
  await named(patient, 'Anna de Vries', { birthDate: '1961-04-30', gender: 'FEMALE' })
  assertStatus(await patient.call('PUT', `/auth/account/${patient.mvUid}`, { name: 'Anna de Vries' }))
  await named(nurse, 'Nurse Bo')
  assertStatus(await nurse.call('PUT', `/auth/account/${nurse.mvUid}`, { name: 'Nurse Bo' }))
  const weightId = await createWeights(patient, planId)
  await createAlert(patient, planId)
  const topic = { title: 'The new tablets', text: 'Do they go with the old ones?' }
  const { id } = assertStatus(await patient.call('POST', `/chat/ehr/${patient.ehrId}`, topic), 201)
  assertStatus(
    await patient.call('POST', 'diagnosis', { name: 'High blood pressure', status: 'active' }),
    201,
  )
  const reaction = { substance: 'Penicillin', criticality: 'high' }
  assertStatus(await patient.call('PUT', 'adversereaction/Penicillin', reaction), 201)
  assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${planId}`))
  const wrong = assertStatus(await patient.call('POST', 'diagnosis', { name: 'Gout' }), 201)
  assertStatus(await patient.call('DELETE', `diagnosis/${wrong.id}`), 204)
  const documentId = await createDocument(patient)
  const own: Visitor['pages'] = [
    ['goal', `plan/${planId}/goal/${goalId}`],
    ['topic', `messages/${id}`],
    ['history', `history/careplan/${planId}/goal/${goalId}`],
    ['history of a document', `history/composition/${documentId}`],
    ['overview, one kind', 'overview?kind=bodyweight&period=all'],
  ]
  const at = `patients/${patient.ehrId}`
  const ofNurse: Visitor['pages'] = [
    ['worklist', 'worklist'],
    ['worklist, filtered', 'worklist?reason=MISSED'],
    ['patient', at],
    ['patient, one kind', `${at}?kind=bodyweight&period=all`],
    ['patient, goal', `${at}/plan/${planId}/goal/${goalId}`],
    ['patient, thresholds', `${at}/plan/${planId}/thresholds`],
    ['patient, record', `${at}/record`],
    ['patient, timeline', `${at}/record/timeline`],
    ['patient, deleted', `${at}/record/deleted`],
    ['patient, history', `${at}/history/procedure/bodyweight/${weightId}`],
    ['patient, history of a goal', `${at}/history/careplan/${planId}/goal/${goalId}`],
  ]
  return {
    patient: { who: patient, pages: [...PAGES.map((path): [string, string] => [path, path]), ...own] },
    nurse: { who: nurse, pages: ofNurse },
    administrator: await createAdministrator(),
    analyst: await createAnalyst(),
    modeller: await createModeller(),
  }
}

/** @returns the id of a composition with two versions */
async function createDocument(patient: Patient): Promise<string> {
  const path = `/med/ehr/${patient.ehrId}/composition`
  const template = await getStoredTemplate()
  const first = await patient.call('POST', `${path}/json`, createPressureComposition(template, 120))
  const { compositionId } = assertStatus(first, 201)
  const second = createPressureComposition(template, 135)
  const condition = { 'if-match': first.etag }
  assertStatus(await patient.call('PUT', `${path}/${compositionId}/json`, second, condition))
  return compositionId
}

/** @returns the id of the latest one, which was corrected once */
async function createWeights(patient: Patient, carePlanId: string): Promise<string> {
  const items = Array.from({ length: DAYS }, (_, day) => ({
    kind: 'bodyweight',
    ...{ carePlanId, weight: 80 + Math.sin(day) + day / 20, weightUnit: 'kg' },
    timestamp: new Date(Date.now() - day * DAY_MS).toISOString(),
  }))
  assertStatus(await patient.call('POST', 'procedure/batch', { items }))
  const [latest] = assertStatus(await patient.call('GET', 'procedure/bodyweight?limit=1')).items
  const { kind: _, ...first } = items[0] ?? { kind: '' }
  assertStatus(await patient.call('PUT', `procedure/bodyweight/${latest.id}`, { ...first, weight: 81 }))
  return latest.id
}

const PAGES = [
  ...['', 'measure', 'measure?kind=bloodpressure', 'measure?kind=bmi', 'overview', 'overview?period=all'],
  ...[
    'plan',
    'messages',
    'messages/new',
    'record',
    'record/timeline',
    'record/deleted',
    'access',
    'account',
    'nowhere',
  ],
]

/** Goes to a page without loading the console again. */
async function show(page: Page, path: string, search?: string): Promise<void> {
  await goTo(page, path)
  if (search === undefined) return
  await page.locator('input[type=search]').fill(search)
  await page.locator('input[type=search]').press('Enter')
  await page.getByText(search).waitFor()
}

/** The chosen ones among buttons and links must differ by more than their background, which forced colours remove. */
const findChosenWithoutBorder = `[...document.querySelectorAll('[aria-pressed="true"], nav [aria-current]')]
  .filter((one) => parseFloat(getComputedStyle(one).borderBottomWidth) < 3)
  .map((one) => one.textContent)`

/** Loads a page anew. @returns the addresses of the service that it reads more than once */
async function findRepeatedReads(page: Page, path: string): Promise<string[]> {
  const reads: string[] = []
  const note = (request: Request) => {
    if (request.method() === 'GET' && request.resourceType() === 'fetch') reads.push(request.url())
  }
  page.on('request', note)
  const streams = page.waitForResponse(/\/changes\?/)
  await page.goto(`${service.url}/console/${path}`)
  await page.locator('main:not(:has(.skeleton)) h1').waitFor()
  await streams
  await sleep(SETTLE_MS)
  page.off('request', note)
  return reads.filter((url, at) => reads.indexOf(url) !== at)
}

const widthOf = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth')

describe('the pages of the console', () => {
  const opened = useConsoleBrowser()
  let visitors: Record<(typeof ROLES)[number], Visitor>
  let createdAt: number
  before(async () => {
    visitors = await createVisitors()
    createdAt = Date.now()
  })

  for (const role of ROLES)
    describe(`every page of the ${role}`, () => {
      for (const language of ['en', 'nl'] as const)
        it(`passes axe-core and has its accessibility tree in the language ${language}, light and dark`, async () => {
          const { who, pages } = visitors[role]
          const page = await opened.open({ language })
          assert.deepEqual(await findAccessibilityViolations(page), [], 'login')
          const trees = new Map([['login', await readTree(page)]])
          await logInOn(page, who)
          for (const [name, path, search] of pages) {
            await show(page, path, search)
            trees.set(name, await readTree(page))
            await page.emulateMedia({ colorScheme: 'light' })
            assert.deepEqual(await findAccessibilityViolations(page), [], path)
            // Only colours differ in dark mode.
            await page.emulateMedia({ colorScheme: 'dark' })
            assert.deepEqual(await findAccessibilityViolations(page, COLOUR_RULES), [], `${path}, dark`)
          }
          assert.equal(await page.getAttribute('html', 'lang'), language)
          assertNoFaults(page)
          assertTrees(`${role}.${language}`, trees)
        })

      it('fits screens from 320 to 1440 px, and says in forced colours what is chosen', async () => {
        const { who, pages } = visitors[role]
        const page = await opened.open()
        await logInOn(page, who)
        for (const [, path, search] of pages) {
          await show(page, path, search)
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 800 })
            assert.ok(
              (await widthOf(page)) <= width,
              `${path} is ${await widthOf(page)} px wide on ${width} px`,
            )
          }
          await page.emulateMedia({ forcedColors: 'active' })
          assert.deepEqual(await page.evaluate(findChosenWithoutBorder), [], path)
          await page.emulateMedia({ forcedColors: 'none' })
        }
      })

      it('reads nothing twice when it is loaded', async () => {
        // The stream of changes tells of recent ones, whose records are rightly read again.
        await sleep(Math.max(0, createdAt + QUIET_MS - Date.now()))
        const { who, pages } = visitors[role]
        const page = await opened.open()
        await logInOn(page, who)
        for (const [, path] of pages) assert.deepEqual(await findRepeatedReads(page, path), [], path)
      })

      it('has a heading of its own, which gets the focus and names the tab', async () => {
        const { who, pages } = visitors[role]
        const page = await opened.open()
        await logInOn(page, who)
        for (const [, path, search] of pages) {
          await show(page, path, search)
          const [heading = '', ...more] = await page.locator('h1').allTextContents()
          assert.deepEqual(more, [], path)
          assert.equal(await page.title(), `${heading} – Health record`)
        }
        await menu(page, 'My record').click()
        await page.getByRole('heading', { name: 'My record' }).waitFor()
        assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
      })
    })

  it('are shown in the README', async () => {
    const page = await opened.open()
    await page.setViewportSize({ width: 1000, height: 900 })
    await logInOn(page, visitors.patient.who)
    await page.getByText('kilograms').waitFor()
    assert.match((await page.locator('main').textContent()) ?? '', /was due on 5 January 2026/)
    assert.match((await page.locator('main').textContent()) ?? '', /1 person looked at your record this week/)
    if (!process.env.SCREENSHOTS) return
    mkdirSync(process.env.SCREENSHOTS, { recursive: true })
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/console-home.png` })
    await page.goto(`${service.url}/console/overview`)
    await page.locator('.plot canvas').first().waitFor()
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/console-overview.png` })
  })
})
