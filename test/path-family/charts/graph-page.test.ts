import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { collectFaults, useBrowser } from '../../harness/browser/browser.ts'
import { createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'

const require = createRequire(import.meta.url)
const library = require.resolve('echarts/dist/echarts.min.js')
const DAYS = 90
const DAY = 86_400_000
const start = Date.UTC(2026, 0, 1, 8)

/** Draws the response unchanged: its points and bands go into the chart directly. */
const drawing = `
fetch('/graph').then((answer) => answer.json()).then((graph) => {
  const chart = echarts.init(document.querySelector('#chart'))
  const colours = ['#e8f5e9', '#f1f8e9', '#fffde7', '#fff3e0', '#ffe0b2', '#ffccbc']
  chart.setOption({
    animation: false,
    legend: {},
    xAxis: { type: 'time' },
    yAxis: graph.axes.map(({ label, unitLabel, min, max }) => ({ name: label + ' (' + unitLabel + ')', min, max })),
    dataset: graph.series.map(({ points }) => ({ source: points })),
    series: graph.series.map(({ label, axis, bands }, i) => ({
      name: label,
      type: 'line',
      showSymbol: false,
      yAxisIndex: graph.axes.findIndex(({ id }) => id === axis),
      datasetIndex: i,
      encode: { x: 'x', y: 'y' },
      markArea: i > 0 ? undefined : {
        data: bands.map(({ label, from, to }, at) => [
          { name: label, yAxis: from, itemStyle: { color: colours[at] } }, { yAxis: to },
        ]),
      },
      markLine: i > 0 ? undefined : { data: graph.annotations.map(({ x, label }) => ({ xAxis: x, name: label })) },
    })),
  })
  const drawn = graph.series.map((_, i) => chart.getModel().getSeriesByIndex(i).getData().count())
  document.body.dataset.drawn = JSON.stringify(drawn)
})`

const html = `<!doctype html><html lang="en"><title>Graph</title><style>#chart { width: 1000px; height: 500px }</style>
<div id="chart"></div><script src="/echarts.js"></script><script src="/drawing.js"></script></html>`

describe('the graph of an EHR, drawn by ECharts', () => {
  const browser = useBrowser()
  let server: Server
  let graph: { series: { points: object[] }[]; annotations: object[] }
  before(async () => {
    const patient = await createPatient()
    const carePlanId = await createPlan(patient)
    assertStatus(await patient.call('PUT', `careplan/${carePlanId}/thresholds`, { bloodpressure: 'esc2018' }))
    for (let day = 0; day < DAYS; day++) {
      const systolic = day === 60 ? 186 : Math.round(128 + 8 * Math.sin(day / 6) + (day % 3))
      const pressure = { systolic, systolicUnit: 'mmHg', diastolic: 78, diastolicUnit: 'mmHg' }
      const timestamp = new Date(start + day * DAY).toISOString()
      assertStatus(
        await patient.call('POST', 'procedure/bloodpressure', { carePlanId, timestamp, ...pressure }),
        201,
      )
    }
    graph = assertStatus(await patient.call('GET', 'summary/medgraph?points=60'))
    const pages: Record<string, [string, string | Buffer]> = {
      '/': ['text/html', html],
      '/graph': ['application/json', JSON.stringify(graph)],
      '/echarts.js': ['text/javascript', readFileSync(library)],
      '/drawing.js': ['text/javascript', drawing],
    }
    server = createServer(({ url = '' }, response) => {
      const [type, body] = pages[url] ?? ['text/plain', '']
      response.setHeader('content-type', type)
      response.setHeader('content-security-policy', "script-src 'self'")
      response.end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  after(() => server?.close())

  it('is drawn without changes, under a strict policy for scripts', async () => {
    const page = await browser().newPage()
    const faults: string[] = []
    collectFaults(page, faults)
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    await page.waitForSelector('body[data-drawn]')
    const drawn = JSON.parse((await page.getAttribute('body', 'data-drawn')) ?? '')
    assert.deepEqual(
      drawn,
      graph.series.map(({ points }) => points.length),
    )
    assert.deepEqual([drawn.length, Number(drawn[0]) > 55, graph.annotations.length], [2, true, 1])
    assert.deepEqual(
      faults.filter((text) => !text.includes('favicon')),
      [],
    )
    if (process.env.SCREENSHOTS) {
      mkdirSync(process.env.SCREENSHOTS, { recursive: true })
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/graph.png` })
    }
  })
})
