/**
 * AQL over blood pressures that were committed as compositions: the last values of an EHR, high values of a month in all
 * EHRs, ordered pages, averages and a count. One client queries. Then 24 clients read compositions, and 8 and 24 commit.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import {
  compareSides,
  createGet,
  createRequest,
  describeVerdict,
  type Figures,
  type Side,
  signInByPathFamily,
  stopSide,
  type Workload,
} from '../frame/compare-sides.ts'
import { readMemory } from '../frame/process-memory.ts'
import { account, grantRole, launchParseSide, signUp } from '../peers/parse-side.ts'
import {
  createPressureComposition,
  type LoadedEhrs,
  loadCompositions,
  MIN_COMPOSITIONS,
} from './composition-data.ts'
import { AVERAGES, COUNT, HIGH, LAST, NEWEST, orderedPage, systolic } from './pressure-queries.ts'

const analyst = { ...account, email: 'analyst@example.org' }
const createQueryRequest = (q: string, query_parameters: object = {}): Request =>
  createRequest('POST', '/med/aql', { q, query_parameters })

const LAST_OF_ONE = 'last of one EHR'
const NEWEST_OF_FEW = 'newest 10 of 10'
const NEWEST_OF_MANY = 'newest 10 of 10,000'
const PAGE_BY_VALUE = 'page by systolic'
const PAGE_BY_TIME = 'page by start'

/** Maximal ms at p50 or p90, or the minimal rate per second. */
const aims: Record<string, { p50?: number; p90?: number; rate?: number }> = {
  [LAST_OF_ONE]: { p90: 20 },
  'high in a month': { p50: 400 },
  'count of an archetype': { p50: 50 },
  [PAGE_BY_VALUE]: { p50: 30 },
  [PAGE_BY_TIME]: { p50: 30 },
  commit: { rate: 400 },
}
const MAX_MEMORY_MB = 1024
const MAX_GROWTH = 1.3
/** Other aims for the growth with ten times as many compositions. */
const maxGrowth: Record<string, number> = { [PAGE_BY_VALUE]: 1.5, [PAGE_BY_TIME]: 1.5, 'average by EHR': 10 }

const startEngine = (directory: string) => startEmbeddedMongo({ dataDir: join(directory, 'engine') })

/** Loads compositions into a directory, unless a former run has. @returns the EHRs to query */
async function loadOnce(directory: string, items: number): Promise<LoadedEhrs> {
  const file = join(directory, 'ehrs.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as LoadedEhrs
  mkdirSync(directory, { recursive: true })
  const engine = await startEngine(directory)
  const uri = withDatabase(engine.uri, 'ours')
  const side = await launchParseSide('ours', '../server/main.js', engine.uri)
  const { userId } = await signUp(side, uri, account.email)
  const { userId: analystId } = await signUp(side, uri, analyst.email)
  await grantRole(uri, analystId, 'analyst')
  await stopSide(side)
  const ehrs = await loadCompositions(uri, userId, items)
  await engine.stop()
  writeFileSync(file, JSON.stringify(ehrs))
  return ehrs
}

/** A service over one number of compositions. */
interface Size {
  items: number
  ehrs: LoadedEhrs
  engine: Awaited<ReturnType<typeof startEngine>>
  service: Side
}

const queryAs = ({ service, ...size }: Size, who: typeof account): Promise<Side & Omit<Size, 'service'>> =>
  signInByPathFamily({ ...service, ...size, name: String(size.items) }, who)

/** @param directory has the loaded data, which no run changes */
async function startSize(directory: string, scratch: string, items: number): Promise<Size> {
  const ehrs = await loadOnce(directory, items)
  const copy = join(scratch, String(items))
  cpSync(directory, copy, { recursive: true })
  const engine = await startEngine(copy)
  return { items, ehrs, engine, service: await launchParseSide('ours', '../server/main.js', engine.uri) }
}

/** Measures all sizes in turn, so that a change of the machine's speed affects all of them. */
async function measureSizes(sizes: readonly Size[]): Promise<Map<string, Figures[]>> {
  const analysts = await Promise.all(sizes.map((size) => queryAs(size, analyst)))
  const owners = await Promise.all(sizes.map((size) => queryAs(size, account)))
  return new Map([
    ...(await compareSides(owners, workloadsOfOne)),
    ...(await compareSides(analysts, workloadsOfAll)),
    ...(await compareSides(owners, writesAndReads)),
  ])
}

type Person = Awaited<ReturnType<typeof queryAs>>

const one = { connections: 1, warmUp: 300 }

const workloadsOfOne: Record<string, Workload<Person>> = {
  [LAST_OF_ONE]: {
    requests: ({ ehrs }) => ehrs.small.map(({ ehrId: ehr }) => createQueryRequest(LAST, { ehr })),
    ...one,
  },
  [NEWEST_OF_FEW]: {
    requests: ({ ehrs }) => ehrs.small.map(({ ehrId: ehr }) => createQueryRequest(NEWEST, { ehr })),
    ...one,
  },
  [NEWEST_OF_MANY]: {
    requests: ({ ehrs: { large, small } }) => [createQueryRequest(NEWEST, { ehr: large ?? small[0]?.ehrId })],
    ...one,
  },
}

const queryAll = (q: string): Workload<Person> => ({
  requests: () => [createQueryRequest(q)],
  connections: 1,
  warmUp: 20,
})

const workloadsOfAll: Record<string, Workload<Person>> = {
  'high in a month': queryAll(HIGH),
  'count of an archetype': queryAll(COUNT),
  [PAGE_BY_VALUE]: queryAll(orderedPage(systolic)),
  [PAGE_BY_TIME]: queryAll(orderedPage('c/context/start_time/value')),
  'average by EHR': queryAll(AVERAGES),
}

const commits = ({ ehrs }: Person): Request[] =>
  ehrs.small.map(({ ehrId }, i) =>
    createRequest(
      'POST',
      `/med/ehr/${ehrId}/composition/json`,
      createPressureComposition(i % 99, Date.now()),
    ),
  )

const writesAndReads: Record<string, Workload<Person>> = {
  read: {
    requests: ({ ehrs }) =>
      ehrs.small.map(({ ehrId, compositionId }) =>
        createGet(`/med/ehr/${ehrId}/composition/${compositionId}/json`),
      ),
  },
  'commit, 8 clients': { requests: commits, connections: 8 },
  commit: { requests: commits },
}

async function writeMemory({ items, engine, service }: Size): Promise<void> {
  const memory = [await readMemory(service.child?.pid), await readMemory(engine.pid)]
  const sum = memory.reduce((total, { own, mapped }) => total + own + mapped, 0)
  const usage = memory.map(({ own, mapped }) => `${own.toFixed(0)} own and ${mapped.toFixed(0)} mapped`)
  process.stdout.write(
    `${items}: memory: ${usage.join(' + ')} MB, aim <= ${MAX_MEMORY_MB}: ${describeVerdict(sum <= MAX_MEMORY_MB)}\n`,
  )
}

function writeAims(table: Map<string, Figures[]>, size: number, { items }: Size): void {
  for (const [name, figures] of table)
    for (const [what, aim] of Object.entries(aims[name] ?? {})) {
      const value = figures[size]?.[what as keyof Figures] ?? Number.NaN
      const isMet = what === 'rate' ? value >= aim : value <= aim
      process.stdout.write(
        `${items}: ${name}: ${what} ${value.toFixed(1)}, aim ${aim}: ${describeVerdict(isMet)}\n`,
      )
    }
}

/**
 * @param sizes numbers of compositions, separated by commas; the growth is from the last but one to the last
 * @param directory the directory that keeps the loaded data; undefined: none
 * @throws RangeError for a number out of range
 */
export async function benchmarkAql(sizes: string, directory?: string): Promise<void> {
  const numbers = sizes.split(',').map(Number)
  if (!numbers.every((items) => items >= MIN_COMPOSITIONS && items <= 2_000_000))
    throw new RangeError(`--items takes numbers from ${MIN_COMPOSITIONS} to 2000000, separated by commas`)
  const scratch = mkdtempSync(join(tmpdir(), 'bench-'))
  const data = directory ?? scratch
  // The largest size comes first, since the others are compared with the first one.
  const measuredSizes: Size[] = []
  for (const items of numbers.reverse())
    measuredSizes.push(await startSize(join(data, `aql-v2-${items}`), scratch, items))
  const table = await measureSizes(measuredSizes)
  process.stdout.write('\n')
  for (const [i, size] of measuredSizes.entries()) {
    writeAims(table, i, size)
    await writeMemory(size)
    await stopSide(size.service)
    await size.engine.stop()
  }
  rmSync(scratch, { recursive: true, force: true })
  for (const name of [LAST_OF_ONE, PAGE_BY_VALUE, PAGE_BY_TIME, 'average by EHR']) {
    const [last, before] = table.get(name) ?? []
    if (last && before) writeGrowth(name, 1 / before.ratio)
  }
  for (const [i, { items }] of measuredSizes.entries()) {
    const [few, many] = [NEWEST_OF_FEW, NEWEST_OF_MANY].map((name) => table.get(name)?.[i])
    if (few && many) writeGrowth(`${items}: newest 10, of 10 to 10,000`, few.rate / many.rate)
  }
}

const writeGrowth = (name: string, growth: number): void => {
  const aim = maxGrowth[name] ?? MAX_GROWTH
  process.stdout.write(
    `growth of ${name}: ${growth.toFixed(2)}, aim <= ${aim}: ${describeVerdict(growth <= aim)}\n`,
  )
}
