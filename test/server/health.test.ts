import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Document } from 'mongodb'
import { parse } from 'yaml'
import { createPatient } from '../harness/care/patients.ts'
import { beforeFirstCommand } from '../harness/service/database-commands.ts'
import { apiKeys, request, service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

const RULES = 'docs/prometheus-rules.yml'
const PROMTOOL = '/usr/bin/promtool'

describe('seen from outside', () => {
  it('reports liveness and readiness to everybody', async () => {
    const live = await request().get('/health/live').expect(200)
    assert.equal(live.headers['x-powered-by'], undefined)
    await request().get('/health/ready').expect(200)
  })

  it('shows requests by route template and status, event-loop lag, database commands and mails', async () => {
    await request().get('/1/classes/Ehr/abcdefghij').set(apiKeys()).expect(401)
    const { text } = await request().get('/metrics').expect(200)
    assert.match(
      text,
      /http_request_duration_seconds_count\{[^}]*route="\/1\/classes\/Ehr\/\{objectId\}"[^}]*status="401"/,
    )
    assert.match(text, /nodejs_eventloop_lag_seconds /)
    assert.match(text, /mongodb_command_duration_seconds_count [1-9]/)
    for (const name of ['mails_waiting', 'mails_oldest_seconds', 'audit_entries'])
      assert.match(text, new RegExp(`^${name} [\\d.e+]+$`, 'm'))
    assert.match(text, /^health_record_service_build_info\{version="[\d.]+",node="v\d+[^"]*"\} 1$/m)
    assert.match(text, /^audit_write_duration_seconds_count \d+$/m)
    assert.match(text, /^requests_refused_total\{reason="code 209"\} \d+$/m)
    for (const outcome of ['sent', 'failed', 'abandoned', 'dropped'])
      assert.match(text, new RegExp(`^mails_total\\{outcome="${outcome}"\\} \\d+$`, 'm'))
    for (const reason of ['wrong', 'locked'])
      assert.match(text, new RegExp(`^logins_failed_total\\{reason="${reason}"\\} \\d+$`, 'm'))
    assert.match(text, /^faults_total \d+$/m)
    assert.doesNotMatch(text, /abcdefghij/)
  })

  it('has the metrics of the alert rules', async () => {
    const { text } = await request().get('/metrics')
    const served = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name))
    const [group] = (parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { expr: string }[] }[] }).groups
    for (const { expr } of group?.rules ?? assert.fail('no rules')) {
      const names = [...expr.replace(/"[^"]*"/g, '').matchAll(/\b(\w+)(?=[{[]| [<>=])/g)].map(
        ([name]) => name,
      )
      assert.ok(names.length > 0, expr)
      for (const name of names)
        assert.ok(name === 'up' || served.has(name.replace(/_(bucket|count)$/, '')), name)
    }
  })

  it('has alert rules that Prometheus accepts, and that report the first failure', async function () {
    if (!existsSync(PROMTOOL)) {
      process.stderr.write(`promtool is not installed (${PROMTOOL}): the alert rules are not checked\n`)
      return this.skip()
    }
    const run = promisify(execFile)
    assert.match((await run(PROMTOOL, ['check', 'rules', RULES])).stdout, /SUCCESS: \d\d rules found/)
    const file = join(mkdtempSync(join(tmpdir(), 'rules-')), 'test.json')
    const alert_rule_test = [
      { eval_time: '2m', alertname: 'DatabaseDown', exp_alerts: [] },
      { eval_time: '4m', alertname: 'DatabaseDown', exp_alerts: [{ exp_labels: {} }] },
    ] as { eval_time: string; alertname: string; exp_alerts: object[] }[]
    const firstFailures = {
      Faults: 'faults_total',
      MailsLost: 'mails_total{outcome="abandoned"}',
      Defect: 'unhandled_rejections_total',
    }
    const input_series = [{ series: 'database_up', values: '1 1 0 0 0' }]
    for (const [alertname, series] of Object.entries(firstFailures)) {
      // The service shows this series from its start.
      const [name = ''] = series.split('{')
      const exp_labels = series.includes('abandoned') ? { outcome: 'abandoned' } : {}
      assert.ok((await request().get('/metrics')).text.includes(`\n${series} `), name)
      input_series.push({ series, values: '0 0 0 1x10' })
      alert_rule_test.push(
        { eval_time: '2m', alertname, exp_alerts: [] },
        { eval_time: '4m', alertname, exp_alerts: [{ exp_labels }] },
      )
    }
    const tests = [{ interval: '1m', input_series, alert_rule_test }]
    writeFileSync(file, JSON.stringify({ rule_files: [resolve(RULES)], evaluation_interval: '1m', tests }))
    await run(PROMTOOL, ['test', 'rules', file])
  })

  it('counts a request as 499 when its client leaves before the response', async () => {
    const count = async (status: number) => {
      const { text } = await request().get('/metrics')
      return Number(
        new RegExp(`_count\\{.*route="/ehr/\\{ehrId\\}/careplan",status="${status}".* (\\d+)`).exec(
          text,
        )?.[1] ?? 0,
      )
    }
    const { ehrId, authToken } = await createPatient()
    const counts = [await count(200), await count(499)] as const
    const client = new AbortController()
    const get = () =>
      fetch(`${service.url}/ehr/${ehrId}/careplan`, {
        headers: { authorization: `Bearer ${authToken}` },
        signal: client.signal,
      }).catch(() => undefined)
    const isCounted = async () => (await count(200)) + (await count(499)) > counts[0] + counts[1]
    const leave = () => {
      client.abort()
      return waitUntil(isCounted)
    }
    const isOfEhr = (command: Document) => JSON.stringify(command).includes(ehrId)
    await beforeFirstCommand(isOfEhr, leave, () => get().then(() => waitUntil(isCounted)))
    assert.deepEqual([await count(200), await count(499)], [counts[0], counts[1] + 1])
  })

  it('counts failed logins of both families', async () => {
    const failed = async () =>
      Number(
        /logins_failed_total\{reason="wrong"\} (\d+)/.exec((await request().get('/metrics')).text)?.[1] ?? 0,
      )
    const before = await failed()
    const body = { email: 'nobody@example.org', password: 'not this one' }
    await request().post('/auth/login/password').send(body).expect(401)
    await request().post('/1/login').set(apiKeys()).send({ username: body.email, password: body.password })
    assert.equal(await failed(), before + 2)
  })

  it("gives every response an id, the caller's own one if it is plain", async () => {
    const { headers } = await request().get('/health/live')
    assert.match(headers['x-request-id'] ?? '', /^[\w-]{8,}$/)
    const plainIdResponse = await request().get('/health/live').set('X-Request-Id', 'trace-12345678')
    assert.equal(plainIdResponse.headers['x-request-id'], 'trace-12345678')
    const oddIdResponse = await request().get('/health/live').set('X-Request-Id', 'a b;c')
    assert.notEqual(oddIdResponse.headers['x-request-id'], 'a b;c')
    for (const id of ['1234567', 'a'.repeat(65)]) {
      const { headers } = await request().get('/health/live').set('X-Request-Id', id)
      assert.notEqual(headers['x-request-id'], id)
    }
  })

  it('sends security headers to browsers', async () => {
    const { headers } = await request().get('/health/live')
    assert.match(headers['content-security-policy'] ?? '', /default-src/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['access-control-allow-origin'], undefined)
  })
})
