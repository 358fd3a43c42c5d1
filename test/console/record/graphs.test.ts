import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { HOUR_MS } from '../../../schemas/time/durations.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'
import { assertNoFaults, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

type Opened = ReturnType<typeof useConsoleBrowser>

interface DrawnText {
  text: string
  align: string
  colour: string
}

/** Notes each text that is written into a canvas. */
const noteTexts = `
  globalThis.drawn = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawn.push({ text, align: this.textAlign, colour: this.fillStyle })
    return fillText.call(this, text, ...rest)
  }`

const readDrawn = (page: Page): Promise<DrawnText[]> => page.evaluate('drawn')

/** Does something that draws the graph again. @returns the texts of the new drawing */
async function drawAgain(page: Page, act: () => Promise<unknown>): Promise<DrawnText[]> {
  await page.evaluate('drawn.length = 0')
  await act()
  await waitUntil(async () => (await readDrawn(page)).length > 0)
  return readDrawn(page)
}

const coloursOf = (texts: readonly DrawnText[]): string[] => [...new Set(texts.map(({ colour }) => colour))]

async function createTemperatures(patient: Patient, hoursAgo: readonly number[]): Promise<void> {
  const carePlanId = await createPlan(patient)
  const items = hoursAgo.map((hours, i) => ({
    kind: 'bodytemperature',
    carePlanId,
    temperature: 36.95 + i / 100,
    temperatureUnit: 'Cel',
    timestamp: new Date(Date.now() - hours * HOUR_MS).toISOString(),
  }))
  assertStatus(await patient.call('POST', 'procedure/batch', { items }))
}

/** The graphs of somebody with one old temperature, in Amsterdam. */
async function openGraphs(opened: Opened, language: 'en' | 'nl', query: string): Promise<Page> {
  const patient = await createPatient()
  const carePlanId = await createPlan(patient)
  const timestamp = '2025-01-05T07:42:03.696Z'
  const temperature = { temperature: 37.25, temperatureUnit: 'Cel', timestamp, carePlanId }
  assertStatus(await patient.call('POST', 'procedure/bodytemperature', temperature), 201)
  const page = await opened.open({ language, timezoneId: 'Europe/Amsterdam' })
  await logInOn(page, patient)
  await goTo(page, `overview?${query}`)
  return page
}

/** Saves the table of a graph. @returns the text of the file */
async function saveTable(page: Page): Promise<string> {
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: /spreadsheets|rekenblad/ }).click()
  return readFileSync(await (await saving).path(), 'utf8')
}

describe('the graphs of the console', () => {
  const opened = useConsoleBrowser()
  let page: Page
  before(async () => {
    const patient = await createPatient()
    await createTemperatures(patient, [72, 48, 24, -20])
    page = await opened.open()
    await logInOn(page, patient)
    await page.addInitScript(noteTexts)
    await page.setViewportSize({ width: 1200, height: 800 })
    await page.goto(`${service.url}/console/overview?period=all`)
    await page.locator('.plot canvas').waitFor()
  })
  after(() => assertNoFaults(page))

  it('are as wide as their place, also after it has become narrower or wider', async () => {
    const isAsWide = `(() => {
      const place = document.querySelector('.plot')
      return place.clientWidth === place.querySelector('.uplot').clientWidth && place.scrollWidth === place.clientWidth
    })()`
    for (const width of [1200, 360, 1200]) {
      await page.setViewportSize({ width, height: 800 })
      await waitUntil(() => page.evaluate(isAsWide))
    }
  })

  it('write small differences in full, and the names of areas beside the axis', async () => {
    const texts = await readDrawn(page)
    const labels = texts.filter(({ text }) => /^3[67]/.test(text)).map(({ text }) => text)
    assert.ok(labels.includes('36.95') || labels.includes('36.96'), labels.join())
    assert.deepEqual(
      [...new Set(texts.filter(({ text }) => text === 'Normal').map(({ align }) => align))],
      ['left'],
    )
    assert.match((await page.locator('figure').textContent()) ?? '', /Lowest 36\.95, highest 36\.98/)
  })

  it('have their unit at the axis', async () => {
    assert.ok((await readDrawn(page)).some(({ text }) => text === '°C'))
  })

  it('show a value that is ahead of the clock', async () => {
    assert.match((await page.locator('figure').textContent()) ?? '', /4 values/)
  })

  it('are on paper with the chosen period, and without forms', async () => {
    await page.emulateMedia({ media: 'print' })
    assert.ok(await page.getByText('All', { exact: true }).isVisible())
    assert.ok(!(await page.getByText('Month', { exact: true }).isVisible()))
    await page.emulateMedia({ media: 'screen' })
  })

  it('leave out the grid if the period has no values', async () => {
    const other = await openGraphs(opened, 'en', 'period=week')
    await other.getByText('no values in this period').waitFor()
    assert.equal(await other.locator('.plot, figure button').count(), 0)
  })

  const FILES = {
    en: '\ufeff"Time","Temperature (°C)"\r\n2025-01-05 08:42,37.25',
    nl: '\ufeff"Tijd";"Temperatuur (°C)"\r\n2025-01-05 08:42;37,25',
  } as const
  for (const [language, file] of Object.entries(FILES) as ['en' | 'nl', string][])
    it(`are saved with local times and numbers as spreadsheets expect them: ${language}`, async () => {
      const other = await openGraphs(opened, language, 'period=all')
      await other.getByRole('button', { name: /table|Tabel/ }).click()
      assert.equal(await saveTable(other), file)
    })

  it('have the colours of the theme after it changes, and black text on paper', async () => {
    const light = coloursOf(await readDrawn(page))
    const dark = coloursOf(await drawAgain(page, () => page.emulateMedia({ colorScheme: 'dark' })))
    assert.notDeepEqual(dark, light)
    const printed = await drawAgain(page, () => page.evaluate("dispatchEvent(new Event('beforeprint'))"))
    assert.deepEqual(coloursOf(printed), ['#000000'])
    const after = await drawAgain(page, () => page.evaluate("dispatchEvent(new Event('afterprint'))"))
    assert.deepEqual(coloursOf(after), dark)
  })
})
