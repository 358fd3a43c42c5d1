import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page, Request } from 'playwright-core'
import { COLOUR_RULES, findAccessibilityViolations } from '../../harness/browser/axe.ts'
import { service } from '../../harness/service/service.ts'
import { isFullSize } from '../../harness/test-size.ts'
import { assertNoFaults, goTo, logInOn, menu, useConsoleBrowser } from '../open-console.ts'
import { assertTree, readTree } from './accessibility-trees.ts'
import { createPatientAndNurse, NURSE_PAGES, PATIENT_PAGES } from './care-visitors.ts'
import { findLayoutFaults } from './layout-faults.ts'
import {
  ADMINISTRATOR_PAGES,
  ANALYST_PAGES,
  createAdministrator,
  createAnalyst,
  createModeller,
  MODELLER_PAGES,
} from './staff-visitors.ts'
import { fillIn, type PageOfRole, type Visitor } from './visitor.ts'

/** After this time no change counts as recent. */
const QUIET_MS = 30_000
/** Longer than a page takes to read again what has changed. */
const SETTLE_MS = 300
const USUAL_SIZE = { width: 1280, height: 720 }
/** 320 px are a screen of 1280 px at a zoom of 400 %, and 3840 px are 4K. */
const WIDTHS = [360, 320, 1440, 3840]

const PRODUCT = { en: 'Health Record Service', nl: 'Gezondheidsdossier' }

const PAGES = {
  patient: PATIENT_PAGES,
  nurse: NURSE_PAGES,
  administrator: ADMINISTRATOR_PAGES,
  analyst: ANALYST_PAGES,
  modeller: MODELLER_PAGES,
} as const satisfies Record<string, readonly PageOfRole[]>
type Role = keyof typeof PAGES
const ROLES = Object.keys(PAGES) as Role[]

/** Without a session. */
const ANYONE_PAGES: readonly PageOfRole[] = [
  ['login', ''],
  ['register', 'register'],
  ['forgotten', 'forgotten'],
]

const createVisitors = async (): Promise<Record<Role, Visitor>> => ({
  ...(await createPatientAndNurse()),
  administrator: await createAdministrator(),
  analyst: await createAnalyst(),
  modeller: await createModeller(),
})

/** Takes a picture for the documentation, if `SCREENSHOTS` names a directory for it. */
async function takePicture(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS
  if (!directory) return
  mkdirSync(directory, { recursive: true })
  await page.screenshot({ path: `${directory}/${name}.png` })
}

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

async function assertForcedColours(page: Page): Promise<void> {
  await page.emulateMedia({ forcedColors: 'active' })
  assert.deepEqual(await page.evaluate(findChosenWithoutBorder), [])
  await page.emulateMedia({ forcedColors: 'none' })
}

async function assertAccessible(page: Page, visitor: string, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await assertTree(visitor, name, page)
  assert.deepEqual(await findAccessibilityViolations(page), [])
}

async function assertOtherColours(page: Page): Promise<void> {
  const light = await readTree(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal(await readTree(page), light)
  // The others do not depend on colours.
  assert.deepEqual(await findAccessibilityViolations(page, COLOUR_RULES), [], 'dark')
  await assertForcedColours(page)
}

async function assertFits(page: Page): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ ...USUAL_SIZE, width })
    const pageWidth = Number(await page.evaluate('document.documentElement.scrollWidth'))
    assert.ok(pageWidth <= width, `it is ${pageWidth} px wide on ${width} px`)
    assert.deepEqual(await findLayoutFaults(page), {}, `on ${width} px`)
  }
  await page.setViewportSize(USUAL_SIZE)
}

/** Loads a page anew. @returns the URLs of the service that it reads more than once */
async function findRepeatedReads(page: Page, path: string): Promise<string[]> {
  const reads: string[] = []
  // The page before may still read. A file of the same origin keeps the process of the page; a blank page starts one.
  await page.goto(`${service.url}/console/icon.svg`)
  const note = (request: Request) => {
    if (request.method() === 'GET' && request.resourceType() === 'fetch') reads.push(request.url())
  }
  page.on('request', note)
  const streams = page.waitForResponse(/\/ehr\/\w+\/changes\?/)
  await page.goto(`${service.url}/console/${path}`)
  await page.locator('main:not(:has(.skeleton)) h1').waitFor()
  await streams
  await sleep(SETTLE_MS)
  page.off('request', note)
  return reads.filter((url, at) => reads.indexOf(url) !== at)
}

/** Colours do not depend on the language. */
const hasOtherColours = (language: 'en' | 'nl') => language === 'en' || isFullSize

describe('the pages of the console', () => {
  const opened = useConsoleBrowser()
  let visitors: Record<Role, Visitor>
  let createdAt: number
  before(async () => {
    visitors = await createVisitors()
    createdAt = Date.now()
  })

  for (const language of ['en', 'nl'] as const)
    describe(`in the language ${language}`, () => {
      for (const [name, path] of ANYONE_PAGES)
        it(`pass axe-core and have their accessibility tree: ${name}`, async () => {
          const page = await opened.open({ language })
          await goTo(page, path)
          await assertAccessible(page, `anyone.${language}`, name)
          if (hasOtherColours(language)) await assertOtherColours(page)
          await assertFits(page)
        })

      for (const role of ROLES)
        describe(`for the ${role}`, () => {
          let page: Page
          before(async () => {
            page = await opened.open({ language })
            await logInOn(page, visitors[role].who)
          })
          after(() => page?.context().close())

          for (const [name, path, search] of PAGES[role])
            it(`pass axe-core, fit the screen, and have their accessibility tree: ${name}`, async () => {
              const visitor = visitors[role]
              await show(page, fillIn(path, visitor), search && fillIn(search, visitor))
              const [heading = '', ...more] = await page.locator('h1').allTextContents()
              assert.deepEqual(more, [])
              assert.equal(await page.title(), `${heading} – ${PRODUCT[language]}`)
              assert.equal(await page.getAttribute('html', 'lang'), language)
              await assertAccessible(page, `${role}.${language}`, name)
              if (hasOtherColours(language)) await assertOtherColours(page)
              await assertFits(page)
              assertNoFaults(page)
            })
        })
    })

  it('are all visited', () => {
    const table = readFileSync('console/src/app/page-table.ts', 'utf8')
    const visited = Object.values(PAGES).flatMap((pages) => pages.map(([, path]) => `/${path.split('?')[0]}`))
    const paths = [...table.matchAll(/'(\/[^']*)'/g)].map(([, path]) => path ?? '')
    assert.ok(paths.length > 40)
    const missing = paths.filter((path) => {
      const pattern = new RegExp(`^${path.replace(/:\w+\*/g, '.+').replace(/:\w+/g, '[^/]+')}$`)
      return !visited.some((one) => pattern.test(one))
    })
    assert.deepEqual(missing, [])
  })

  it('give their heading the focus', async () => {
    const page = await opened.open()
    await logInOn(page, visitors.patient.who)
    await menu(page, 'My record').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
  })

  it('are shown in the README', async () => {
    const { patient, nurse } = visitors
    const page = await opened.open()
    await page.setViewportSize({ width: 1000, height: 900 })
    await logInOn(page, patient.who)
    await page.getByText('1 person looked at your record this week').waitFor()
    const home = (await page.locator('main').textContent()) ?? ''
    for (const text of [/kilograms/, /was due on 5 January 2026/]) assert.match(home, text)
    await takePicture(page, 'console-home')
    const nursePage = await opened.open()
    await nursePage.setViewportSize({ width: 1000, height: 1000 })
    await logInOn(nursePage, nurse.who)
    await show(nursePage, fillIn('patients/{ehr}?kind=bodyweight&period=all', nurse))
    await nursePage.locator('.plot canvas').waitFor()
    assert.match((await nursePage.locator('main').textContent()) ?? '', /Much too high/)
    await takePicture(nursePage, 'console-patient')
  })

  // After the other pages, when the records are no longer recent.
  describe('when they are loaded', () => {
    // The stream of changes tells of recent ones, whose records are rightly read again. Their age follows a clock that
    // moves while somebody writes or a page is open.
    before(async () => {
      const page = await opened.open()
      await logInOn(page, visitors.patient.who)
      await sleep(Math.max(0, createdAt + QUIET_MS - Date.now()))
      await page.context().close()
    })

    for (const role of ROLES)
      describe(`by the ${role}`, () => {
        let page: Page
        before(async () => {
          page = await opened.open()
          await logInOn(page, visitors[role].who)
        })
        after(() => page?.context().close())

        for (const [name, path] of PAGES[role])
          it(`read nothing twice: ${name}`, async () => {
            assert.deepEqual(await findRepeatedReads(page, fillIn(path, visitors[role])), [])
          })
      })
  })
})
