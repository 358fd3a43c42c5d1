/**
 * Measurements by both families with auditing on, at ever more blood pressures of 1,000 people. In the path family one
 * is stored, and a hundred are listed and stored at once, beside (A) a handler written by hand and (B) a bare Parse
 * Server, all on one engine; in the class family 24 clients store in one plan, beside (B), and ask what an SDK's client
 * asks first, one client at a time. All sizes are asked in turn, round by round: the machine's speed changes within minutes.
 * Timeline and graph are those of one EHR with a hundred thousand. Not alike are the writes: ours keep a history and an
 * audit. What is stored comes last, so that what is found before is as much as was loaded.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Request } from 'autocannon'
import {
  compareSides,
  createGet,
  createRequest,
  describeVerdict,
  type Figures,
  parseSizes,
  type Side,
  signIn,
  signInByPathFamily,
  stopSide,
  type Workload,
} from '../frame/compare-sides.ts'
import { launchExpressSide } from '../peers/express-side.ts'
import { account, launchParseSide, logIn } from '../peers/parse-side.ts'
import { loadOnce, nurseEmail, type SideName, startEngine } from './load-once.ts'
import type { Patient } from './measurement-data.ts'

const BATCH_SIZE = 1_000
/** Minutes: when nothing else was measured. */
const MINUTES_BEFORE_DATA = -1_000_000
/** The points of one EHR. */
const CHARTED_POINTS = 100_000

/** The least that ours is to reach of another's rate, by workload; the most milliseconds, half of the time; or the least rate. */
const aims: Record<string, { ratio?: number; p50?: number; rate?: number }> = {
  'store one': { ratio: 0.5 },
  'list of 100': { ratio: 0.6 },
  'store in one plan': { ratio: 0.6 },
  'timeline of 100': { p50: 10 },
  medgraph: { p50: 60 },
  batches: { rate: 4_000 },
}
const MAX_CLASS_MS = 12
const MAX_GROWTH = 1.3

/** Before all that is loaded, so that the newest ones, which are listed, stay what they are. */
const pressure = (i: number) => ({
  timestamp: new Date(Date.UTC(2024, 0, 1) + i * 60_000).toISOString(),
  ...{ systolic: 100 + (i % 60), systolicUnit: 'mm[Hg]', diastolic: 60 + (i % 30), diastolicUnit: 'mm[Hg]' },
})
const toParseObject = ({ ehrId, carePlanId }: Patient, i: number) => {
  const { timestamp, ...values } = pressure(i)
  return { ehrId, carePlanId, ...values, timestamp: { __type: 'Date', iso: timestamp } }
}
const createMany = <T>(make: (i: number) => T): T[] => Array.from({ length: 480 }, (_, i) => make(i))

interface MeasuringSide extends Side {
  patient: Patient
  store: Request[]
  list: Request[]
}

const LIST_QUERY = 'limit=100'
const classes = '/1/classes/BloodPressure'
const createWhereRequest = (where: object, rest: string) =>
  createGet(`${classes}?where=${encodeURIComponent(JSON.stringify(where))}&${rest}`)

const createClassSide = (side: Side, patient: Patient): MeasuringSide => ({
  ...side,
  patient,
  store: createMany((i) => createRequest('POST', classes, toParseObject(patient, i))),
  list: [createWhereRequest({ carePlanId: patient.carePlanId }, `order=-timestamp&${LIST_QUERY}`)],
})

const createPathSide = (side: Side, base: string, patient: Patient): MeasuringSide => ({
  ...side,
  patient,
  store: createMany((i) => {
    const { ehrId, carePlanId } = patient
    return createRequest('POST', `${base}/${ehrId}/procedure/bloodpressure`, { carePlanId, ...pressure(i) })
  }),
  list: [createGet(`${base}/${patient.ehrId}/procedure/bloodpressure?${LIST_QUERY}`)],
})

/** Logged in anew: a token lives for a quarter of an hour. */
const createOurPathSide = async ({ ours, patients }: { ours: Side; patients: { ours: Patient } }) =>
  createPathSide(await signInByPathFamily(ours, account), '/ehr', patients.ours)

/** What an SDK's client asks first. */
const createQueryRequests = ({ ehrId, carePlanId }: Patient): Record<string, Request> => {
  const since = { timestamp: { $gte: { __type: 'Date', iso: '2025-01-01T00:00:00.000Z' } } }
  const newest = 'order=-timestamp&limit=20'
  return {
    'newest 20': createWhereRequest({}, newest),
    'newest 20, createdAt': createWhereRequest({}, 'order=-createdAt&limit=20'),
    '20 of a plan since': createWhereRequest({ carePlanId, ...since }, newest),
    '20 of an EHR since': createWhereRequest({ ehrId, ...since }, newest),
    // Five, since of a hundred no twenty are so high: at every size the answer is as long.
    'systolic >= 175': createWhereRequest({ systolic: { $gte: 175 } }, 'limit=5'),
    count: createWhereRequest({}, 'count=1&limit=0'),
  }
}

/** What was measured of a workload: of ours, and of the other side, each at all sizes. */
type Table = Map<string, { ours: Figures[]; others: Figures[] }>

async function compareInTurn(
  ours: readonly MeasuringSide[],
  others: readonly MeasuringSide[],
  workloads: Record<string, Workload<MeasuringSide>>,
): Promise<Table> {
  const measured = await compareSides([...ours, ...others], workloads)
  const split = (figures: Figures[]) => ({
    ours: figures.slice(0, ours.length),
    others: figures.slice(ours.length),
  })
  return new Map([...measured].map(([name, figures]) => [name, split(figures)]))
}

/** What an SDK's client asks first, of one client, then of a nurse. */
async function classQueries(all: readonly StartedSides[]): Promise<Table> {
  const alone = (name: string): Workload<MeasuringSide> => ({
    requests: ({ patient }) => [createQueryRequests(patient)[name] as Request],
    ...{ connections: 1, warmUp: 500, each: 100 },
  })
  const names = Object.keys(createQueryRequests({ userId: '', ehrId: '', carePlanId: '' }))
  const nursed = names.filter((name) => /^newest|^systolic|^count/.test(name))
  const by = async (who: 'ours' | 'nurse', those: readonly string[], named: (name: string) => string) => {
    const sides = all.map((one) => createClassSide(one[who], one.patients.ours))
    return compareInTurn(sides, [], Object.fromEntries(those.map((name) => [named(name), alone(name)])))
  }
  const ofPatient = await by('ours', names, (name) => name)
  return new Map([...ofPatient, ...(await by('nurse', nursed, (name) => `${name}: nurse`))])
}

/** The path family beside the handler. */
async function pathFamily(all: readonly StartedSides[]): Promise<Table> {
  const ours = await Promise.all(all.map(createOurPathSide))
  for (const { express } of all) await signIn(express, '/login', account)
  const others = all.map(({ express, patients }) =>
    createPathSide(express, `/med/${patients.express.userId}`, patients.express),
  )
  return compareInTurn(ours, others, {
    'list of 100': { requests: ({ list }) => list },
    'store one': { requests: ({ store }) => store },
  })
}

async function storeInOnePlan(all: readonly StartedSides[]): Promise<Table> {
  const ours = all.map((one) => createClassSide(one.ours, one.patients.ours))
  const others = all.map((one) => createClassSide(one.parse, one.patients.parse))
  return compareInTurn(ours, others, { 'store in one plan': { requests: ({ store }) => store } })
}

async function batches(all: readonly StartedSides[]): Promise<Table> {
  // What was stored before, also in a former run, is only looked up.
  const deviceId = `device ${Date.now()}`
  let sent = 0
  const batch = (carePlanId: string) => ({
    items: Array.from({ length: BATCH_SIZE }, () => ({
      ...{ kind: 'bloodpressure', carePlanId, deviceId },
      ...pressure(MINUTES_BEFORE_DATA - sent++),
    })),
  })
  const onResponse = (status: number, body: string) => {
    if (!body.includes(`"stored":${BATCH_SIZE},`))
      throw new Error(`${status}: not all of a batch were stored`)
  }
  const requests = ({ patient: { ehrId, carePlanId } }: MeasuringSide) => {
    const setupRequest = (request: Request) => ({ ...request, body: JSON.stringify(batch(carePlanId)) })
    return [{ ...createRequest('POST', `/ehr/${ehrId}/procedure/batch`, {}), setupRequest, onResponse }]
  }
  const ours = await Promise.all(all.map(createOurPathSide))
  return compareInTurn(ours, [], { batches: { requests, connections: 4, warmUp: 8, each: 20 } })
}

/** A page of the timeline and the graph of one EHR with a hundred thousand points, for one client. */
async function charts(directory: string): Promise<Table> {
  const patients = await loadOnce(directory, ['ours'], CHARTED_POINTS, 1)
  const engine = await startEngine(directory)
  const ours = await launchParseSide('ours', '../server/main.js', engine.uri)
  process.stdout.write(`\none EHR with ${CHARTED_POINTS} blood pressures: `)
  const path = `/ehr/${patients.ours.ehrId}/summary`
  const paths = { 'timeline of 100': `${path}/timeline?limit=100`, medgraph: `${path}/medgraph` }
  const workloads = Object.entries(paths).map(
    ([name, one]) => [name, { requests: () => [createGet(one)], connections: 1, warmUp: 1000 }] as const,
  )
  const side = await createOurPathSide({ ours, patients })
  const table = await compareInTurn([side], [], Object.fromEntries(workloads))
  await stopSide(ours)
  await engine.stop()
  return table
}

/** What only reads comes first. */
const parts = { queries: classQueries, paths: pathFamily, plan: storeInOnePlan, batches }

/** What the parts work with at one size: the sides, those of the class family each with a user who is logged in. */
interface StartedSides {
  items: number
  /** By the class family. */
  ours: Side
  nurse: Side
  express: Side
  parse: Side
  patients: Awaited<ReturnType<typeof loadOnce<SideName>>>
  stop(): Promise<void>
}

async function startSides(directory: string, items: number): Promise<StartedSides> {
  const patients = await loadOnce(directory, ['ours', 'express', 'parse'], items)
  const engine = await startEngine(directory)
  const ours = await launchParseSide(`ours ${items}`, '../server/main.js', engine.uri, 'ours')
  const express = await launchExpressSide(engine.uri)
  const parse = await launchParseSide('B: Parse', './peers/bare-parse-server.js', engine.uri, 'parse')
  return {
    ...{ items, patients, express },
    ours: await logIn(ours, account.email),
    nurse: await logIn(ours, nurseEmail),
    parse: await logIn(parse, account.email),
    async stop() {
      for (const one of [ours, express, parse]) await stopSide(one)
      await engine.stop()
    },
  }
}

/** A row for each workload: what was measured at each size, and how many times longer it takes at the largest. */
function writeTable(table: Table, sizes: readonly number[]): void {
  const row = (cells: readonly string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)
  process.stdout.write('\n')
  row(['', ...sizes.map(String), 'aim', 'growth'])
  for (const [name, { ours, others }] of table) {
    const { ratio, rate, p50 = MAX_CLASS_MS } = aims[name] ?? {}
    const cells = ours.map((one, i) => {
      if (ratio) {
        const reached = one.rate / (others[i]?.rate ?? Number.NaN)
        return `${reached.toFixed(2)}, ${describeVerdict(reached >= ratio)}`
      }
      if (rate)
        return `${Math.round(one.rate * BATCH_SIZE)}/s, ${describeVerdict(one.rate * BATCH_SIZE >= rate)}`
      return `${one.p50} ms, ${describeVerdict(one.p50 <= p50)}`
    })
    const growth = (ours[0]?.rate ?? Number.NaN) / (ours.at(-1)?.rate ?? Number.NaN)
    const grown = ours.length > 1 ? `${growth.toFixed(2)}, ${describeVerdict(growth <= MAX_GROWTH)}` : ''
    row([name, ...cells, String(ratio ?? rate ?? `${p50} ms`), grown])
  }
}

/**
 * @param sizes how many blood pressures, separated by commas; the growth is that from the first to the last
 * @param part which parts, separated by commas; default: all
 * @param kept where the data directories are kept; undefined: nowhere
 * @throws RangeError unless each is a number that can be spread over the people
 */
export async function benchmarkMeasurements(
  sizes: string,
  part = ['charts', ...Object.keys(parts)].join(),
  kept?: string,
): Promise<void> {
  const numbers = parseSizes(sizes, 1000)
  const wanted = part.split(',')
  const unknown = wanted.filter((name) => name !== 'charts' && !(name in parts))
  if (unknown.length > 0) throw new RangeError(`--parts has no ${unknown.join(', ')}`)
  const data = kept ?? mkdtempSync(join(tmpdir(), 'bench-'))
  if (wanted.includes('charts')) writeTable(await charts(join(data, 'charts')), [CHARTED_POINTS])
  const chosen = Object.entries(parts).filter(([name]) => wanted.includes(name))
  const all: StartedSides[] = []
  for (const items of chosen.length > 0 ? numbers : [])
    all.push(await startSides(join(data, String(items)), items))
  const table: Table = new Map()
  for (const [, measure] of chosen) for (const [what, figures] of await measure(all)) table.set(what, figures)
  writeTable(table, numbers)
  for (const one of all) await one.stop()
  if (kept === undefined) rmSync(data, { recursive: true, force: true })
}
