/**
 * Measurements by both families with auditing on, at ever more blood pressures of 1,000 people. In the path family one
 * is stored, and a hundred are listed and stored at once, beside (A) a handler written by hand and (B) a bare Parse
 * Server, all on one engine; in the class family 24 clients store in one plan, beside (B), and ask what an SDK's client
 * asks first, one client at a time. Timeline and graph are those of one EHR with a hundred thousand. Not alike are the writes: ours keep a history and an audit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Request } from 'autocannon'
import { compare, type Figures, get, type Side, send, signIn, stopSide, verdict } from '../frame/compare.ts'
import { launchExpressSide } from '../peers/express-side.ts'
import { account, launchParseSide, logIn } from '../peers/parse-side.ts'
import type { Patient } from './data.ts'
import { engineIn, loaded, nurseEmail, type SideName } from './loading.ts'

const BATCH = 1_000
/** Minutes: when nothing else was measured. */
const BEFORE = -1_000_000
/** The points of one EHR. */
const CHARTED = 100_000

/** The least that ours is to reach of another's rate, by workload; and the most milliseconds, half of the time. */
const aims: Record<string, { of?: [side: number, ratio: number]; p50?: number }> = {
  'store one': { of: [1, 0.5] },
  'list of 100': { of: [1, 0.6] },
  'store in one plan': { of: [1, 0.6] },
  'timeline of 100': { p50: 10 },
  medgraph: { p50: 60 },
}
const mostOfClasses = 12
const mostGrowth = 1.3

/** Before all that is loaded, so that the newest ones, which are listed, stay what they are. */
const pressure = (i: number) => ({
  timestamp: new Date(Date.UTC(2024, 0, 1) + i * 60_000).toISOString(),
  ...{ systolic: 100 + (i % 60), systolicUnit: 'mm[Hg]', diastolic: 60 + (i % 30), diastolicUnit: 'mm[Hg]' },
})
const asObject = ({ ehrId, carePlanId }: Patient, i: number) => {
  const { timestamp, ...values } = pressure(i)
  return { ehrId, carePlanId, ...values, timestamp: { __type: 'Date', iso: timestamp } }
}
const many = <T>(make: (i: number) => T): T[] => Array.from({ length: 480 }, (_, i) => make(i))

interface MeasuringSide extends Side {
  store: Request[]
  list: Request[]
}

const listed = 'limit=100'
const classes = '/1/classes/BloodPressure'
const wanted = (where: object, rest: string) =>
  get(`${classes}?where=${encodeURIComponent(JSON.stringify(where))}&${rest}`)

const byClass = (side: Side, patient: Patient): MeasuringSide => ({
  ...side,
  store: many((i) => send('POST', classes, asObject(patient, i))),
  list: [wanted({ carePlanId: patient.carePlanId }, `order=-timestamp&${listed}`)],
})

const byPath = (side: Side, base: string, { ehrId, carePlanId }: Patient): MeasuringSide => ({
  ...side,
  store: many((i) =>
    send('POST', `${base}/${ehrId}/procedure/bloodpressure`, { carePlanId, ...pressure(i) }),
  ),
  list: [get(`${base}/${ehrId}/procedure/bloodpressure?${listed}`)],
})

/** What an SDK's client asks first. */
const questions = ({ ehrId, carePlanId }: Patient): Record<string, Request> => {
  const since = { timestamp: { $gte: { __type: 'Date', iso: '2025-01-01T00:00:00.000Z' } } }
  const newest = 'order=-timestamp&limit=20'
  return {
    'newest 20': wanted({}, newest),
    'newest 20, createdAt': wanted({}, 'order=-createdAt&limit=20'),
    '20 of a plan since': wanted({ carePlanId, ...since }, newest),
    '20 of an EHR since': wanted({ ehrId, ...since }, newest),
    'systolic >= 175': wanted({ systolic: { $gte: 175 } }, 'limit=20'),
    count: wanted({}, 'count=1&limit=0'),
  }
}

type Table = Map<string, Figures[]>

/** The path family beside the handler. */
async function pathFamily({ side, express, patients }: Started): Promise<Table> {
  const sides = [
    byPath(side, '/ehr', patients.ours),
    byPath(express, `/med/${patients.express.userId}`, patients.express),
  ]
  return compare(sides, {
    'list of 100': { requests: ({ list }) => list },
    'store one': { requests: ({ store }) => store },
  })
}

async function batches({ side, patients }: Started): Promise<Table> {
  const { ehrId, carePlanId } = patients.ours
  // What was stored before, also in a former run, is only looked up.
  const deviceId = `device ${Date.now()}`
  let sent = 0
  const batch = () => ({
    items: Array.from({ length: BATCH }, () => ({
      ...{ kind: 'bloodpressure', carePlanId, deviceId },
      ...pressure(BEFORE - sent++),
    })),
  })
  const setupRequest = (request: Request) => ({ ...request, body: JSON.stringify(batch()) })
  const onResponse = (status: number, body: string) => {
    if (!body.includes(`"stored":${BATCH},`)) throw new Error(`${status}: not all of a batch were stored`)
  }
  const requests = [{ ...send('POST', `/ehr/${ehrId}/procedure/batch`, {}), setupRequest, onResponse }]
  return compare([side], {
    [`batch of ${BATCH}`]: { requests: () => requests, connections: 4, warmUp: 8, each: 20 },
  })
}

async function classFamily({ ours, parse, nurse, patients }: Started): Promise<Table> {
  const table = await compare([byClass(ours, patients.ours), byClass(parse, patients.parse)], {
    'store in one plan': { requests: ({ store }) => store },
  })
  const workloads = Object.entries(questions(patients.ours))
  const alone = ([name, request]: [string, Request]) =>
    [name, { requests: () => [request], connections: 1, warmUp: 500 }] as const
  const ofPatient = await compare([ours], Object.fromEntries(workloads.map(alone)))
  const ofNurse = workloads
    .filter(([name]) => /^newest|^systolic|^count/.test(name))
    .map(([name, request]) => alone([`${name}: nurse`, request]))
  return new Map([...table, ...ofPatient, ...(await compare([nurse], Object.fromEntries(ofNurse)))])
}

/** A page of the timeline and the graph of one EHR with a hundred thousand points, for one client. */
async function charts(directory: string): Promise<Table> {
  const patients = await loaded(directory, ['ours'], CHARTED, 1)
  const engine = await engineIn(directory)
  const ours = await launchParseSide('ours', '../server/main.js', engine.uri)
  await signIn(ours, '/auth/login/password', account)
  process.stdout.write(`\none EHR with ${CHARTED} blood pressures: `)
  const path = `/ehr/${patients.ours.ehrId}/summary`
  const paths = { 'timeline of 100': `${path}/timeline?limit=100`, medgraph: `${path}/medgraph` }
  const workloads = Object.entries(paths).map(
    ([name, one]) => [name, { requests: () => [get(one)], connections: 1, warmUp: 50 }] as const,
  )
  const table = await compare([byPathFamily(ours)], Object.fromEntries(workloads))
  await stopSide(ours)
  await engine.stop()
  return table
}

const parts = { paths: pathFamily, batches, classes: classFamily }

/** What the parts work with: the sides, each with a user who is logged in. */
interface Started {
  /** By the class family, and by the path family. */
  ours: Side
  side: Side
  nurse: Side
  express: Side
  parse: Side
  patients: Awaited<ReturnType<typeof loaded<SideName>>>
}

/** Who asks by the path family shows no key of an application. */
const byPathFamily = ({ headers: { Authorization = '' }, ...side }: Side): Side => ({
  ...side,
  headers: { 'Content-Type': 'application/json', Authorization },
})

async function measured(directory: string, items: number, wanted: readonly string[]): Promise<Table> {
  const patients = await loaded(directory, ['ours', 'express', 'parse'], items)
  const engine = await engineIn(directory)
  const ours = await launchParseSide('ours', '../server/main.js', engine.uri)
  const express = await launchExpressSide(engine.uri)
  const parse = await launchParseSide('parse', './peers/bare-parse-server.js', engine.uri)
  const browser: Side = { ...ours, headers: { ...ours.headers } }
  await signIn(browser, '/auth/login/password', account)
  await signIn(express, '/login', account)
  const started: Started = {
    ours: await logIn(ours, account.email),
    side: byPathFamily(browser),
    nurse: await logIn(ours, nurseEmail),
    express,
    parse: { ...(await logIn(parse, account.email)), name: 'B: Parse' },
    patients,
  }
  process.stdout.write(`\n${items} blood pressures of 1,000 people: `)
  const table: Table = new Map()
  for (const [name, part] of Object.entries(parts))
    if (wanted.includes(name)) for (const [what, figures] of await part(started)) table.set(what, figures)
  for (const one of [ours, express, parse]) await stopSide(one)
  await engine.stop()
  return table
}

function writeAims(table: Table): void {
  process.stdout.write('\n')
  for (const [name, figures] of table) {
    const [our] = figures
    const { of, p50 = mostOfClasses } = aims[name] ?? {}
    if (!our) continue
    if (name.startsWith('batch'))
      process.stdout.write(`${name}: ${Math.round(our.rate * BATCH)} measurements/s, aim >= 4000\n`)
    else if (of) {
      const ratio = our.rate / (figures[of[0]]?.rate ?? Number.NaN)
      process.stdout.write(`${name}: ${ratio.toFixed(2)}, aim >= ${of[1]}: ${verdict(ratio >= of[1])}\n`)
    } else process.stdout.write(`${name}: p50 ${our.p50} ms, aim <= ${p50}: ${verdict(our.p50 <= p50)}\n`)
  }
}

/** How many times longer a request takes with the most than with the fewest. */
function writeGrowth(least: Table, most: Table): void {
  process.stdout.write(`\ngrowth, aim <= ${mostGrowth}\n`)
  for (const [name, [before]] of least) {
    const growth = (before?.rate ?? 0) / (most.get(name)?.[0]?.rate ?? Number.NaN)
    process.stdout.write(`${name}: ${growth.toFixed(2)}: ${verdict(growth <= mostGrowth)}\n`)
  }
}

/**
 * @param sizes how many blood pressures, separated by commas; the growth is that from the first to the last
 * @param part which parts, separated by commas
 * @param kept where the data directories are kept; undefined: nowhere
 * @throws RangeError unless each is a number that can be spread over the people
 */
export async function measurements(sizes: string, part: string, kept?: string): Promise<void> {
  const numbers = sizes.split(',').map(Number)
  if (!numbers.every((items) => items >= 1000 && items <= 2_000_000 && items % 1000 === 0))
    throw new RangeError('--items takes multiples of 1000 from 1000 to 2000000, separated by commas')
  const wanted = part.split(',')
  const unknown = wanted.filter((name) => name !== 'charts' && !(name in parts))
  if (unknown.length > 0) throw new RangeError(`--parts has no ${unknown.join(', ')}`)
  const data = kept ?? mkdtempSync(join(tmpdir(), 'bench-'))
  if (wanted.includes('charts')) writeAims(await charts(join(data, 'charts')))
  const all: Table[] = []
  for (const items of wanted.some((name) => name in parts) ? numbers : []) {
    const table = await measured(join(data, String(items)), items, wanted)
    writeAims(table)
    all.push(table)
  }
  if (kept === undefined) rmSync(data, { recursive: true, force: true })
  const [first, last] = [all[0], all.at(-1)]
  if (first && last && all.length > 1) writeGrowth(first, last)
}
