import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import autocannon, { type Request } from 'autocannon'

/** Rounds of each workload on each side, and their seconds. */
export const ROUNDS = Number(process.env.ROUNDS ?? 5)
export const ROUND_SECONDS = Number(process.env.SECONDS ?? 3)
const DEFAULT_CONNECTIONS = 24

/** The started processes. They end with the benchmark. */
const children: ChildProcess[] = []
process.once('exit', () => {
  for (const child of children) child.kill()
})

/** The requests to a side, and the number of connections that send them. */
export interface Workload<S> {
  requests(side: S): Request[]
  connections?: number
  /** Requests before the measurement, so that the code is compiled. */
  warmUp?: number
  /** Seconds of requests before the measurement, instead of their number. */
  warmUpSeconds?: number
  /** Requests in a round, which then has no fixed time. The end of a round would cut off slow requests. */
  each?: number
}

/** The results of a side in one round, or the medians of all rounds: requests a second, and milliseconds. */
export interface Figures {
  rate: number
  /** The rate of the first side in the same round, divided by this one. */
  ratio: number
  p50: number
  p90: number
  p99: number
  /** The processor time of the side's process for a request. Other work on the machine hardly changes it. */
  processor: number
}

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** A service that is compared with others. */
export interface Side {
  name: string
  url: string
  /** Absent for a service that somebody else has started. */
  child?: ChildProcess
  headers: Record<string, string>
}

/**
 * Starts a script and waits until it answers.
 * @param script the path relative to `bench/`
 * @param env variables in addition to those of this process
 */
export async function startSide(name: string, script: string, env: NodeJS.ProcessEnv): Promise<Side> {
  const port = await freePort()
  const child = fork(fileURLToPath(new URL(script, new URL('../', import.meta.url))), [], {
    env: { ...process.env, ...env, PORT: String(port), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  children.push(child)
  const url = `http://127.0.0.1:${port}`
  await waitUntilListening(url)
  return { name, url, child, headers: { ...JSON_HEADERS } }
}

/** Logs in. The side's requests then have that person's token, which is valid for a quarter of an hour. */
export async function signIn(
  side: Side,
  path: string,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const { authToken = '' } = await postJson(side, path, { email, password })
  side.headers.Authorization = `Bearer ${authToken}`
}

/** Logs in to the path family of our service. @returns the side without the keys of an application */
export async function signInByPathFamily<S extends Side>(
  side: S,
  who: { email: string; password: string },
): Promise<S> {
  const person = { ...side, headers: { ...JSON_HEADERS } }
  await signIn(person, '/auth/login/password', who)
  return person
}

export async function stopSide({ child }: Side): Promise<void> {
  if (!child?.kill('SIGTERM')) return
  await once(child, 'exit')
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

async function waitUntilListening(url: string): Promise<void> {
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    )
  // A service that creates indexes takes minutes.
  for (let i = 0; i < 3000; i++) {
    if (await isUp()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${url} does not answer`)
}

/** Sends JSON. @returns the JSON of the response @throws Error unless the response is 2xx */
export async function postJson(side: Side, path: string, body: object): Promise<Record<string, string>> {
  const { url, headers, name } = side
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const json = (await answer.json()) as Record<string, string>
  if (!answer.ok) throw new Error(`${name} ${path}: ${JSON.stringify(json)}`)
  return json
}

export const createGet = (path: string): Request => ({ method: 'GET', path })
export const createRequest = (method: 'POST' | 'PUT', path: string, body: object): Request => ({
  method,
  path,
  body: JSON.stringify(body),
})

/**
 * Sends each workload to the sides in turn, round by round, so that a change of the machine's speed affects all of them.
 * Prints a table: requests a second, the ratio to the first side in the same round, and p50/p99/processor time, all as
 * medians of the rounds.
 * @returns the medians by workload, in the order of the sides
 */
export async function compareSides<S extends Side>(
  sides: readonly S[],
  workloads: Record<string, Workload<S>>,
): Promise<Map<string, Figures[]>> {
  const names = sides.map(({ name }) => name)
  const ratioNames = names.slice(1).map((name) => `/${name}`)
  process.stdout.write(
    `requests/s, median of ${ROUNDS} rounds of ${ROUND_SECONDS} s each; p50/p99/processor in ms\n\n`,
  )
  writeRow('workload', ['clients', ...names, ...ratioNames, ...names.map((name) => `${name} ms`)])
  const measured = new Map<string, Figures[]>()
  for (const [name, workload] of Object.entries(workloads)) {
    const { requests, connections = DEFAULT_CONNECTIONS, warmUp = 2000, warmUpSeconds, each } = workload
    const warmingUp = warmUpSeconds ? { duration: warmUpSeconds } : { amount: warmUp }
    for (const side of sides) await runRequests(side, requests(side), { connections, ...warmingUp })
    const figures = sides.map((): Figures[] => [])
    const load = { connections, ...(each ? { amount: each } : { duration: ROUND_SECONDS }) }
    for (let round = 0; round < ROUNDS; round++)
      for (const [i, side] of sides.entries()) {
        const measured = await measure(side, requests(side), load)
        const firstFigures = figures[0]?.[round] ?? measured
        figures[i]?.push({ ...measured, ratio: firstFigures.rate / measured.rate })
      }
    const medians = figures.map(medianOf)
    measured.set(name, medians)
    const rates = medians.map(({ rate }) => rate.toFixed(rate < 100 ? 1 : 0))
    const ratios = medians.slice(1).map(({ ratio }) => ratio.toFixed(2))
    const latencies = medians.map(({ p50, p99, processor }) => `${p50}/${p99}/${processor.toFixed(2)}`)
    writeRow(name, [String(connections), ...rates, ...ratios, ...latencies])
  }
  return measured
}

const writeRow = (name: string, cells: string[]) =>
  process.stdout.write(`${name.padEnd(18)}${cells.map((cell) => cell.padStart(16)).join('')}\n`)

interface Load {
  connections: number
  duration?: number
  amount?: number
}

async function measure<S extends Side>(
  side: S,
  requests: Request[],
  load: Load,
): Promise<Omit<Figures, 'ratio'>> {
  const before = processorMs(side.child?.pid)
  const { latency, requests: requestStatistics, took } = await runRequests(side, requests, load)
  const processor = (processorMs(side.child?.pid) - before) / requestStatistics.total
  return {
    rate: (requestStatistics.total / took) * 1000,
    p50: latency.p50,
    p90: latency.p90,
    p99: latency.p99,
    processor,
  }
}

/**
 * Sends requests by autocannon. Each connection has its own share of them, so that no two read the same record at the
 * same time.
 * @returns also the ms until the last response, since autocannon ends at a full second
 * @throws RangeError if more requests than connections were under way
 */
export async function runRequests(
  { name, url, headers }: Side,
  requests: Request[],
  how: Load,
): Promise<autocannon.Result & { took: number }> {
  let clients = 0
  const setupClient = (client: { setRequests(requests: Request[]): void }) => {
    const share = Math.max(1, Math.floor(requests.length / how.connections))
    const from = (clients++ * share) % requests.length
    client.setRequests(requests.slice(from, from + share))
  }
  const startTime = performance.now()
  let took = 0
  const options = { url, headers, requests, setupClient, ...how } as autocannon.Options
  const asking = autocannon(options) as Promise<autocannon.Result> & autocannon.Instance
  asking.on('response', () => {
    took = performance.now() - startTime
  })
  const result = await asking
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${name}: ${result.non2xx} refused, ${result.errors} failed`)
  // When a server closes a connection after a number of requests, autocannon sends a further request at the same time.
  const underWay = (result.latency.average * result.requests.total) / took
  if (underWay > how.connections + 1)
    throw new RangeError(
      `${name} closes connections: ${underWay.toFixed(0)} requests were sent at the same time`,
    )
  return { ...result, took }
}

/** The processor time of a process in ms, which Linux counts in steps of 10. NaN on other systems. */
function processorMs(pid: number | undefined): number {
  if (process.platform !== 'linux' || pid === undefined) return Number.NaN
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** The printed text for an aim that is met or missed. */
export const describeVerdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')

export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const medianOf = (figures: Figures[]): Figures => ({
  rate: median(figures.map(({ rate }) => rate)),
  ratio: median(figures.map(({ ratio }) => ratio)),
  p50: median(figures.map(({ p50 }) => p50)),
  p90: median(figures.map(({ p90 }) => p90)),
  p99: median(figures.map(({ p99 }) => p99)),
  processor: median(figures.map(({ processor }) => processor)),
})

/**
 * Reads `--items`.
 * @param of the number that each size must be a multiple of
 * @throws RangeError
 */
export function parseSizes(sizes: string, of: number): number[] {
  const numbers = sizes.split(',').map(Number)
  if (!numbers.every((items) => items >= 1000 && items <= 2_000_000 && items % of === 0))
    throw new RangeError(`--items takes multiples of ${of} from 1000 to 2000000, separated by commas`)
  return numbers
}

/** Measures each size, and compares the last one with the first. */
export async function measureGrowth<F>(
  sizes: readonly number[],
  measure: (items: number) => Promise<F>,
  writeAims: (figures: F) => void,
  writeGrowth: (least: F, most: F) => void,
): Promise<void> {
  const allFigures: F[] = []
  for (const items of sizes) {
    const figures = await measure(items)
    writeAims(figures)
    allFigures.push(figures)
  }
  const firstFigures = allFigures[0]
  const last = allFigures.at(-1)
  if (firstFigures && last && allFigures.length > 1) writeGrowth(firstFigures, last)
}
