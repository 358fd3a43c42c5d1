/**
 * Measurements in both families with auditing, at several numbers of blood pressures of 1,000 people. The path family
 * lists a hundred, stores one, and stores batches, compared with (A) a handwritten service. The class family answers typical
 * queries of an SDK to one client, and stores for 24 clients in one plan, compared with (B) a bare Parse Server. All run on one
 * engine. The sizes take turns, round by round, because the machine's speed changes within minutes. Timeline and graph read
 * one EHR with 100,000 points. Writes differ: ours add a history and an audit. They come last, so that they do not add to
 * the data that is read.
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
/** In minutes. At that time there are no other measurements. */
const MINUTES_BEFORE_DATA = -1_000_000
/** The number of points in the EHR of timeline and graph. */
const CHARTED_POINTS = 100_000

/** The aim of each workload: the minimal ratio to the other side's rate, the maximal median in ms, or the minimal rate. */
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

/** A blood pressure older than the loaded ones, so that the lists of the newest do not change. */
const pressure = (i: number) => ({
  timestamp: new Date(Date.UTC(2024, 0, 1) + i * 60_000).toISOString(),
  systolic: 100 + (i % 60),
  systolicUnit: 'mm[Hg]',
  diastolic: 60 + (i % 30),
  diastolicUnit: 'mm[Hg]',
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

/** Logs in again, since a token is valid for a quarter of an hour. */
const createOurPathSide = async ({ ours, patients }: { ours: Side; patients: { ours: Patient } }) =>
  createPathSide(await signInByPathFamily(ours, account), '/ehr', patients.ours)

/** Typical first queries of an SDK's client. */
const createQueryRequests = ({ ehrId, carePlanId }: Patient): Record<string, Request> => {
  const since = { timestamp: { $gte: { __type: 'Date', iso: '2025-01-01T00:00:00.000Z' } } }
  const newest = 'order=-timestamp&limit=20'
  return {
    'newest 20': createWhereRequest({}, newest),
    'newest 20, createdAt': createWhereRequest({}, 'order=-createdAt&limit=20'),
    '20 of a plan since': createWhereRequest({ carePlanId, ...since }, newest),
    '20 of an EHR since': createWhereRequest({ ehrId, ...since }, newest),
    // Five, since a patient with a hundred values has no twenty that high. So the response has the same length at every size.
    'systolic >= 175': createWhereRequest({ systolic: { $gte: 175 } }, 'limit=5'),
    count: createWhereRequest({}, 'count=1&limit=0'),
  }
}

/** The results by workload: of our service and of the other side, each at all sizes. */
type Table = Map<string, { ours: Figures[]; others: Figures[] }>

async function compareInTurn(
  ours: readonly MeasuringSide[],
  otherSides: readonly MeasuringSide[],
  workloads: Record<string, Workload<MeasuringSide>>,
): Promise<Table> {
  const measured = await compareSides([...ours, ...otherSides], workloads)
  const split = (figures: Figures[]) => ({
    ours: figures.slice(0, ours.length),
    others: figures.slice(ours.length),
  })
  return new Map([...measured].map(([name, figures]) => [name, split(figures)]))
}

/** Typical first queries of an SDK's client: of the patient, then of a nurse. */
async function classQueries(started: readonly StartedSides[]): Promise<Table> {
  const alone = (name: string): Workload<MeasuringSide> => ({
    requests: ({ patient }) => [createQueryRequests(patient)[name] as Request],
    connections: 1,
    warmUp: 500,
    each: 100,
  })
  const names = Object.keys(createQueryRequests({ userId: '', ehrId: '', carePlanId: '' }))
  const nursed = names.filter((name) => /^newest|^systolic|^count/.test(name))
  const by = async (who: 'ours' | 'nurse', those: readonly string[], labelOf: (name: string) => string) => {
    const sides = started.map((one) => createClassSide(one[who], one.patients.ours))
    return compareInTurn(sides, [], Object.fromEntries(those.map((name) => [labelOf(name), alone(name)])))
  }
  const ofPatient = await by('ours', names, (name) => name)
  return new Map([...ofPatient, ...(await by('nurse', nursed, (name) => `${name}: nurse`))])
}

/** The path family compared with the handwritten service. */
async function pathFamily(started: readonly StartedSides[]): Promise<Table> {
  const ours = await Promise.all(started.map(createOurPathSide))
  for (const { express } of started) await signIn(express, '/login', account)
  const otherSides = started.map(({ express, patients }) =>
    createPathSide(express, `/med/${patients.express.userId}`, patients.express),
  )
  return compareInTurn(ours, otherSides, {
    'list of 100': { requests: ({ list }) => list },
    'store one': { requests: ({ store }) => store },
  })
}

async function storeInOnePlan(started: readonly StartedSides[]): Promise<Table> {
  const ours = started.map((one) => createClassSide(one.ours, one.patients.ours))
  const otherSides = started.map((one) => createClassSide(one.parse, one.patients.parse))
  return compareInTurn(ours, otherSides, { 'store in one plan': { requests: ({ store }) => store } })
}

async function batches(started: readonly StartedSides[]): Promise<Table> {
  // A device of this run, since a measurement that is already there would not be stored again.
  const deviceId = `device ${Date.now()}`
  let sentCount = 0
  const batch = (carePlanId: string) => ({
    items: Array.from({ length: BATCH_SIZE }, () => ({
      kind: 'bloodpressure',
      carePlanId,
      deviceId,
      ...pressure(MINUTES_BEFORE_DATA - sentCount++),
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
  const ours = await Promise.all(started.map(createOurPathSide))
  return compareInTurn(ours, [], { batches: { requests, connections: 4, warmUp: 8, each: 20 } })
}

/** A page of the timeline, and the graph, of one EHR with 100,000 points, for one client. */
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

/** The parts, those that only read first. */
const parts = { queries: classQueries, paths: pathFamily, plan: storeInOnePlan, batches }

/** The sides at one size. In those of the class family a user is logged in. */
interface StartedSides {
  items: number
  /** Our service, with the patient's session of the class family. */
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
    items,
    patients,
    express,
    ours: await logIn(ours, account.email),
    nurse: await logIn(ours, nurseEmail),
    parse: await logIn(parse, account.email),
    async stop() {
      for (const one of [ours, express, parse]) await stopSide(one)
      await engine.stop()
    },
  }
}

/** Prints a row for each workload: the result at each size, and the growth of its time. */
function writeTable(table: Table, sizes: readonly number[]): void {
  const row = (cells: readonly string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)
  process.stdout.write('\n')
  row(['', ...sizes.map(String), 'aim', 'growth'])
  for (const [name, { ours, others }] of table) {
    const { ratio, rate, p50 = MAX_CLASS_MS } = aims[name] ?? {}
    const cells = ours.map((one, i) => {
      if (ratio) {
        const measuredRatio = one.rate / (others[i]?.rate ?? Number.NaN)
        return `${measuredRatio.toFixed(2)}, ${describeVerdict(measuredRatio >= ratio)}`
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
 * @param sizes numbers of blood pressures, separated by commas; the growth is from the first to the last
 * @param part the parts to run, separated by commas; default: all
 * @param directory the directory that keeps the loaded data; undefined: none
 * @throws RangeError unless each number is a multiple of the number of people
 */
export async function benchmarkMeasurements(
  sizes: string,
  part = ['charts', ...Object.keys(parts)].join(),
  directory?: string,
): Promise<void> {
  const numbers = parseSizes(sizes, 1000)
  const partNames = part.split(',')
  const unknown = partNames.filter((name) => name !== 'charts' && !(name in parts))
  if (unknown.length > 0) throw new RangeError(`--parts has no ${unknown.join(', ')}`)
  const data = directory ?? mkdtempSync(join(tmpdir(), 'bench-'))
  if (partNames.includes('charts')) writeTable(await charts(join(data, 'charts')), [CHARTED_POINTS])
  const selectedParts = Object.entries(parts).filter(([name]) => partNames.includes(name))
  const started: StartedSides[] = []
  for (const items of selectedParts.length > 0 ? numbers : [])
    started.push(await startSides(join(data, String(items)), items))
  const table: Table = new Map()
  for (const [, measure] of selectedParts)
    for (const [what, figures] of await measure(started)) table.set(what, figures)
  writeTable(table, numbers)
  for (const one of started) await one.stop()
  if (directory === undefined) rmSync(data, { recursive: true, force: true })
}
