/**
 * The class family against a bare Parse Server with the same options, classes and engine: what our checks, triggers
 * and headers cost. Both run all the time; they are asked in turn, round by round, so that the machine's moods
 * meet both.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon, { type Request } from 'autocannon'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../server/embedded-mongo/index.ts'

const rounds = Number(process.env.ROUNDS ?? 5)
const seconds = Number(process.env.SECONDS ?? 3)
const connections = 24
const preloaded = 400

const keys = {
  APPLICATION_ID: 'bench-application-id',
  REST_API_KEY: 'bench-rest-api-key-1',
  JAVASCRIPT_KEY: 'bench-javascript-key',
  MASTER_KEY: 'bench-master-key-001',
}
const account = { username: 'bench@example.org', email: 'bench@example.org', password: 'a long password' }

interface Side {
  name: string
  url: string
  child: ChildProcess
  headers: Record<string, string>
  carePlanId: string
  ehrId: string
  ids: string[]
}

async function startSide(name: string, script: string, port: number, mongodbUri: string): Promise<Side> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [], {
    env: {
      ...process.env,
      ...keys,
      PORT: String(port),
      MONGODB_URI: mongodbUri,
      LOG_LEVEL: 'warn',
      LOGIN_ATTEMPTS: '1000',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const url = `http://127.0.0.1:${port}`
  await answering(`${url}/1/users`)
  const headers = {
    'X-Parse-Application-Id': keys.APPLICATION_ID,
    'X-Parse-REST-API-Key': keys.REST_API_KEY,
    'Content-Type': 'application/json',
  }
  return { name, url, child, headers, carePlanId: '', ehrId: '', ids: [] }
}

async function answering(url: string): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${url} does not answer`)
}

async function post(side: Side, path: string, body: object): Promise<Record<string, string>> {
  const answer = await fetch(`${side.url}${path}`, {
    method: 'POST',
    headers: side.headers,
    body: JSON.stringify(body),
  })
  const json = (await answer.json()) as Record<string, string>
  if (!answer.ok) throw new Error(`${side.name} ${path}: ${JSON.stringify(json)}`)
  return json
}

/** A user, an EHR, a care plan and some blood pressures; the bare side gets from us what our triggers would set. */
async function prepare(side: Side, mongodbUri: string): Promise<void> {
  const { objectId: userId = '' } = await post(side, '/1/users', account)
  const client = await MongoClient.connect(mongodbUri)
  await client
    .db()
    .collection('_User')
    .updateOne({ username: account.username }, { $set: { emailVerified: true } })
  await client.close()
  const { sessionToken = '' } = await post(side, '/1/login', account)
  side.headers['X-Parse-Session-Token'] = sessionToken
  side.ehrId = (await post(side, '/1/classes/Ehr', { subjectId: userId })).objectId ?? ''
  side.carePlanId =
    (await post(side, '/1/classes/CarePlan', { ehrId: side.ehrId, name: 'bench' })).objectId ?? ''
  for (let i = 0; i < preloaded; i++) {
    const { objectId = '' } = await post(side, '/1/classes/BloodPressure', bloodPressure(side, i))
    side.ids.push(objectId)
  }
}

const bloodPressure = ({ ehrId, carePlanId }: Side, i: number) => ({
  ehrId,
  carePlanId,
  timestamp: { __type: 'Date', iso: new Date(1_700_000_000_000 + i * 60_000).toISOString() },
  systolic: 100 + (i % 60),
  systolicUnit: 'mm[Hg]',
  diastolic: 60 + (i % 30),
  diastolicUnit: 'mm[Hg]',
})

/** The four requests, each over many objects. */
const workloads: Record<string, (side: Side) => Request[]> = {
  'GET one': ({ ids }) => ids.map((id) => ({ method: 'GET', path: `/1/classes/BloodPressure/${id}` })),
  'list of 20': ({ carePlanId }) => {
    const where = encodeURIComponent(JSON.stringify({ carePlanId }))
    return [{ method: 'GET', path: `/1/classes/BloodPressure?where=${where}&order=-timestamp&limit=20` }]
  },
  POST: (side) =>
    side.ids.map((_, i) => ({
      method: 'POST',
      path: '/1/classes/BloodPressure',
      body: JSON.stringify(bloodPressure(side, i)),
    })),
  PUT: ({ ids }) =>
    ids.map((id, i) => ({
      method: 'PUT',
      path: `/1/classes/BloodPressure/${id}`,
      body: JSON.stringify({ comment: `corrected ${i}` }),
    })),
}

async function measure(side: Side, requests: Request[]): Promise<number> {
  const result = await autocannon({
    url: side.url,
    connections,
    duration: seconds,
    headers: side.headers,
    requests,
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${side.name}: ${result.non2xx} refused, ${result.errors} failed`)
  return result.requests.average
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const engine = await startEmbeddedMongo({ dataDir })
const sides = [
  await startSide('ours', '../server/main.js', 21_337, `${engine.uri.replace(/\/+$/, '')}/ours`),
  await startSide('bare', './bare-parse-server.js', 21_338, `${engine.uri.replace(/\/+$/, '')}/bare`),
]
for (const side of sides) await prepare(side, `${engine.uri.replace(/\/+$/, '')}/${side.name}`)

process.stdout.write(
  `requests/s, ${connections} connections, median of ${rounds} rounds of ${seconds} s each\n\n`,
)
process.stdout.write(
  `${'workload'.padEnd(12)}${'ours'.padStart(8)}${'bare'.padStart(8)}${'ratio'.padStart(8)}\n`,
)
for (const [name, requestsOf] of Object.entries(workloads)) {
  const figures = sides.map((): number[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [i, side] of sides.entries()) figures[i]?.push(await measure(side, requestsOf(side)))
  const [ours = 0, bare = 0] = figures.map(median)
  const row = [
    name.padEnd(12),
    ours.toFixed(0).padStart(8),
    bare.toFixed(0).padStart(8),
    (ours / bare).toFixed(2).padStart(8),
  ]
  process.stdout.write(`${row.join('')}\n`)
}

for (const { child } of sides) {
  child.kill('SIGTERM')
  await once(child, 'exit')
}
await engine.stop()
rmSync(dataDir, { recursive: true, force: true })
