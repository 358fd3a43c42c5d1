import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Log } from '../../../server/telemetry/log.ts'
import { createMetrics, type Metrics, metricsRoute, observeGauge } from '../../../server/telemetry/metrics.ts'
import { observeRequests } from '../../../server/telemetry/observe-requests.ts'
import { waitUntil } from '../../harness/wait.ts'

interface Line {
  level: string
  method: string
  route: string
  status: number
  reason?: string
}

describe('the observation of requests', () => {
  let metrics: Metrics
  const lines: Line[] = []
  const log = Object.fromEntries(
    ['debug', 'info', 'warn'].map((level) => [
      level,
      ({ method, route, status, reason }: Line) =>
        lines.push({ level, method, route, status, ...(reason && { reason }) }),
    ]),
  ) as unknown as Log
  let url: string
  let close: () => void
  beforeEach(async () => {
    lines.length = 0
    metrics = createMetrics()
    const app = express()
    app.get('/metrics', metricsRoute(metrics))
    app.use('/quiet', observeRequests(log, metrics, false))
    app.use(/^(?!\/quiet)/, observeRequests(log, metrics, true))
    app.get('/stream', (_req, res) => {
      res.locals.route = '/stream'
      res.type('text/event-stream').send('data: x\n\n')
    })
    app.use((req, res) => {
      const [, status = '200', refusal] = /\/(\d{3})(?:-(.*))?$/.exec(req.path) ?? []
      if (refusal) res.locals.refusal = refusal
      res.locals.route = req.query.route
      res.sendStatus(Number(status))
    })
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    close = () => void server.close()
  })
  afterEach(() => close())

  const lineOf = async (path: string): Promise<Line | undefined> => {
    await (await fetch(url + path)).text()
    await waitUntil(() => lines.length > 0)
    return lines.pop()
  }
  const readMetrics = async (): Promise<string> => {
    const response = await fetch(`${url}/metrics`)
    assert.equal(response.status, 200)
    return response.text()
  }

  it('logs method, route template, status and reason, and no path', async () => {
    const seen = { level: 'info', method: 'GET' }
    assert.deepEqual(await lineOf('/ehr/p0LmNb72Qw/200?route=/ehr/{ehrId}'), {
      ...seen,
      route: '/ehr/{ehrId}',
      status: 200,
    })
    assert.deepEqual(await lineOf('/ehr/p0LmNb72Qw/404'), {
      ...seen,
      route: 'unmatched',
      status: 404,
      reason: '404',
    })
    assert.equal((await lineOf('/422-rule-violated'))?.reason, 'rule-violated')
    assert.doesNotMatch(await readMetrics(), /p0LmNb72Qw/)
  })

  it('logs failures as warnings, and other requests only if configured', async () => {
    const levels: unknown[] = []
    for (const path of ['/200', '/404', '/503', '/quiet/200', '/quiet/404', '/quiet/500'])
      levels.push((await lineOf(path))?.level)
    assert.deepEqual(levels, ['info', 'info', 'warn', 'debug', 'debug', 'warn'])
  })

  it('counts responses with 500 as faults, and refusals by reason', async () => {
    const count = async (series: string) =>
      Number(
        (await readMetrics())
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')[1] ?? 0,
      )
    for (const path of ['/500', '/503', '/400-invalid-input', '/400-invalid-input', '/200'])
      await lineOf(path)
    assert.equal(await count('faults_total'), 1)
    assert.equal(await count('requests_refused_total{reason="invalid-input"}'), 2)
    assert.equal(await count('requests_refused_total{reason="200"}'), 0)
  })

  it('measures no stream of events, which lasts as long as its reader wants', async () => {
    await lineOf('/stream')
    await lineOf('/200?route=/measured')
    const text = await readMetrics()
    assert.match(text, /_count\{method="GET",route="\/measured",status="200"\} 1/)
    assert.doesNotMatch(text, /route="\/stream"/)
  })

  it('shows no gauge that cannot be read', async () => {
    let figure: number | undefined | Error
    observeGauge(metrics, { name: 'waiting', help: 'Number of things that wait' }, async () => {
      if (figure instanceof Error) throw figure
      return figure
    })
    for (const [value, shown] of [
      [7, '7'],
      [undefined, undefined],
      [0, '0'],
      [new Error('no database'), undefined],
    ] as const) {
      figure = value
      assert.equal(/^waiting (\d+)$/m.exec(await readMetrics())?.[1], shown)
    }
  })
})
