/**
 * The cost of the store: handlers on the bare driver compared with handlers with the store, with and without audit, in turn. It
 * prints medians of the rounds with 24 connections: requests/s, ms, and the processor time of a request for service, engine
 * and load together.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { Type } from '@sinclair/typebox'
import autocannon from 'autocannon'
import express, { type RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import { MongoClient } from 'mongodb'
import { accessesOfList } from '../records/ehrs/rights/query-accesses.ts'
import { containedCollections } from '../records/kinds.ts'
import { auditIndexes, openAuditLog } from '../records/store/audit/audit-log.ts'
import { BulkWriteSupport } from '../records/store/batching/pending-writes.ts'
import type { Caller } from '../records/store/documents/caller.ts'
import { newId } from '../records/store/documents/ids.ts'
import { JobRunner } from '../records/store/jobs/background-jobs.ts'
import { Store } from '../records/store/store.ts'
import { EhrLocks } from '../records/store/writing/ehr-locks.ts'
import { ROUND_SECONDS, ROUNDS } from './frame/compare-sides.ts'

const CONNECTIONS = 24
const EHRS = 100
const PER_EHR = 100

const Pressure = Type.Object({
  ehrId: Type.String(),
  timestamp: Type.String({ format: 'date-time' }),
  systolic: Type.Number(),
  diastolic: Type.Number(),
})

const caller = (): Caller => ({
  userId: 'subject',
  roles: ['ehr-1-read'],
  application: 'bench',
  requestId: newId(),
})
const permissions = { read: ['subject'], write: ['subject'] }
const randomInt = (most: number) => Math.floor(Math.random() * most)
const pressure = () => ({
  ehrId: `ehr${randomInt(EHRS)}`,
  timestamp: new Date(Date.now() - randomInt(1e9)).toISOString(),
  systolic: 100 + randomInt(60),
  diastolic: 60 + randomInt(30),
})

const dataDir = await mkdtemp(join(tmpdir(), 'bench-store-'))
const engine = await startEmbeddedMongo({ dataDir })
const client = new MongoClient(engine.uri)
const db = client.db('bench')

/** The processor time of this process and the engine, in ms. */
async function readProcessorTime(): Promise<number> {
  const { user, system } = process.cpuUsage()
  const stat = (await readFile(`/proc/${engine.pid}/stat`, 'utf8')).split(' ')
  const ticks = Number(stat[13]) + Number(stat[14])
  return (user + system) / 1000 + ticks * 10
}
const clock = () => new Date()
const audit = await openAuditLog({
  db,
  key: 'bench',
  clock,
  onFault: (fault) => process.stderr.write(`${fault}\n`),
})
const records = {
  client,
  db,
  clock,
  audit,
  contents: containedCollections,
  definitions: new LRUCache<string, object>({ max: 10 }),
  jobs: new JobRunner({ client, db }, [], false),
  ehrLocks: new EhrLocks(),
  bulkWrites: new BulkWriteSupport(),
  accessesOfList,
  notifyOfPendingEhr: async () => {},
}
const resource = {
  collection: 'Pressure',
  schema: Pressure,
  lists: { newest: { requiredFields: ['ehrId'], sort: 'timestamp', order: 'desc' } },
} as const
const unaudited = new Store<typeof Pressure, 'newest'>(records, resource)
const store = new Store<typeof Pressure, 'newest'>(records, { ...resource, ehr: 'ehrId' })
for (const [collection, indexes] of [store.indexes(), ...Object.entries(auditIndexes)]) {
  await db.collection(collection).createIndexes(indexes)
}
const ids: string[] = []
for (let ehr = 0; ehr < EHRS; ehr++) {
  const inputs = Array.from({ length: PER_EHR }, () => ({ ...pressure(), ehrId: `ehr${ehr}` }))
  ids.push(...(await unaudited.createAll(caller(), inputs, permissions)).map(({ id }) => id))
}
const anyId = () => ids[randomInt(ids.length)] ?? ''

const respondWith = (work: () => Promise<unknown>): RequestHandler => {
  return (_request, response, next) => work().then((body) => response.json(body), next)
}
const bare = db.collection<{ _id: string }>('Pressure')
const createListOptions = () => ({ where: { ehrId: `ehr${randomInt(EHRS)}` }, limit: 100 })
const raiseSystolic = <T extends { systolic: number }>(now: T): T => ({ ...now, systolic: now.systolic + 1 })
const app = express()
  .get(
    '/get/bare',
    respondWith(() => bare.findOne({ _id: anyId() })),
  )
  .get(
    '/get/unaudited',
    respondWith(() => unaudited.get(caller(), { id: anyId() })),
  )
  .get(
    '/get/store',
    respondWith(() => store.get(caller(), { id: anyId() })),
  )
  .get(
    '/list/bare',
    respondWith(() =>
      bare
        .find({ ehrId: `ehr${randomInt(EHRS)}` })
        .sort({ timestamp: -1, _id: -1 })
        .limit(100)
        .toArray(),
    ),
  )
  .get(
    '/list/unaudited',
    respondWith(() => unaudited.list(caller(), 'newest', createListOptions())),
  )
  .get(
    '/list/store',
    respondWith(() => store.list(caller(), 'newest', createListOptions())),
  )
  .get(
    '/create/bare',
    respondWith(() => bare.insertOne({ _id: newId(), ...pressure() })),
  )
  .get(
    '/create/store',
    respondWith(() => store.create(caller(), pressure(), permissions)),
  )
  .get(
    '/update/bare',
    respondWith(() => bare.findOneAndUpdate({ _id: anyId() }, { $inc: { systolic: 1, version: 1 } })),
  )
  .get(
    '/update/store',
    respondWith(() => store.update(caller(), { id: anyId() }, raiseSystolic)),
  )
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo

const paths = ['get', 'list', 'create', 'update'].flatMap((work) =>
  (work === 'get' || work === 'list' ? ['bare', 'unaudited', 'store'] : ['bare', 'store']).map(
    (by) => `/${work}/${by}`,
  ),
)
const measured = new Map<
  string,
  Array<Record<'rate' | 'p50' | 'p99' | 'cpuMicroseconds' | 'failed', number>>
>()
for (let round = 0; round < ROUNDS; round++) {
  for (const path of paths) {
    const before = await readProcessorTime()
    const options = {
      url: `http://127.0.0.1:${port}${path}`,
      connections: CONNECTIONS,
      duration: ROUND_SECONDS,
    }
    const { requests, latency, non2xx: failed } = await autocannon(options)
    await setTimeout(200)
    const cpuMicroseconds = Math.round(((await readProcessorTime()) - before) * 1000) / requests.total
    const figures = { rate: requests.average, p50: latency.p50, p99: latency.p99, cpuMicroseconds, failed }
    measured.set(path, [...(measured.get(path) ?? []), figures])
  }
}
for (const [path, figures] of measured) {
  const median = (of: keyof (typeof figures)[number]) =>
    figures.map((figure) => figure[of]).sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0
  const line = (['rate', 'p50', 'p99', 'cpuMicroseconds', 'failed'] as const).map((of) =>
    `${of} ${Math.round(median(of))}`.padEnd(of === 'cpuMicroseconds' ? 24 : 12),
  )
  process.stdout.write(`${path.padEnd(18)} ${line.join(' ')}\n`)
}
server.close()
await audit.close()
await client.close()
await engine.stop()
await rm(dataDir, { recursive: true })
