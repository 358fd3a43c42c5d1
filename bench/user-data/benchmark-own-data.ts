/**
 * A user's own data and chat in the path family, with auditing, compared with a handwritten service that looks up the same plan,
 * topic, messages and names, on one engine. Measurements of a data type are stored in batches of 1,000, and listed.
 * Messages are posted to one topic, and the newest hundred are read. Writes differ: ours add a history and an audit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import { MongoClient } from 'mongodb'
import {
  compareSides,
  createGet,
  createRequest,
  describeVerdict,
  type Figures,
  postJson,
  type Side,
  signIn,
  signInByPathFamily,
  stopSide,
} from '../frame/compare-sides.ts'
import { startExpressSide } from '../peers/express-side.ts'
import { account, startParseSide } from '../peers/parse-side.ts'

const BATCH_SIZE = 1000
const MESSAGES = 100
const MIN_STORED = 4000
/** The minimal ratio to the rate of the handwritten service. */
const aims: Record<string, number> = { 'list of 100': 0.6, post: 0.5, 'read 100': 0.6 }

interface UserDataSide extends Side {
  /** The path of the measurements. */
  data: string
  /** The path of the topic. */
  topic: string
}

/** The time between two measurements. An EHR has a daily limit, which more frequent ones would exceed. */
const TEN_MINUTES_MS = 600_000
const NEWEST_TIME_MS = Date.UTC(2026, 0, 1)
const steps = (carePlanId: string, i: number) => ({
  carePlanId,
  dataType: 'steps',
  value: 100 + (i % 900),
  timestamp: new Date(NEWEST_TIME_MS - i * TEN_MINUTES_MS).toISOString(),
})

const text = 'Do the new tablets go with the old ones?'

async function startOurs(engineUri: string): Promise<UserDataSide & { carePlanId: string }> {
  const side = await startParseSide('ours', '../server/main.js', engineUri)
  const byPath = await signInByPathFamily(side, account)
  const { carePlanId } = await createPlanInOwnEhr(byPath, side.ehrId)
  const chat = `/chat/careplan/${carePlanId}`
  const { id } = await postJson(byPath, chat, { title: 'Tablets', text })
  for (let i = 1; i < MESSAGES; i++) await postJson(byPath, `${chat}/${id}`, { text })
  return { ...byPath, carePlanId, data: `/data/${side.userId}/measurement`, topic: `${chat}/${id}` }
}

/** Deletes the other EHR, since users have one, and creates a plan in the user's own. */
async function createPlanInOwnEhr({ url, headers }: Side, other: string): Promise<{ carePlanId: string }> {
  await fetch(`${url}/med/ehr/${other}`, { method: 'DELETE', headers })
  const { items } = (await (await fetch(`${url}/ehr`, { headers })).json()) as { items: { id: string }[] }
  const body = JSON.stringify({ name: 'bench' })
  const response = await fetch(`${url}/ehr/${items[0]?.id}/careplan`, { method: 'POST', headers, body })
  return { carePlanId: ((await response.json()) as { id: string }).id }
}

async function startExpress(engineUri: string): Promise<UserDataSide & { userId: string }> {
  const side = await startExpressSide(engineUri, { name: 'Bench' })
  await signIn(side, '/login', account)
  const { topicId, planId } = await postJson(side, '/talk', { id: side.userId })
  const topic = `/chat/${side.userId}/${planId}/${topicId}`
  for (let i = 0; i < MESSAGES; i++) await postJson(side, topic, { text })
  const data = `/data/${side.userId}/measurement`
  return { ...side, data, topic }
}

/** Copies the stored measurements to the other side's user, so that both list rows of the same size. */
async function copyMeasurements(engineUri: string, owner: string): Promise<void> {
  const client = await MongoClient.connect(engineUri)
  const [from, to] = ['ours', 'express'].map((name) => client.db(name).collection('Measurement'))
  const rows = (await from?.find().toArray()) ?? []
  await to?.insertMany(rows.map((row) => ({ ...row, owner, _rperm: [owner], _wperm: [owner] })))
  await client.close()
}

/** A request whose measurements are new each time. */
function createStoreRequest({ data, carePlanId }: UserDataSide & { carePlanId: string }): Request {
  let sentCount = 0
  const batch = () => Array.from({ length: BATCH_SIZE }, () => steps(carePlanId, sentCount++))
  const setupRequest = (request: Request) => ({ ...request, body: JSON.stringify(batch()) })
  const onResponse = (status: number, body: string) => {
    if (!body.includes(`"stored":${BATCH_SIZE},`))
      throw new Error(`${status}: not all of a batch were stored`)
  }
  return { ...createRequest('POST', data, {}), setupRequest, onResponse }
}

function writeAims(table: Map<string, Figures[]>): void {
  process.stdout.write('\n')
  for (const [name, [our, other]] of table) {
    const rate = our?.rate ?? 0
    const ratio = rate / (other?.rate ?? Number.NaN)
    const aim = aims[name]
    const line =
      aim === undefined
        ? `${Math.round(rate * BATCH_SIZE)} measurements/s, aim >= ${MIN_STORED}: ${describeVerdict(rate * BATCH_SIZE >= MIN_STORED)}`
        : `${ratio.toFixed(2)} of A: Express, aim >= ${aim}: ${describeVerdict(ratio >= aim)}`
    process.stdout.write(`${name.padEnd(18)}${line}\n`)
  }
}

export async function benchmarkOwnData(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const us = await startOurs(engine.uri)
  const express = await startExpress(engine.uri)
  const request = createStoreRequest(us)
  const stored = await compareSides([us], {
    [`batch of ${BATCH_SIZE}`]: { requests: () => [request], connections: 4, warmUp: 8 },
  })
  await copyMeasurements(engine.uri, express.userId)
  const comparison = await compareSides<UserDataSide>([us, express], {
    'list of 100': { requests: ({ data }) => [createGet(`${data}?limit=100`)] },
    'read 100': { requests: ({ topic }) => [createGet(`${topic}?limit=100`)] },
    post: { requests: ({ topic }) => [createRequest('POST', topic, { text })] },
  })
  writeAims(new Map([...stored, ...comparison]))
  for (const side of [us, express]) await stopSide(side)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
