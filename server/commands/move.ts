import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addressOf, startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { readConfig } from '../config/config.ts'
import { checkServer, createStartClient } from '../database/client-options.ts'
import { type CollectionContents, type CopyProgress, copyDatabase } from '../database/copy-database.ts'

const usage = `Usage: health-record-service move --to mongodb://HOST/DATABASE?replicaSet=NAME

Copies the embedded database of DATA_DIR into an empty database of a MongoDB, a replica set of version 7.0 or later:
collections, documents and indexes. In the end it compares both, the number of documents and a digest of each collection.
When it was interrupted, the same command goes on where it was. DATA_DIR stays as it is.

The service must be stopped. To move while it runs, make a copy first, and move that:
  health-record-service backup COPY
  health-record-service restore COPY TARGET
  DATA_DIR=TARGET health-record-service move --to …
What is written after the backup is not in it.

It takes the environment of the service. Start the service with MONGODB_URI afterwards, and the same DATA_DIR or its
keys.json in another one: the service starts on these data with their keys only.
`

const lastReport = { at: 0 }
function reportProgress({ collection, documents, of }: CopyProgress): void {
  if (Date.now() - lastReport.at < 1000) return
  lastReport.at = Date.now()
  process.stderr.write(`${collection}: ${documents} of about ${of} documents\n`)
}

async function moveDatabase(to: string): Promise<string> {
  // Reports errors of the address in the words of the service.
  const { dataDir } = readConfig({ ...process.env, MONGODB_URI: to }, false)
  const data = join(dataDir, 'database')
  if (!existsSync(data)) throw new Error(`There is no database in ${dataDir}`)
  if ((await addressOf(data)) !== undefined)
    throw new Error(`The service is running on ${dataDir}: stop it, or move a backup (--help)`)
  const target = createStartClient(to)
  try {
    await checkServer(target)
    const engine = await startEmbeddedMongo({ dataDir: data })
    const source = createStartClient(engine.uri)
    try {
      // Documents that expire during the copy would be missing.
      await source.db('admin').command({ setParameter: 1, ttlMonitorSleepSecs: 1_000_000 })
      return describeCopy(await copyDatabase(source.db('health-record'), target.db(), reportProgress))
    } finally {
      await source.close()
      await engine.stop()
    }
  } finally {
    await target.close()
  }
}

function describeCopy(copied: ReadonlyMap<string, CollectionContents>): string {
  const lines = [...copied].map(([name, { documents, digest }]) => `${name}: ${documents}, ${digest}\n`)
  return `${lines.join('')}${copied.size} collections are the same in both\n`
}

async function main(): Promise<void> {
  const options = { to: { type: 'string' }, help: { type: 'boolean' } } as const
  const { values } = parseArgs({ options })
  if (values.help) process.stdout.write(usage)
  else if (values.to === undefined) throw new Error(usage)
  else process.stdout.write(await moveDatabase(values.to))
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message ?? error}\n`)
  process.exitCode = 1
})
