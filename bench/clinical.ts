/**
 * Care plans with goals and tasks, with as many items registered as are asked for: ours with auditing on, against (A)
 * a handler written by hand with Express, jose and the driver, and (B) a bare Parse Server, whose objects are the
 * same; all on one engine. The list is that of the open tasks of an EHR by due date, for the path family has none of
 * blood pressures. Not alike are: Parse shows a plan without its goals and tasks; and our writes keep a history, the
 * roles of a new plan and the audit in the same transaction.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
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
  sideDatabaseUri,
  signIn,
  stopSide,
} from './frame/compare-sides.ts'
import { startExpressSide } from './peers/express-side.ts'
import { account, startParseSide } from './peers/parse-side.ts'

/** A side, and how the four things are asked of it. */
interface ClinicalSide extends Side {
  /** Where one logs in; absent: the side has a session already. */
  login?: string
  getPlan: Request[]
  listTasks: Request[]
  update: Request[]
  create: Request[]
}

/** The least that ours is to reach of what the handler written by hand does. */
const aims: Record<string, number> = { 'GET plan': 0.6, 'list of 100': 0.6, update: 0.5, create: 0.5 }
const MAX_GROWTH = 1.3
const plan = { name: 'Lower blood pressure', description: 'Below 140/90 by the summer', notes: 'At home' }

/** The requests of the two that have paths for the resources. */
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
  const loaded = await loadClinicalRecords(sideDatabaseUri(engineUri, 'ours'), 'ours', side.userId, items)
  return { ...side, login: '/auth/login/password', ...createPathRequests('/med', loaded) }
}

async function startBareExpress(engineUri: string, items: number): Promise<ClinicalSide> {
  const side = await startExpressSide(engineUri)
  const loaded = await loadClinicalRecords(
    sideDatabaseUri(engineUri, 'express'),
    side.name,
    side.userId,
    items,
  )
  return { ...side, login: '/login', ...createPathRequests(`/med/${side.userId}`, loaded) }
}

async function startBareParse(engineUri: string, items: number): Promise<ClinicalSide> {
  const side = await startParseSide('parse', './peers/bare-parse-server.js', engineUri)
  const name = 'B: Parse'
  const loaded = await loadClinicalRecords(sideDatabaseUri(engineUri, 'parse'), name, side.userId, items)
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
  const engine = await startEmbeddedMongo({ dataDir })
  const sides: ClinicalSide[] = []
  for (const start of [startOurs, startBareExpress, startBareParse])
    sides.push(await start(engine.uri, items))
  // A token lives for a quarter of an hour, and loading a million items takes minutes.
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

/** How many times longer a request takes with the most items than with the fewest, of each side. */
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
 * @param sizes how many items, separated by commas; the growth is that from the first to the last
 * @throws RangeError unless each is a number that fills whole EHRs
 */
export async function benchmarkClinical(sizes: string): Promise<void> {
  await measureGrowth(parseSizes(sizes, ITEMS_PER_EHR), measureItems, writeAims, writeGrowth)
}
