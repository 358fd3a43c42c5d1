/**
 * The service under more requests than it can answer, at fixed rates: accepted requests take a short time, the others are
 * refused at once, and probes are answered. Then requests of ordinary people at the same time as those of one heavy user: the former should hardly be slower.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { describeVerdict, ROUND_SECONDS, type Side, stopSide } from '../frame/compare-sides.ts'
import { launchParseSide } from '../peers/parse-side.ts'
import { heavyCalls } from './heavy-calls.ts'
import {
  type Answer,
  type Call,
  isOk,
  latenciesOf,
  openPool,
  quantile,
  runAtRate,
  runClients,
  send,
} from './load.ts'
import { type BenchPerson, createHeavyPerson, createOrdinaryPerson, ordinaryCall } from './people.ts'

const PEOPLE = 24
const PHASE_MS = Math.max(6, ROUND_SECONDS) * 1000
const RATES_PERCENT = [50, 100, 150, 200]
const HEAVY_CLIENTS = 8
const PROBES = ['/health/live', '/health/ready', '/metrics']
const PROBE_INTERVAL_MS = 200
/** The service first treats an overload as a burst, and lets it wait. Responses count after that time. */
const SETTLING_MS = 8_000

const MAX_P99_MS = 1_000
const MIN_ACCEPTED_SHARE = 0.7
const MAX_RATIO = 2

const write = (text: string) => void process.stdout.write(`${text}\n`)
const inMs = (values: readonly number[]): string =>
  `p50 ${quantile(values, 0.5).toFixed(1)}, p99 ${quantile(values, 0.99).toFixed(0)} ms`

/** Sends requests to the probes until the signal. */
async function runProbes(side: Side, until: AbortSignal): Promise<Answer[]> {
  const pool = openPool(side, PROBES.length)
  const answers: Answer[] = []
  while (!until.aborted) {
    answers.push(
      ...(await Promise.all(PROBES.map((path) => send(pool, { method: 'GET', path, headers: {} })))),
    )
    await sleep(PROBE_INTERVAL_MS)
  }
  await pool.destroy()
  return answers
}

/** @returns the requests a second that the service can answer */
async function measureCapacity(side: Side, people: readonly BenchPerson[]): Promise<number> {
  const callOf = (client: number, nth: number) =>
    ordinaryCall(people[client % people.length] as BenchPerson, nth)
  await runClients(side, 2 * people.length, callOf, AbortSignal.timeout(PHASE_MS / 2))
  const answers = await runClients(side, 2 * people.length, callOf, AbortSignal.timeout(PHASE_MS))
  return answers.filter(isOk).length / (PHASE_MS / 1000)
}

async function measureRate(side: Side, people: readonly BenchPerson[], capacity: number, percent: number) {
  const ended = new AbortController()
  const probed = runProbes(side, ended.signal)
  const perSecond = (capacity * percent) / 100
  const callOf = (nth: number) =>
    ordinaryCall(people[nth % people.length] as BenchPerson, Math.floor(nth / people.length))
  const timings = await runAtRate(side, perSecond, SETTLING_MS + 2 * PHASE_MS, callOf)
  const answers = timings.slice((timings.length * SETTLING_MS) / (SETTLING_MS + 2 * PHASE_MS))
  ended.abort()
  const probes = await probed
  const accepted = latenciesOf(answers, isOk)
  const refusals = answers.filter((one) => !isOk(one))
  const acceptedShare = accepted.length / ((2 * PHASE_MS) / 1000) / capacity
  const proper = refusals.every(({ status, retryAfter }) => [503, 429].includes(status) && retryAfter)
  const p99 = quantile(accepted, 0.99)
  const isMet =
    percent < 100 ||
    (p99 <= MAX_P99_MS && acceptedShare >= MIN_ACCEPTED_SHARE && proper && probes.every(isOk))
  write(
    `${percent} %`.padEnd(8) +
      `accepted ${accepted.length}, ${inMs(accepted)}; refused ${refusals.length}, ${inMs(refusals.map(({ ms }) => ms))}, ` +
      `${proper ? 'all' : 'NOT all'} with Retry-After; accepted ${(acceptedShare * 100).toFixed(0)} % of capacity; ` +
      `probes ${probes.filter(isOk).length} of ${probes.length}, ${inMs(probes.map(({ ms }) => ms))}: ${describeVerdict(isMet)}`,
  )
}

/** Measures requests of ordinary people, alone or together with a heavy user. @returns their ms, and the heavy user's responses */
async function measureTogether(
  side: Side,
  people: readonly BenchPerson[],
  heavy?: { clients: number; call: () => Call },
): Promise<{ light: number[]; heavy: Answer[] }> {
  const light = new AbortController()
  const ended = new AbortController()
  const call = heavy?.call
  const heavyAnswers = call ? runClients(side, heavy.clients, call, ended.signal) : undefined
  if (heavyAnswers) await sleep(1_000)
  const callOf = (client: number, nth: number) => ordinaryCall(people[client] as BenchPerson, nth)
  setTimeout(() => light.abort(), PHASE_MS)
  const answers = await runClients(side, people.length, callOf, light.signal)
  ended.abort()
  return { light: latenciesOf(answers, isOk), heavy: (await heavyAnswers) ?? [] }
}

/** Prints the times of ordinary people during each sort of heavy request, and the ratio to their times alone. */
async function measureFairness(
  side: Side,
  people: readonly BenchPerson[],
  heavy: { person: BenchPerson; clients: number },
  q: number,
): Promise<void> {
  await measureTogether(side, people)
  const alone = await measureTogether(side, people)
  write(
    `\n${people.length} alone: ${inMs(alone.light)}; together with ${heavy.clients} clients of a heavy user:`,
  )
  for (const [name, callOf] of Object.entries(heavyCalls)) {
    const call = () => callOf(heavy.person)
    const together = await measureTogether(side, people, { clients: heavy.clients, call })
    const ratio = quantile(together.light, q) / quantile(alone.light, q)
    write(
      `${name.padEnd(32)}${inMs(together.light)}; p${q * 100} ${ratio.toFixed(1)} times, aim <= ${MAX_RATIO}: ` +
        `${describeVerdict(ratio <= MAX_RATIO)}; heavy ${describeStatuses(together.heavy)}, ${inMs(together.heavy.map(({ ms }) => ms))}`,
    )
  }
}

function describeStatuses(answers: readonly Answer[]): string {
  const statuses = [...new Set(answers.map(({ status }) => status))]
  return statuses.map((one) => `${one}: ${answers.filter(({ status }) => status === one).length}`).join(' ')
}

const PARTS = ['fairness', 'crowd', 'rates']

/**
 * @param part the parts to run, separated by commas; default: all
 * @throws RangeError for an unknown part
 */
export async function benchmarkOverload(part = PARTS.join()): Promise<void> {
  const parts = part.split(',')
  const unknown = parts.filter((name) => !PARTS.includes(name))
  if (unknown.length > 0) throw new RangeError(`--parts has no ${unknown.join(', ')}`)
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const side = await launchParseSide('ours', '../server/main.js', engine.uri)
  const uri = withDatabase(engine.uri, 'ours')
  const people: BenchPerson[] = []
  for (let i = 0; i < PEOPLE; i++) people.push(await createOrdinaryPerson(side, uri, i))
  const heavy = parts.some((name) => name !== 'rates') ? await createHeavyPerson(side, engine.uri) : undefined
  if (heavy && parts.includes('fairness'))
    await measureFairness(side, people.slice(0, 1), { person: heavy, clients: HEAVY_CLIENTS }, 0.5)
  if (heavy && parts.includes('crowd'))
    await measureFairness(side, people, { person: heavy, clients: 1 }, 0.99)
  if (parts.includes('rates')) {
    const capacity = await measureCapacity(side, people)
    write(`\ncapacity ${capacity.toFixed(0)} requests/s; at a fixed rate of it:`)
    for (const percent of RATES_PERCENT) await measureRate(side, people, capacity, percent)
  }
  await stopSide(side)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
