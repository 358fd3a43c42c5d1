import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import autocannon, { type Request } from 'autocannon'

const rounds = Number(process.env.ROUNDS ?? 5)
const seconds = Number(process.env.SECONDS ?? 3)
const many = 24

/** What is asked of a side, and by how many at once. */
export interface Workload<S> {
  requests(side: S): Request[]
  connections?: number
}

/** One of the services that are compared: a process of its own. */
export interface Side {
  name: string
  url: string
  child: ChildProcess
  headers: Record<string, string>
}

/** Runs a script with this environment and nothing else than the process's own, and waits until it answers. */
export async function startSide(name: string, script: string, env: NodeJS.ProcessEnv): Promise<Side> {
  const port = await freePort()
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [], {
    env: { ...process.env, ...env, PORT: String(port), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  process.once('exit', () => child.kill())
  const url = `http://127.0.0.1:${port}`
  await answering(url)
  return { name, url, child, headers: { 'Content-Type': 'application/json' } }
}

export async function stopSide({ child }: Side): Promise<void> {
  child.kill('SIGTERM')
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

async function answering(url: string): Promise<void> {
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    )
  for (let i = 0; i < 300; i++) {
    if (await isUp()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${url} does not answer`)
}

/** Sends JSON and gives the JSON that is answered. @throws Error for any answer but a good one */
export async function post(side: Side, path: string, body: object): Promise<Record<string, string>> {
  const { url, headers, name } = side
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const json = (await answer.json()) as Record<string, string>
  if (!answer.ok) throw new Error(`${name} ${path}: ${JSON.stringify(json)}`)
  return json
}

/**
 * Asks the sides in turn, round by round, so that the machine's moods meet all of them, and writes a table: requests
 * a second of each, the median of the rounds, and the first side's in relation to the others'.
 */
export async function compare<S extends Side>(
  sides: readonly S[],
  workloads: Record<string, Workload<S>>,
): Promise<void> {
  const [first = '', ...others] = sides.map(({ name }) => name)
  process.stdout.write(`requests/s, median of ${rounds} rounds of ${seconds} s each\n\n`)
  writeRow('workload', ['clients', first, ...others, ...others.map((name) => `/${name}`)])
  for (const [name, { requests, connections = many }] of Object.entries(workloads)) {
    const figures = sides.map((): number[] => [])
    for (let round = 0; round < rounds; round++)
      for (const [i, side] of sides.entries())
        figures[i]?.push(await measure(side, requests(side), connections))
    const [ours = 0, ...theirs] = figures.map(median)
    const rates = [ours, ...theirs].map((rate) => rate.toFixed(rate < 100 ? 1 : 0))
    writeRow(name, [String(connections), ...rates, ...theirs.map((rate) => (ours / rate).toFixed(2))])
  }
}

const writeRow = (name: string, cells: string[]) =>
  process.stdout.write(`${name.padEnd(18)}${cells.map((cell) => cell.padStart(10)).join('')}\n`)

/** Each connection begins elsewhere in the requests, so that no two ask for the same thing at the same time. */
async function measure(
  { name, url, headers }: Side,
  requests: Request[],
  connections: number,
): Promise<number> {
  let clients = 0
  const setupClient = (client: { setRequests(requests: Request[]): void }) => {
    const from = Math.floor((clients++ * requests.length) / connections)
    client.setRequests([...requests.slice(from), ...requests.slice(0, from)])
  }
  const options = { url, connections, duration: seconds, headers, requests, setupClient }
  const result = await autocannon(options as autocannon.Options)
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${name}: ${result.non2xx} refused, ${result.errors} failed`)
  return result.requests.total / result.duration
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
