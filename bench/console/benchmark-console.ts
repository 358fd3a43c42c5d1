/**
 * The console in Chromium with a processor four times slower. It prints the compressed size of each page, the time until a
 * page is usable, the longest event of inputs (as INP counts it), and the longest task while a graph of 5,000 points is
 * drawn and pages of a timeline of 100,000 entries are turned. Then the delay until an open page shows a change by
 * another person.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { chromium, type Locator, type Page } from 'playwright-core'
import { type Side, signInByPathFamily, stopSide } from '../frame/compare-sides.ts'
import { loadMeasurements } from '../measurements/measurement-data.ts'
import { account, launchParseSide, signUp } from '../peers/parse-side.ts'
import { measureChangeDelays } from './change-delay.ts'

/** Chromium without windows. With windows it would draw in a further process, by software, on one of two processors. */
const CHROMIUM = '/usr/bin/chromium-headless-shell'
const SLOW_DOWN = 4
const ENTRIES = Number(process.env.ENTRIES ?? 100_000)
/** 5,000 points in all, since a blood pressure has two lines. */
const POINTS_PER_LINE = 2_500
/** Longer than a response of the service and the resulting change of the page. */
const SETTLE_MS = 600
const ROUNDS = Number(process.env.ROUNDS ?? 5)

const AIMS_MS = { usable: 1500, input: 200, task: 50, change: 1000 }

/** The element that each page shows as soon as it is usable. */
const SHOWN = {
  login: 'input[type=password]',
  home: 'main:not(:has(.skeleton)) .cards',
  overview: '.plot canvas',
  timeline: 'tbody tr',
}
type PageName = keyof typeof SHOWN

/**
 * Collects the longest task and the longest event of the page, and logs the time at which the page is usable and painted.
 * It also sets the number of points in requests for graphs. All of this runs in the page, because a driver outside would
 * evaluate scripts of its own there. Intercepting requests would delay them and turn off the cache.
 */
const OBSERVER = `
  globalThis.longest = { task: 0, event: 0 }
  const note = (name) => (list) => {
    for (const { duration } of list.getEntries()) longest[name] = Math.max(longest[name], duration)
  }
  new PerformanceObserver(note('task')).observe({ type: 'longtask', buffered: true })
  new PerformanceObserver(note('event')).observe({ type: 'event', durationThreshold: 16, buffered: true })

  const awaited = new Map(Object.entries(${JSON.stringify(SHOWN)}))
  const tell = (name) => console.debug('usable', name, performance.now())
  new MutationObserver(() => {
    for (const [name, selector] of awaited)
      if (document.querySelector(selector)) {
        awaited.delete(name)
        requestAnimationFrame(() => setTimeout(tell, 0, name))
      }
  }).observe(document, { childList: true, subtree: true })

  const { fetch } = globalThis
  globalThis.fetch = (url, init) =>
    fetch(url.replace(/(?<=medgraph.*points=)\\d+/, '${POINTS_PER_LINE}'), init)
`

interface Longest {
  task: number
  event: number
}

const noLongest = (): Longest => ({ task: 0, event: 0 })

/** Reads the longest task and event, after the observers have got them. */
async function readLongest(page: Page): Promise<Longest> {
  await page.waitForTimeout(SETTLE_MS)
  return page.evaluate('({ ...longest })')
}

/** Clicks by the mouse. Finding the element is not part of the measurement. */
async function measureClick(page: Page, target: Locator, into: Longest): Promise<void> {
  await target.scrollIntoViewIfNeeded()
  const { x, y, width, height } = (await target.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  await page.waitForTimeout(SETTLE_MS)
  await page.evaluate('longest.task = longest.event = 0')
  await page.mouse.click(x + width / 2, y + height / 2)
  const { task, event } = await readLongest(page)
  into.task = Math.max(into.task, task)
  into.event = Math.max(into.event, event)
}

const quantile = (values: readonly number[], q: number): number =>
  Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN)

function writeLine(name: string, ...[middle, high, aim]: (number | string)[]): void {
  const cells = [middle, high, aim].map((one) => String(one).padStart(8))
  process.stdout.write(`${name.padEnd(44)}${cells.join('')}`)
}

function report(name: string, values: readonly number[], aim: number): void {
  const middle = quantile(values, 0.5)
  writeLine(name, middle, Math.round(Math.max(...values)), aim)
  writeVerdict(middle <= aim)
}

const writeVerdict = (isReached: boolean) => process.stdout.write(`  ${isReached ? 'reached' : 'missed'}\n`)

function reportChangeDelays(delays: ReadonlyMap<number, readonly number[]>): void {
  writeLine('\nwritten by somebody else, until it is shown', 'median', 'p95', 'aim')
  process.stdout.write('\n')
  for (const [slowDown, values] of delays) {
    const high = quantile(values, 0.95)
    writeLine(`processor ${slowDown} times slower`, quantile(values, 0.5), high, AIMS_MS.change)
    writeVerdict(high <= AIMS_MS.change)
  }
}

/** Prints the sizes that the build has measured, and their budgets. */
function reportSizes(): void {
  const sizes = JSON.parse(readFileSync('dist/console-sizes.json', 'utf8')) as {
    name: string
    size: number
    budget: number
  }[]
  const toKilobytes = (bytes: number) => (bytes / 1024).toFixed(1)
  writeLine('KB, compressed; a page: in addition to the home page', 'size', '', 'budget')
  process.stdout.write('\n')
  for (const { name, size, budget } of sizes) {
    writeLine(name, toKilobytes(size), '', toKilobytes(budget))
    writeVerdict(size <= budget)
  }
  process.stdout.write('\n')
}

/** Waits until a page is usable. @returns ms since its request */
async function untilUsable(page: Page, name: PageName): Promise<number> {
  const consoleMessage = await page.waitForEvent('console', (message) =>
    message.text().startsWith(`usable ${name} `),
  )
  return Number(consoleMessage.text().split(' ')[2])
}

/** Reloads a page. @returns ms until it is usable */
async function timeUntilUsable(page: Page, name: PageName, url: string): Promise<number> {
  const [time] = await Promise.all([untilUsable(page, name), page.goto(url, { waitUntil: 'commit' })])
  return time
}

async function measureRound(page: Page, url: string): Promise<Record<string, number>> {
  const home = await timeUntilUsable(page, 'home', `${url}/console/`)
  const measuring = noLongest()
  await measureClick(page, page.getByRole('link', { name: 'Measure', exact: true }), measuring)
  await measureClick(page, page.getByRole('main').getByRole('link', { name: 'Blood pressure' }), measuring)
  await measureClick(page, page.locator('input').first(), measuring)
  await page.keyboard.type('128')
  await page.keyboard.press('Tab')
  measuring.event = Math.max(measuring.event, (await readLongest(page)).event)

  const overview = await timeUntilUsable(page, 'overview', `${url}/console/overview?period=all`)
  const drawing = await readLongest(page)
  const choosing = noLongest()
  for (const name of ['Week', 'Year', 'All'])
    await measureClick(page, page.getByRole('button', { name, exact: true }), choosing)
  await measureClick(page, page.getByRole('button', { name: /Show a table/ }).first(), choosing)

  const timeline = await timeUntilUsable(page, 'timeline', `${url}/console/record/timeline`)
  const turning = noLongest()
  for (let i = 0; i < 5; i++) await measureClick(page, page.getByRole('button', { name: 'Older' }), turning)
  return {
    home,
    overview,
    timeline,
    inputMeasure: measuring.event,
    inputOverview: choosing.event,
    inputTimeline: turning.event,
    taskGraph: drawing.task,
    taskOverview: choosing.task,
    taskTimeline: turning.task,
  }
}

/** The console shows a user's first EHR, which is empty in a new account. */
async function removeOtherEhrs({ url, headers }: Side, ehrId: string): Promise<void> {
  const { items } = (await (await fetch(`${url}/ehr`, { headers })).json()) as { items: { id: string }[] }
  for (const { id } of items)
    if (id !== ehrId) await fetch(`${url}/med/ehr/${id}`, { method: 'DELETE', headers })
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

/** Prints the median and the worst round with the aims, in ms. */
export async function benchmarkConsole(): Promise<void> {
  const executablePath = process.env.CHROMIUM ?? CHROMIUM
  if (!existsSync(executablePath))
    throw new Error(`${executablePath} is missing: install Debian's chromium-headless-shell, or set CHROMIUM`)
  reportSizes()
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-console-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const side = await launchParseSide('ours', '../server/main.js', engine.uri)
  const uri = withDatabase(engine.uri, 'ours')
  const { userId } = await signUp(side, uri, account.email)
  const patient = await loadMeasurements(uri, { userId }, ENTRIES, 1)
  await removeOtherEhrs(await signInByPathFamily(side, account), patient.ehrId)
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const page = await (await browser.newContext({ locale: 'en' })).newPage()
    await page.addInitScript(OBSERVER)
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW_DOWN })
    const rounds: Record<string, number>[] = []
    const login = await timeUntilUsable(page, 'login', `${side.url}/console/`)
    await page.locator('input[type=email]').fill(account.email)
    await page.locator('input[type=password]').fill(account.password)
    await Promise.all([untilUsable(page, 'home'), page.locator('button[type=submit]').click()])
    for (let i = 0; i < ROUNDS; i++) rounds.push(await measureRound(page, side.url))
    process.stdout.write(`ms, ${ROUNDS} rounds, processor ${SLOW_DOWN} times slower\n\n`)
    writeLine('', 'median', 'worst', 'aim')
    process.stdout.write('\n')
    for (const [key, name, aim] of ROWS)
      report(name, key === 'login' ? [login] : rounds.map((round) => round[key] ?? Number.NaN), aim)
    // The first page would also read the change.
    await page.goto('about:blank')
    reportChangeDelays(await measureChangeDelays(page.context(), side, uri, patient))
  } finally {
    await browser.close()
    await stopSide(side)
    await engine.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
