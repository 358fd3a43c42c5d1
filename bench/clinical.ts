/**
 * Care plans with goals and tasks at several sizes: our service with auditing, compared with (A) a handwritten service with
 * Express, jose and the driver, and (B) a bare Parse Server with the same objects, all on one engine. The list has the
 * open tasks of an EHR by due date. Two things differ: Parse shows a plan without its goals and tasks, and our writes add
 * history, roles of a new plan and audit in the same transaction.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import { ITEMS_PER_EHR, type LoadedIds, loadClinicalRecords } from './frame/clinical-data.ts'
import {
  compareSides,
  createGet,
  createRequest,
  describeVerdict,
  type Figures,
  measureGrowth,
  parseSizes,
  type Side,
  signIn,
  stopSide,
} from './frame/compare-sides.ts'
import { startExpressSide } from './peers/express-side.ts'
import { account, startParseSide } from './peers/parse-side.ts'

/** A side with its four kinds of requests. */
interface ClinicalSide extends Side {
  /** The path for logging in; absent if the side has a session. */
  login?: string
  getPlan: Request[]
  listTasks: Request[]
  update: Request[]
  create: Request[]
}

/** The minimal ratio to the rate of the handwritten service. */
const aims: Record<string, number> = { 'GET plan': 0.6, 'list of 100': 0.6, update: 0.5, create: 0.5 }
const MAX_GROWTH = 1.3
const plan = { name: 'Lower blood pressure', description: 'Below 140/90 by the summer', notes: 'At home' }

/** The requests to the sides that have paths for the resources. */
const createPathRequests = (base: string, { ehrIds, filledIds, plans }: LoadedIds) => ({
  getPlan: plans.map(({ id, ehrId }) => createGet(`${base}/${ehrId}/careplan/${id}`)),
  listTasks: filledIds.map((ehrId) => createGet(`${base}/${ehrId}/careplan/todo?limit=100`)),
  update: plans.map(({ id, ehrId }, i) =>
    createRequest('PUT', `${base}/${ehrId}/careplan/${id}`, { ...plan, notes: `corrected ${i}` }),
  ),
  create: ehrIds.map((ehrId) => createRequest('POST', `${base}/${ehrId}/careplan`, plan)),
})

async function startOurs(engineUri: string, items: number): Promise<ClinicalSide> {
  const side = await startParseSide('ours', '../server/main.js', engineUri)
  const loaded = await loadClinicalRecords(withDatabase(engineUri, 'ours'), 'ours', side.userId, items)
  return { ...side, login: '/auth/login/password', ...createPathRequests('/med', loaded) }
}

async function startBareExpress(engineUri: string, items: number): Promise<ClinicalSide> {
  const side = await startExpressSide(engineUri)
  const loaded = await loadClinicalRecords(withDatabase(engineUri, 'express'), side.name, side.userId, items)
  return { ...side, login: '/login', ...createPathRequests(`/med/${side.userId}`, loaded) }
}

async function startBareParse(engineUri: string, items: number): Promise<ClinicalSide> {
  const side = await startParseSide('parse', './peers/bare-parse-server.js', engineUri)
  const name = 'B: Parse'
  const loaded = await loadClinicalRecords(withDatabase(engineUri, 'parse'), name, side.userId, items)
  const openOf = (ehrId: string) => encodeURIComponent(JSON.stringify({ ehrId, status: 'ACTIVE' }))
  const at = '/1/classes/CarePlan'
  return {
    ...side,
    name,
    getPlan: loaded.plans.map(({ id }) => createGet(`${at}/${id}`)),
    listTasks: loaded.filledIds.map((ehrId) =>
      createGet(`/1/classes/Task?where=${openOf(ehrId)}&order=dueDate&limit=100`),
    ),
    update: loaded.plans.map(({ id }, i) =>
      createRequest('PUT', `${at}/${id}`, { ...plan, notes: `corrected ${i}` }),
    ),
    create: loaded.ehrIds.map((ehrId) => createRequest('POST', at, { ...plan, ehrId, status: 'ACTIVE' })),
  }
}

async function measureItems(items: number): Promise<Map<string, Figures[]>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir, port: 0 })
  const sides: ClinicalSide[] = []
  for (const start of [startOurs, startBareExpress, startBareParse])
    sides.push(await start(engine.uri, items))
  // Logs in after the loading, which takes minutes, since a token is valid for a quarter of an hour.
  for (const side of sides) if (side.login) await signIn(side, side.login, account)
  process.stdout.write(`\n${items} items: `)
  const figures = await compareSides(sides, {
    'GET plan': { requests: ({ getPlan }) => getPlan },
    'list of 100': { requests: ({ listTasks }) => listTasks },
    update: { requests: ({ update }) => update },
    create: { requests: ({ create }) => create },
  })
  for (const side of sides) await stopSide(side)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
  return figures
}

function writeAims(figures: Map<string, Figures[]>): void {
  process.stdout.write('\n')
  for (const [name, [our, express]] of figures) {
    const ratio = (our?.rate ?? 0) / (express?.rate ?? 0)
    const aim = aims[name] ?? 0
    const line = `${ratio.toFixed(2)} of A: Express, aim >= ${aim}: ${describeVerdict(ratio >= aim)}`
    process.stdout.write(`${name.padEnd(18)}${line}\n`)
  }
}

/** Prints for each side the time of a request at the largest size, divided by that at the smallest. */
function writeGrowth(least: Map<string, Figures[]>, most: Map<string, Figures[]>): void {
  process.stdout.write(`\ngrowth, aim of ours <= ${MAX_GROWTH}; then A: Express, B: Parse\n`)
  for (const [name, before] of least) {
    const after = most.get(name) ?? []
    const [our = 0, ...others] = before.map(({ rate }, i) => rate / (after[i]?.rate ?? 0))
    const theirs = others.map((growth) => growth.toFixed(2)).join(', ')
    process.stdout.write(
      `${name.padEnd(18)}${our.toFixed(2)}: ${describeVerdict(our <= MAX_GROWTH)}; ${theirs}\n`,
    )
  }
}

/**
 * @param sizes numbers of items, separated by commas; the growth is from the first to the last
 * @throws RangeError unless each number fills whole EHRs
 */
export async function benchmarkClinical(sizes: string): Promise<void> {
  await measureGrowth(parseSizes(sizes, ITEMS_PER_EHR), measureItems, writeAims, writeGrowth)
}
