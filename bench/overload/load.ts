/** Clients that send requests, in a closed loop or at a fixed rate, and measure the time of each. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Side } from '../frame/compare-sides.ts'

export interface Call {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

export interface Answer {
  status: number
  ms: number
  retryAfter: boolean
}

export const openPool = ({ url }: Side, connections: number): Pool =>
  new Pool(url, { connections, pipelining: 1, headersTimeout: 120_000, bodyTimeout: 120_000 })

/** @returns status 0 if the connection failed */
export async function send(pool: Pool, call: Call): Promise<Answer> {
  const startTime = performance.now()
  try {
    const { statusCode: status, headers, body } = await pool.request({ ...call, body: call.body ?? null })
    for await (const _ of body) {
      // The time includes the whole body.
    }
    return { status, ms: performance.now() - startTime, retryAfter: headers['retry-after'] !== undefined }
  } catch {
    return { status: 0, ms: performance.now() - startTime, retryAfter: false }
  }
}

/** Runs clients until the signal. Each sends a request after the response to the one before. */
export async function runClients(
  side: Side,
  clients: number,
  callOf: (client: number, nth: number) => Call,
  until: AbortSignal,
): Promise<Answer[]> {
  const pool = openPool(side, clients)
  const answers: Answer[] = []
  const runClient = async (client: number) => {
    for (let nth = 0; !until.aborted; nth++) answers.push(await send(pool, callOf(client, nth)))
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)))
  await pool.destroy()
  return answers
}

/** Sends requests at a fixed rate, without waiting for responses, as many independent people do. */
export async function runAtRate(
  side: Side,
  perSecond: number,
  durationMs: number,
  callOf: (nth: number) => Call,
): Promise<Answer[]> {
  const pool = openPool(side, 2_000)
  const requests: Promise<Answer>[] = []
  const startTime = performance.now()
  while (performance.now() - startTime < durationMs) {
    const due = Math.floor(((performance.now() - startTime) * perSecond) / 1000)
    while (requests.length < due) requests.push(send(pool, callOf(requests.length)))
    await sleep(1)
  }
  const answers = await Promise.all(requests)
  await pool.destroy()
  return answers
}

export const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN

export const latenciesOf = (answers: readonly Answer[], isWanted: (answer: Answer) => boolean): number[] =>
  answers.filter(isWanted).map(({ ms }) => ms)

export const isOk = ({ status }: Answer): boolean => status >= 200 && status < 300
