/**
 * A user's own data and chat in the path family, with auditing on, beside a handler written by hand that looks up the same
 * plan, topic, messages, names and unread ones, on one engine: measurements of a data type stored 1,000 at a time, and
 * listed, the same ones on both sides; messages posted in one topic, and the newest hundred read. Not alike: our writes
 * keep a history and an audit.
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
/** The least that ours is to reach of what the handler written by hand does. */
const aims: Record<string, number> = { 'list of 100': 0.6, post: 0.5, 'read 100': 0.6 }

interface TalkingSide extends Side {
  /** Where its measurements are, and the topic. */
  data: string
  topic: string
}

/** Every ten minutes, back in time: fewer a day than an EHR takes. */
const TEN_MINUTES_MS = 600_000
const NEWEST_TIME_MS = Date.UTC(2026, 0, 1)
const steps = (carePlanId: string, i: number) => ({
  ...{ carePlanId, dataType: 'steps', value: 100 + (i % 900) },
  timestamp: new Date(NEWEST_TIME_MS - i * TEN_MINUTES_MS).toISOString(),
})

const text = 'Do the new tablets go with the old ones?'

async function startOurs(engineUri: string): Promise<TalkingSide & { carePlanId: string }> {
  const side = await startParseSide('ours', '../server/main.js', engineUri)
  const byPath = await signInByPathFamily(side, account)
  const { carePlanId } = await createPlanInOwnEhr(byPath, side.ehrId)
  const chat = `/chat/careplan/${carePlanId}`
  const { id } = await postJson(byPath, chat, { title: 'Tablets', text })
  for (let i = 1; i < MESSAGES; i++) await postJson(byPath, `${chat}/${id}`, { text })
  return { ...byPath, carePlanId, data: `/data/${side.userId}/measurement`, topic: `${chat}/${id}` }
}

/** A plan in the only EHR that the user has, as users have one. */
async function createPlanInOwnEhr({ url, headers }: Side, other: string): Promise<{ carePlanId: string }> {
  await fetch(`${url}/med/ehr/${other}`, { method: 'DELETE', headers })
  const { items } = (await (await fetch(`${url}/ehr`, { headers })).json()) as { items: { id: string }[] }
  const body = JSON.stringify({ name: 'bench' })
  const made = await fetch(`${url}/ehr/${items[0]?.id}/careplan`, { method: 'POST', headers, body })
  return { carePlanId: ((await made.json()) as { id: string }).id }
}

async function startExpress(engineUri: string): Promise<TalkingSide & { userId: string }> {
  const side = await startExpressSide(engineUri, { name: 'Bench' })
  await signIn(side, '/login', account)
  const { topicId, planId } = await postJson(side, '/talk', { id: side.userId })
  const topic = `/chat/${side.userId}/${planId}/${topicId}`
  for (let i = 0; i < MESSAGES; i++) await postJson(side, topic, { text })
  const data = `/data/${side.userId}/measurement`
  return { ...side, data, topic }
}

/** The measurements that one side has stored are the other one's user's, too: rows of the same size are listed. */
async function copyMeasurements(engineUri: string, owner: string): Promise<void> {
  const client = await MongoClient.connect(engineUri)
  const [from, to] = ['ours', 'express'].map((name) => client.db(name).collection('Measurement'))
  const rows = (await from?.find().toArray()) ?? []
  await to?.insertMany(rows.map((row) => ({ ...row, owner, _rperm: [owner], _wperm: [owner] })))
  await client.close()
}

/** Each one stores what is new. */
function createStoreRequest({ data, carePlanId }: TalkingSide & { carePlanId: string }): Request {
  let sent = 0
  const batch = () => Array.from({ length: BATCH_SIZE }, () => steps(carePlanId, sent++))
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

/** Measures all of it, one after the other. */
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
  const compared = await compareSides<TalkingSide>([us, express], {
    'list of 100': { requests: ({ data }) => [createGet(`${data}?limit=100`)] },
    'read 100': { requests: ({ topic }) => [createGet(`${topic}?limit=100`)] },
    post: { requests: ({ topic }) => [createRequest('POST', topic, { text })] },
  })
  writeAims(new Map([...stored, ...compared]))
  for (const side of [us, express]) await stopSide(side)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
