/**
 * The console in Chromium with a processor four times slower: when a page is usable, how long an input waits for its
 * effect (the longest event, as INP counts it), and the longest task while a graph of 5,000 points is drawn and pages of a
 * timeline of 100,000 entries are turned. At the end the bytes of the pages.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { chromium, type Page } from 'playwright-core'
import { type Side, sideDatabaseUri, signInByPathFamily, stopSide } from '../frame/compare-sides.ts'
import { loadMeasurements } from '../measurements/measurement-data.ts'
import { account, launchParseSide, signUp } from '../peers/parse-side.ts'

const SLOW_DOWN = 4
const ENTRIES = 100_000
/** A blood pressure has two lines. */
const POINTS_PER_LINE = 2_500
const ROUNDS = Number(process.env.ROUNDS ?? 5)

const AIMS_MS = { usable: 1500, input: 200, task: 50 }

/** Collects the longest task and the longest event of the page. */
const OBSERVER = `
  globalThis.longest = { task: 0, event: 0 }
  const note = (name) => (list) => {
    for (const { duration } of list.getEntries()) longest[name] = Math.max(longest[name], duration)
  }
  new PerformanceObserver(note('task')).observe({ type: 'longtask', buffered: true })
  new PerformanceObserver(note('event')).observe({ type: 'event', durationThreshold: 16, buffered: true })
`

interface Longest {
  task: number
  event: number
}

const resetLongest = (page: Page) => page.evaluate('longest.task = longest.event = 0')

/** After the next frames, so that the observers have been told. */
const readLongest = async (page: Page): Promise<Longest> => {
  await page.waitForTimeout(300)
  return page.evaluate('({ ...longest })')
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

function report(name: string, values: readonly number[], aim: number): void {
  const [middle, worst] = [median(values), Math.max(...values)].map(Math.round) as [number, number]
  process.stdout.write(
    `${name.padEnd(44)}${String(middle).padStart(8)}${String(worst).padStart(8)}${String(aim).padStart(8)}  ${middle <= aim ? 'reached' : 'missed'}\n`,
  )
}

/** Loads a page anew. @returns milliseconds from the request until `ready` is shown */
async function timeUntil(page: Page, url: string, ready: string): Promise<number> {
  const begun = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator(ready).first().waitFor()
  return performance.now() - begun
}

const HOME = 'main:not(:has(.skeleton)):has-text("mmHg")'
const GRAPH = '.plot canvas'

async function measureRound(page: Page, url: string): Promise<Record<string, number>> {
  const home = await timeUntil(page, `${url}/console/`, HOME)
  await resetLongest(page)
  await page.getByRole('link', { name: 'Measure', exact: true }).click()
  await page.getByRole('main').getByRole('link', { name: 'Blood pressure' }).click()
  await page.locator('input').first().fill('128')
  await page.locator('input').first().press('Tab')
  const measuring = await readLongest(page)

  const overview = await timeUntil(page, `${url}/console/overview?period=all`, GRAPH)
  const drawing = await readLongest(page)
  await resetLongest(page)
  for (const name of ['Week', 'Year', 'All']) await page.getByRole('button', { name, exact: true }).click()
  await page
    .getByRole('button', { name: /Show a table/ })
    .first()
    .click()
  const choosing = await readLongest(page)

  const timeline = await timeUntil(page, `${url}/console/record/timeline`, 'tbody tr')
  await resetLongest(page)
  for (let i = 0; i < 5; i++) {
    const first = await page.locator('tbody td').first().textContent()
    await page.getByRole('button', { name: 'Older' }).click()
    await page
      .locator('tbody td')
      .first()
      .filter({ hasNotText: first ?? '' })
      .waitFor()
  }
  const turning = await readLongest(page)
  return {
    ...{ home, overview, timeline },
    inputMeasure: measuring.event,
    inputOverview: choosing.event,
    inputTimeline: turning.event,
    taskGraph: drawing.task,
    taskOverview: choosing.task,
    taskTimeline: turning.task,
  }
}

/** The console shows the first EHR of somebody, and an account begins with an empty one. */
async function removeOtherEhrs({ url, headers }: Side, kept: string): Promise<void> {
  const { items } = (await (await fetch(`${url}/ehr`, { headers })).json()) as { items: { id: string }[] }
  for (const { id } of items)
    if (id !== kept) await fetch(`${url}/med/ehr/${id}`, { method: 'DELETE', headers })
}

const ROWS: [key: string, name: string, aim: number][] = [
  ['login', 'login page usable', AIMS_MS.usable],
  ['home', 'home usable', AIMS_MS.usable],
  ['overview', 'overview with its graphs', AIMS_MS.usable],
  ['timeline', 'timeline usable', AIMS_MS.usable],
  ['inputMeasure', 'input: open a form, type', AIMS_MS.input],
  ['inputOverview', 'input: choose a period, show a table', AIMS_MS.input],
  ['inputTimeline', 'input: turn pages of the timeline', AIMS_MS.input],
  ['taskGraph', 'longest task: draw the graphs', AIMS_MS.task],
  ['taskOverview', 'longest task: choose a period, show a table', AIMS_MS.task],
  ['taskTimeline', 'longest task: turn pages of the timeline', AIMS_MS.task],
]

/** Measures the console, and prints the median and the worst round beside the aims, in ms. */
export async function benchmarkConsole(): Promise<void> {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  if (!existsSync(executablePath))
    throw new Error(`${executablePath} is missing: install Chromium, or set CHROMIUM`)
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-console-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const side = await launchParseSide('ours', '../server/main.js', engine.uri)
  const uri = sideDatabaseUri(engine.uri, 'ours')
  const { userId } = await signUp(side, uri, account.email)
  const { ehrId } = await loadMeasurements(uri, { userId }, ENTRIES, 1)
  await removeOtherEhrs(await signInByPathFamily(side, account), ehrId)
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const page = await (await browser.newContext({ locale: 'en' })).newPage()
    await page.addInitScript(OBSERVER)
    await page.route('**/summary/medgraph*', (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/points=\d+/, `points=${POINTS_PER_LINE}`),
      }),
    )
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW_DOWN })
    const rounds: Record<string, number>[] = []
    const login = await timeUntil(page, `${side.url}/console/`, 'input[type=password]')
    await page.locator('input[type=email]').fill(account.email)
    await page.locator('input[type=password]').fill(account.password)
    await page.locator('button[type=submit]').click()
    await page.locator(HOME).first().waitFor()
    for (let i = 0; i < ROUNDS; i++) rounds.push(await measureRound(page, side.url))
    process.stdout.write(`ms, ${ROUNDS} rounds, processor ${SLOW_DOWN} times slower\n\n`)
    process.stdout.write(
      `${''.padEnd(44)}${'median'.padStart(8)}${'worst'.padStart(8)}${'aim'.padStart(8)}\n`,
    )
    for (const [key, name, aim] of ROWS)
      report(name, key === 'login' ? [login] : rounds.map((round) => round[key] ?? Number.NaN), aim)
  } finally {
    await browser.close()
    await stopSide(side)
    await engine.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
