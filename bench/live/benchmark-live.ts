/**
 * Delays of live queries: 1,000 sockets with one query each, 20 of each account, while the class family stores 100 records
 * a second. Then the same while a socket with many subscriptions reads nothing. A delay is the time from the
 * response to the write until the event, both in this process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { WebSocket } from 'ws'
import { postJson, ROUND_SECONDS, type Side, stopSide } from '../frame/compare-sides.ts'
import { readResidentMegabytes } from '../frame/process-memory.ts'
import { launchParseSide, signUp } from '../peers/parse-side.ts'

const ACCOUNTS = 50
const SOCKETS_OF_EACH = 20
const WRITES_A_SECOND = 100
const MAX_DELAY_MS = 500
const PHASE_MS = Math.max(10, ROUND_SECONDS) * 1000

interface Listener extends Side {
  ehrId: string
  carePlanId: string
  session: string
}

/** The time of the response to each write, and of each event. */
const respondedAt = new Map<string, number>()
const events: { id: string; at: number }[] = []

async function newListener(side: Side, uri: string, i: number): Promise<Listener> {
  const user = await signUp(side, uri, `listener-${i}@example.org`)
  const { objectId: ehrId = '' } = await postJson(user, '/1/classes/Ehr', { subjectId: user.userId })
  const { objectId: carePlanId = '' } = await postJson(user, '/1/classes/CarePlan', { ehrId, name: 'bench' })
  return { ...user, ehrId, carePlanId, session: user.headers['X-Parse-Session-Token'] ?? '' }
}

/** Opens a socket with subscriptions to a class, and waits until all are confirmed. */
async function listen({ url, session, carePlanId }: Listener, className: string, subscriptions = 1) {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/1`)
  const send = (message: object) => socket.send(JSON.stringify(message))
  let confirmed = 0
  const ready = new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('message', (data) => {
      const at = performance.now()
      const { op, object, error } = JSON.parse(String(data))
      if (op === 'error') reject(new Error(error))
      if (op === 'create') events.push({ id: object.objectId, at })
      if (op === 'subscribed') confirmed += 1
      if (confirmed === subscriptions) resolve()
    })
  })
  await new Promise((resolve) => socket.once('open', resolve))
  const keys = { applicationId: 'bench-application-id', javascriptKey: 'bench-javascript-key' }
  send({ op: 'connect', ...keys, sessionToken: session })
  for (let requestId = 1; requestId <= subscriptions; requestId++)
    send({ op: 'subscribe', requestId, query: { className, where: { carePlanId } } })
  await ready
  return socket
}

/** Writes records at a fixed rate. @returns the ms of each write */
async function writeRecords(listeners: readonly Listener[]): Promise<number[]> {
  const took: number[] = []
  const writing: Promise<void>[] = []
  const startTime = performance.now()
  for (let i = 0; performance.now() - startTime < PHASE_MS; i++) {
    await sleep(Math.max(0, startTime + (i * 1000) / WRITES_A_SECOND - performance.now()))
    const one = listeners[i % listeners.length] as Listener
    const sentAt = performance.now()
    const timestamp = { __type: 'Date', iso: new Date().toISOString() }
    const body = { carePlanId: one.carePlanId, weight: 60 + (i % 40), weightUnit: 'kg', timestamp }
    const write = postJson(one, '/1/classes/BodyWeight', body).then(({ objectId = '' }) => {
      respondedAt.set(objectId, performance.now())
      took.push(performance.now() - sentAt)
    })
    writing.push(write)
  }
  await Promise.all(writing)
  await sleep(1000)
  return took
}

const quantile = (values: number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN

const inMs = (values: number[]): string =>
  `p50 ${quantile(values, 0.5).toFixed(0)} ms, p99 ${quantile(values, 0.99).toFixed(0)} ms`

async function runPhase(name: string, listeners: readonly Listener[], ofEach: number): Promise<void> {
  respondedAt.clear()
  events.length = 0
  const took = await writeRecords(listeners)
  const delays = events.flatMap(({ id, at }) => {
    const then = respondedAt.get(id)
    return then === undefined ? [] : [Math.max(0, at - then)]
  })
  const expectedCount = respondedAt.size * ofEach
  const p99 = quantile(delays, 0.99)
  const verdict = p99 <= MAX_DELAY_MS && delays.length === expectedCount ? 'met' : 'MISSED'
  const delivered = `${delays.length} of ${expectedCount} events, ${inMs(delays)}, aim <= ${MAX_DELAY_MS} ms: ${verdict}`
  process.stdout.write(
    `${name}: ${took.length} writes, ${inMs(took)}${expectedCount > 0 ? `; ${delivered}` : ''}\n`,
  )
}

/** Opens a socket that reads no events. @returns whether the service closed it, as a text */
async function stopReading(listener: Listener): Promise<string> {
  const socket = await listen(listener, 'Custom', 90)
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)))
  socket.pause()
  const payload = { text: 'x'.repeat(9_000) }
  const { ehrId, carePlanId } = listener
  const custom = { ehrId, carePlanId, modelClassName: 'Diary', payload }
  for (let i = 0; i < 16; i++) {
    await postJson(listener, '/1/classes/Custom', custom)
    await sleep(300)
  }
  socket.resume()
  return (await Promise.race([closed, sleep(5000, false)])) ? 'was cut off' : 'was NOT cut off'
}

export async function benchmarkLive(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const side = await launchParseSide('ours', '../server/main.js', engine.uri)
  const uri = withDatabase(engine.uri, 'ours')
  const listeners: Listener[] = []
  for (let i = 0; i < ACCOUNTS; i++) listeners.push(await newListener(side, uri, i))
  await runPhase('no subscriber', listeners, 0)
  const sockets: WebSocket[] = []
  // One after the other, since an address may have at most 100 sockets that have not logged in yet.
  for (const listener of listeners)
    sockets.push(
      ...(await Promise.all(Array.from({ length: SOCKETS_OF_EACH }, () => listen(listener, 'BodyWeight')))),
    )
  await runPhase(`${sockets.length} sockets`, listeners, SOCKETS_OF_EACH)
  // An account may have at most 20 sockets, so the slow one has an account of its own.
  const slow = await newListener(side, uri, ACCOUNTS)
  const [outcome] = await Promise.all([
    stopReading(slow),
    runPhase('while one socket reads nothing', listeners, SOCKETS_OF_EACH),
  ])
  process.stdout.write(`It ${outcome}; ${(await readResidentMegabytes(side.child?.pid)).toFixed(0)} MB\n`)
  for (const socket of sockets) socket.terminate()
  await stopSide(side)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
