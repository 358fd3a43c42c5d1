/**
 * The openEHR REST API compared with that of EHRbase: the same requests to both, on the same compositions. EHRbase must run
 * already; EHRBASE_URL has its URL.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import {
  compareSides,
  createGet,
  createRequest,
  describeVerdict,
  parseSizes,
  postJson,
  type Side,
  signInByPathFamily,
  stopSide,
  type Workload,
} from '../frame/compare-sides.ts'
import { account, grantRole, launchParseSide, signUp } from '../peers/parse-side.ts'
import { createPressureComposition } from './composition-data.ts'
import { AVERAGES, COUNT, HIGH, NEWEST, orderedPage, systolic } from './pressure-queries.ts'

const COMPOSITIONS_PER_EHR = 20
const TEMPLATE_PATH = '/definition/template/adl1.4'
/** Concurrent commits while the services are filled. */
const CONCURRENT_COMMITS = 8

/** A service with the openEHR REST API, and the ids of its data. */
interface OpenEhrSide extends Side {
  /** The base path of the API. */
  base: string
  ehrIds: string[]
  compositions: { ehrId: string; versionUid: string }[]
}

const createQueryRequest = ({ base }: OpenEhrSide, q: string, query_parameters: object = {}): Request =>
  createRequest('POST', `${base}/query/aql`, { q, query_parameters })

const queryEach = (side: OpenEhrSide) => side.ehrIds.map((ehr) => createQueryRequest(side, NEWEST, { ehr }))

const readEach = ({ base, compositions }: OpenEhrSide) =>
  compositions.map(({ ehrId, versionUid }) => createGet(`${base}/ehr/${ehrId}/composition/${versionUid}`))

const commitToEach = ({ base, ehrIds }: OpenEhrSide) =>
  ehrIds.map((ehrId, i) =>
    createRequest('POST', `${base}/ehr/${ehrId}/composition`, createPressureComposition(i % 99, Date.now())),
  )

/** After some thousand requests, neither side becomes faster. */
const warmUpSeconds = 20
const one = { connections: 1, warmUpSeconds }
const eight = { connections: 8, warmUpSeconds }

const queryAll = (q: string): Workload<OpenEhrSide> => ({
  requests: (side) => [createQueryRequest(side, q)],
  ...one,
})

const workloads: Record<string, Workload<OpenEhrSide>> = {
  'newest 10': { requests: queryEach, ...one },
  'newest 10, 8': { requests: queryEach, ...eight },
  read: { requests: readEach, ...one },
  'read, 8': { requests: readEach, ...eight },
  count: queryAll(COUNT),
  'high in a month': queryAll(HIGH),
  'page by systolic': queryAll(orderedPage(systolic)),
  'average by EHR': queryAll(AVERAGES),
  commit: { requests: commitToEach, ...one },
  'commit, 8': { requests: commitToEach, ...eight },
}

/** Creates EHRs and commits compositions to them in turn. */
async function fill(side: OpenEhrSide, items: number): Promise<void> {
  const api = side.url + side.base
  for (let i = 0; i < items / COMPOSITIONS_PER_EHR; i++) {
    const ehrId = randomUUID()
    await send(`${api}/ehr/${ehrId}`, { method: 'PUT', headers: side.headers })
    side.ehrIds.push(ehrId)
  }
  let next = 0
  const commitRest = async () => {
    while (next < items) {
      const i = next++
      const ehrId = side.ehrIds[i % side.ehrIds.length] as string
      const response = await send(`${api}/ehr/${ehrId}/composition`, {
        method: 'POST',
        headers: side.headers,
        body: JSON.stringify(createPressureComposition(i)),
      })
      const versionUid = response.headers.get('etag')?.replaceAll('"', '') ?? ''
      side.compositions.push({ ehrId, versionUid })
      if (i % 500 === 0) process.stderr.write(`\r${side.name}: ${i} of ${items} compositions `)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_COMMITS }, commitRest))
  process.stderr.write('\n')
}

/** @throws Error unless the response is 2xx */
async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response
}

/** Starts our service and registers a system that may query all EHRs. */
async function connectSystem(engineUri: string): Promise<OpenEhrSide> {
  const uri = withDatabase(engineUri, 'ours')
  const side = await launchParseSide('ours', '../server/main.js', engineUri)
  const { userId } = await signUp(side, uri, account.email)
  await grantRole(uri, userId, 'admin')
  const admin = await signInByPathFamily(side, account)
  const system = await postJson(admin, '/auth/system', { name: 'bench', roles: ['analyst', 'modeller'] })
  const ours = { ...side, base: '/openehr/v1', ehrIds: [], compositions: [] }
  return authorize(ours, `${system.id}:${system.clientSecret}`)
}

/** Adds a token of the system, which is valid for a quarter of an hour. */
async function authorize(side: OpenEhrSide, credentials: string): Promise<OpenEhrSide> {
  const response = await send(`${side.url}/auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
    headers: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
  })
  const { access_token } = (await response.json()) as { access_token: string }
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${access_token}` }
  return { ...side, headers }
}

/** Connects to EHRbase and uploads the template of our blood pressures. */
async function connectEhrbase(url: string, ours: OpenEhrSide): Promise<OpenEhrSide> {
  const { origin, pathname } = new URL(url)
  const headers = { 'Content-Type': 'application/json' }
  const { Authorization = '' } = ours.headers
  const path = `${ours.url}${ours.base}${TEMPLATE_PATH}/hrs.bloodpressure.v1`
  const opt = await (await send(path, { headers: { Authorization, Accept: 'application/xml' } })).text()
  const base = pathname.replace(/\/+$/, '')
  const response = await fetch(`${origin}${base}${TEMPLATE_PATH}`, {
    method: 'POST',
    body: opt,
    headers: { 'Content-Type': 'application/xml' },
  })
  if (response.status === 409)
    throw new RangeError('EHRbase has data of a former run. Give it an empty database.')
  if (!response.ok) throw new Error(`EHRbase: ${response.status} ${await response.text()}`)
  return { name: 'EHRbase', url: origin, base, headers, ehrIds: [], compositions: [] }
}

/**
 * @param sizes the number of compositions, one value
 * @throws RangeError without EHRBASE_URL, or if EHRbase already has data
 */
export async function benchmarkEhrbase(sizes: string): Promise<void> {
  const { EHRBASE_URL } = process.env
  if (!EHRBASE_URL)
    throw new RangeError("EHRBASE_URL is missing: the URL of EHRbase's REST API, …/rest/openehr/v1")
  const [items = 0] = parseSizes(sizes, 1000)
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const ours = await connectSystem(engine.uri)
  const ehrbase = await connectEhrbase(EHRBASE_URL, ours)
  for (const side of [ours, ehrbase]) await fill(side, items)
  const figures = await compareSides([ours, ehrbase], workloads)
  for (const [name, [, other]] of figures)
    if (other)
      process.stdout.write(
        `${name}: ours / EHRbase ${other.ratio.toFixed(2)}, aim > 1: ${describeVerdict(other.ratio > 1)}\n`,
      )
  await stopSide(ours)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
