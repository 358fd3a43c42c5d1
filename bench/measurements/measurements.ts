/**
 * Measurements by both families with auditing on, at ever more blood pressures of 1,000 people. In the path family one
 * is stored, and a hundred are listed and stored at once, beside (A) a handler written by hand and (B) a bare Parse
 * Server, all on one engine; in the class family 24 clients store in one plan, beside (B), and ask what an SDK's client
 * asks first, one client at a time. Timeline and graph are those of one EHR with a hundred thousand. Not alike are the writes: ours keep a history and an audit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import {
  compare,
  databaseUri,
  type Figures,
  get,
  type Side,
  send,
  signIn,
  stopSide,
} from '../frame/compare.ts'
import { startExpressSide } from '../peers/express-side.ts'
import { account, signUp, startParseSide } from '../peers/parse-side.ts'
import { load, type Patient } from './data.ts'

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

const pressure = (i: number) => ({
  timestamp: new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString(),
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

/** The path family beside the handler, batches by themselves. */
async function pathFamily(side: Side, express: Side, patient: Patient, theirs: Patient): Promise<Table> {
  const ours = byPath(side, '/ehr', patient)
  const sides = [ours, byPath(express, `/med/${theirs.userId}`, theirs)]
  const table = await compare(sides, {
    'store one': { requests: ({ store }) => store },
    'list of 100': { requests: ({ list }) => list },
  })
  const at = `/ehr/${patient.ehrId}`
  let sent = 0
  const batch = () => ({
    items: Array.from({ length: BATCH }, () => ({
      ...{ kind: 'bloodpressure', carePlanId: patient.carePlanId },
      ...pressure(BEFORE - sent++),
    })),
  })
  // What was stored before is only looked up.
  const setupRequest = (request: Request) => ({ ...request, body: JSON.stringify(batch()) })
  const onResponse = (status: number, body: string) => {
    if (!body.includes(`"stored":${BATCH},`)) throw new Error(`${status}: not all of a batch were stored`)
  }
  const requests = [{ ...send('POST', `${at}/procedure/batch`, {}), setupRequest, onResponse }]
  const batches = { [`batch of ${BATCH}`]: { requests: () => requests, connections: 4, warmUp: 8 } }
  return new Map([...table, ...(await compare([ours], batches))])
}

/** A page of the timeline and the graph of one EHR with that many points, for one client. */
async function charts(points: number): Promise<Table> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const ours = await startParseSide('ours', '../server/main.js', engine.uri)
  const { ehrId } = await load(databaseUri(engine.uri, 'ours'), ours, points, 1)
  ours.headers = { 'Content-Type': 'application/json' }
  await signIn(ours, '/auth/login/password', account)
  process.stdout.write(`\none EHR with ${points} blood pressures: `)
  const path = `/ehr/${ehrId}/summary`
  const shown = { 'timeline of 100': `${path}/timeline?limit=100`, medgraph: `${path}/medgraph` }
  const workloads = Object.entries(shown).map(
    ([name, one]) => [name, { requests: () => [get(one)], connections: 1, warmUp: 50 }] as const,
  )
  const table = await compare([ours], Object.fromEntries(workloads))
  await stopSide(ours)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
  return table
}

async function classFamily(side: Side, parse: Side, patient: Patient, theirs: Patient): Promise<Table> {
  const table = await compare([byClass(side, patient), byClass(parse, theirs)], {
    'store in one plan': { requests: ({ store }) => store },
  })
  const asked = Object.entries(questions(patient)).map(
    ([name, request]) => [name, { requests: () => [request], connections: 1, warmUp: 500 }] as const,
  )
  return new Map([...table, ...(await compare([side], Object.fromEntries(asked)))])
}

async function measured(items: number): Promise<Table> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const ours = await startParseSide('ours', '../server/main.js', engine.uri)
  const nurse = await signUp(ours, databaseUri(engine.uri, 'ours'), 'nurse@example.org')
  const express = await startExpressSide(engine.uri)
  const parse = await startParseSide('parse', './peers/bare-parse-server.js', engine.uri)
  const uri = (name: string) => databaseUri(engine.uri, name)
  const patient = await load(uri('ours'), { userId: ours.userId, nurseId: nurse.userId }, items)
  const theirs = await load(uri('express'), express, items)
  const bare = await load(uri('parse'), parse, items)
  const browser: Side = { ...ours, headers: { 'Content-Type': 'application/json' } }
  await signIn(browser, '/auth/login/password', account)
  await signIn(express, '/login', account)
  process.stdout.write(`\n${items} blood pressures of 1,000 people: `)
  const byPaths = await pathFamily(browser, express, patient, theirs)
  const byClasses = await classFamily(ours, { ...parse, name: 'B: Parse' }, patient, bare)
  const { 'newest 20': newest } = questions(patient)
  const ofNurse = await compare([nurse], {
    'newest 20 of a nurse': { requests: () => (newest ? [newest] : []), connections: 1, warmUp: 500 },
  })
  for (const side of [ours, express, parse]) await stopSide(side)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
  return new Map([...byPaths, ...byClasses, ...ofNurse])
}

const verdict = (met: boolean) => (met ? 'met' : 'MISSED')

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
 * @throws RangeError unless each is a number that can be spread over the people
 */
export async function measurements(sizes: string): Promise<void> {
  const numbers = sizes.split(',').map(Number)
  if (!numbers.every((items) => items >= 1000 && items <= 2_000_000 && items % 1000 === 0))
    throw new RangeError('--items takes multiples of 1000 from 1000 to 2000000, separated by commas')
  writeAims(await charts(CHARTED))
  const all: Table[] = []
  for (const items of numbers) {
    const table = await measured(items)
    writeAims(table)
    all.push(table)
  }
  const [first, last] = [all[0], all.at(-1)]
  if (first && last && all.length > 1) writeGrowth(first, last)
}
