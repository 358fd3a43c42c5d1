/**
 * Prints the bytes that typical writes and reads store: by collection, and for an audit entry by its action, in the present
 * form and in that of earlier releases. Counts BSON, without indexes and free space.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { BSON, type Db, MongoClient } from 'mongodb'
import { auditEntryCollection } from '../../records/store/audit/audit-log.ts'
import { decodeAuditEntry } from '../../records/store/audit/chains/entry-format.ts'
import { postJson, type Side, signInByPathFamily, stopSide } from '../frame/compare-sides.ts'
import { account, startParseSide } from '../peers/parse-side.ts'

const WRITES = 500
const READS_PER_WRITE = 2

const weight = { weight: 70, weightUnit: 'kg', timestamp: '2026-03-01T08:30:00Z' }

async function readJson({ url, headers, name }: Side, path: string): Promise<void> {
  const answer = await fetch(url + path, { headers })
  if (!answer.ok) throw new Error(`${name} ${path}: ${answer.status}`)
  await answer.arrayBuffer()
}

/** Writes measurements one by one, and reads each of them and the newest 20 after it. */
async function writeAndRead(side: Side, ehrId: string, carePlanId: string): Promise<void> {
  const weights = `/ehr/${ehrId}/procedure/bodyweight`
  for (let i = 0; i < WRITES; i++) {
    const { id } = await postJson(side, weights, { carePlanId, ...weight })
    for (let read = 0; read < READS_PER_WRITE; read++) await readJson(side, `${weights}/${id}`)
    if (i % 5 === 0) await readJson(side, `${weights}?limit=20`)
  }
}

const mean = (sizes: number[]): string =>
  (sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toFixed(0)

async function* tableLines(db: Db): AsyncGenerator<string> {
  yield '| collection | documents | bytes | each |\n| --- | --- | --- | --- |'
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
    const documents = await db.collection(name).find().toArray()
    const sizes = documents.map((document) => BSON.calculateObjectSize(document))
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    if (bytes > 100_000) yield `| ${name} | ${sizes.length} | ${bytes} | ${mean(sizes)} |`
  }
  yield '\n| audit entry | entries | stored | earlier form |\n| --- | --- | --- | --- |'
  const entries = await auditEntryCollection(db).find().toArray()
  for (const action of new Set(entries.map(({ action }) => action))) {
    const some = entries.filter((entry) => entry.action === action)
    const stored = some.map((entry) => BSON.calculateObjectSize(entry))
    const earlier = some.map((entry) => BSON.calculateObjectSize(decodeAuditEntry(entry)))
    yield `| ${action} | ${some.length} | ${mean(stored)} | ${mean(earlier)} |`
  }
}

const dataDir = mkdtempSync(join(tmpdir(), 'bench-bytes-'))
const engine = await startEmbeddedMongo({ dataDir })
const side = await startParseSide('ours', '../server/main.js', engine.uri)
await writeAndRead(await signInByPathFamily(side, account), side.ehrId, side.carePlanId)
await stopSide(side)
const client = await MongoClient.connect(withDatabase(engine.uri, 'ours'))
for await (const line of tableLines(client.db())) process.stdout.write(`${line}\n`)
await client.close()
await engine.stop()
rmSync(dataDir, { recursive: true, force: true })
