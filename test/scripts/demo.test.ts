import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type Client, createClient } from 'health-record-client'
import { freePort } from '../harness/service/port.ts'
import { createDataDir } from '../harness/service/service-process.ts'
import { isFullSize } from '../harness/test-size.ts'

const DAYS_OF_YEAR = 365

/** Runs the script with a folder of its own for temporary files. */
function runDemo(port: number) {
  const folder = createDataDir()
  const child = spawn(process.execPath, ['scripts/demo.mjs'], {
    env: { PATH: process.env.PATH, PORT: String(port), TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ready = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      if (output.includes('Ctrl+C ends the demo')) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    ended.then((code) => reject(new Error(`ended with ${code}: ${output}`)))
  })
  ready.catch(() => {})
  return { child, folder, ended, ready, output: () => output }
}

describe('npm run demo', function suite() {
  this.timeout(isFullSize ? 240_000 : 60_000)
  let demo: ReturnType<typeof runDemo>
  let url: string
  before(async () => {
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    demo = runDemo(port)
    await demo.ready
  })
  after(() => end(demo.child))

  const end = (child: ChildProcess) => child.exitCode === null && child.kill('SIGTERM')

  /** Logs in with what the demo prints. @returns the client, and the EHR that somebody sees first */
  async function logIn(name: string) {
    const email = demo.output().match(new RegExp(`(\\S+@\\S+) +${name}`))?.[1] ?? ''
    const password = demo.output().match(/password: (.+)/)?.[1] ?? ''
    const client = createClient({ url })
    const { mvUid } = await client.logIn({ email, password })
    const [ehr] = (await client.GET('/ehr')).data.items
    return { client, mvUid, ehrId: ehr?.id ?? '' }
  }

  /** Lists the open tasks of a record, and asserts that some are due today and some are late. */
  async function assertTasks(client: Client, ehrId: string): Promise<Set<string>> {
    const { items } = (await client.GET('/ehr/{ehrId}/careplan/todo', { params: { path: { ehrId } } })).data
    const today = new Date().toISOString().slice(0, 10)
    const plans = new Set(items.map(({ carePlanId }) => carePlanId))
    for (const plan of plans) {
      const dates = items.flatMap(({ carePlanId, dueDate }) => (carePlanId === plan && dueDate) || [])
      assert.ok(dates.includes(today) && dates.some((date) => date < today), String(dates))
    }
    return plans
  }

  it('explains itself', () => {
    const { status, stdout } = spawnSync(process.execPath, ['scripts/demo.mjs', '--help'], {
      encoding: 'utf8',
    })
    assert.equal(status, 0)
    assert.match(stdout, /Usage: npm run demo[\s\S]*PORT/)
  })

  it('has a patient with a year of measurements, two plans with tasks, messages and documents', async () => {
    const { client, ehrId } = await logIn('Anna de Vries')
    const params = { path: { ehrId } }
    let days = 0
    for await (const _ of client.list('/ehr/{ehrId}/procedure/bloodglucose', { params })) days += 1
    assert.equal(days, DAYS_OF_YEAR)
    const plans = await assertTasks(client, ehrId)
    assert.equal(plans.size, 2)
    const documents = (await client.GET('/med/ehr/{ehrId}/composition', { params })).data.items
    assert.deepEqual(new Set(documents.map(({ templateId }) => templateId)), new Set(['practice_visit.v1']))
    assert.ok(documents.length > 1)
    const topics = await Promise.all(
      [...plans].map((id) => client.GET('/chat/{type}/{id}', { params: { path: { type: 'careplan', id } } })),
    )
    const tablets = topics.flatMap(({ data }) => data.items).find(({ title }) => title === 'The new tablets')
    assert.equal(tablets?.unread, 1)
  })

  it('has two nurses with alerts, of which one has taken one and the other may take one', async () => {
    const [bo, kim] = await Promise.all(['Nurse Bo', 'Nurse Kim'].map(logIn))
    assert.ok(bo && kim)
    const [annas] = (await bo.client.GET('/worklist')).data.items
    assert.ok(annas)
    assert.deepEqual([annas.name, annas.taken], ['Anna de Vries', 1])
    const alert = annas.openAlerts.find(({ takenBy }) => takenBy === null)
    const params = { path: { ehrId: annas.ehrId, alertId: alert?.id ?? '' } }
    const response = await kim.client.POST('/ehr/{ehrId}/alert/{alertId}/handle', {
      params,
      body: { action: 'TAKE' },
    })
    assert.equal(response.data.takenBy, kim.mvUid)
    const names = (await kim.client.GET('/worklist')).data.items.map(({ name }) => name)
    assert.deepEqual(new Set(names), new Set(['Anna de Vries', 'Emma Smith']))
  })

  it('has a parent who acts for a child, with measurements and messages by the parent', async () => {
    const [parent, child] = await Promise.all(['Peter Smith', 'Emma Smith'].map(logIn))
    assert.ok(parent && child)
    const helping = await parent.client.GET('/profile/{mvUid}/helping', {
      params: { path: { mvUid: parent.mvUid } },
    })
    const [{ name, relation, state } = {}] = helping.data.items
    assert.deepEqual([name, relation, state], ['Emma Smith', 'PARENT', 'ACTIVE'])
    const [plan = ''] = await assertTasks(child.client, child.ehrId)
    const params = { path: { ehrId: child.ehrId } }
    const measured = (await child.client.GET('/ehr/{ehrId}/procedure/oxygensaturation', { params })).data
    assert.ok(measured.items.length > 20)
    const topics = await child.client.GET('/chat/{type}/{id}', {
      params: { path: { type: 'careplan', id: plan } },
    })
    const [{ createdBy, onBehalfOf } = {}] = topics.data.items
    assert.deepEqual([createdBy?.name, onBehalfOf?.name], ['Peter Smith', 'Emma Smith'])
  })

  it('has a physician, an analyst who may query, and an administrator', async () => {
    const [doctor, analyst, administrator] = await Promise.all(
      ['Dr Jansen', 'Robin, analyst', 'Alex Admin'].map(logIn),
    )
    assert.ok(doctor && analyst && administrator)
    assert.equal((await doctor.client.GET('/ehr')).data.items.length, 3)
    const q = 'SELECT COUNT(*) AS documents FROM EHR e CONTAINS COMPOSITION c'
    const { data } = await analyst.client.GET('/med/aql', { params: { query: { q } } })
    assert.ok(Number((data.rows as number[][])[0]?.[0]) > 0)
    const accounts = (await administrator.client.GET('/auth/account')).data.items
    assert.ok(accounts.length >= 8)
  })

  it('does not touch another service on its port, and says that it failed', async () => {
    const port = Number(new URL(url).port)
    const second = runDemo(port)
    assert.equal(await second.ended, 1)
    assert.match(second.output(), /The demo failed/)
    assert.deepEqual(readdirSync(second.folder), [])
  })

  it('removes its data at the end', async () => {
    end(demo.child)
    assert.equal(await demo.ended, 0)
    assert.deepEqual(readdirSync(demo.folder), [])
  })
})
