import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { addressOf, restoreBackup, startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { readConfig } from '../config/config.ts'
import { createStartClient } from '../database/client-options.ts'

const usage = `Usage: health-record-service backup DIR
         Copies the embedded database, as it is at one moment, into DIR, which must be empty or must not exist. The
         service can keep running. A checksum is kept with the copy.
       health-record-service restore DIR TARGET
         Makes TARGET/database, which must be empty or must not exist, from a copy, and verifies all of it; then
         start the service with DATA_DIR=TARGET.

Both read the environment variables of the service. Keep DATA_DIR/keys.json as well, elsewhere, and put it into
TARGET before the service starts: it starts on a copy with the keys of that copy only. A MongoDB of MONGODB_URI has its
own tools, mongodump and mongorestore.
`

interface BackupReceipt {
  bytes: number
  sha256: string
  at: string
}

/** @throws Error when the directory is not empty */
async function backUp(directory: string): Promise<string> {
  const config = readConfig(process.env, false)
  if (config.mongodbUri !== undefined)
    throw new Error('The data are in the MongoDB of MONGODB_URI: use mongodump')
  const data = join(config.dataDir, 'database')
  if (!existsSync(data)) throw new Error(`There is no database in ${config.dataDir}`)
  const running = await addressOf(data)
  const engine = running === undefined ? await startEmbeddedMongo({ dataDir: data }) : undefined
  const client = createStartClient(running ?? engine?.uri ?? '')
  const progress = setInterval(() => reportProgress(directory), 1000)
  try {
    const receipt = await client.db('admin').command({ backup: 1, directory })
    const { bytes, sha256, at } = receipt as unknown as BackupReceipt
    return `${bytes} bytes of ${at} are in ${directory}, SHA-256 ${sha256}`
  } finally {
    clearInterval(progress)
    await client.close()
    await engine?.stop()
  }
}

function reportProgress(directory: string): void {
  const copied = statSync(join(directory, 'data.mdb'), { throwIfNoEntry: false })
  if (copied) process.stderr.write(`${copied.size} bytes copied\n`)
}

/** @throws Error when the copy differs from the backup, or the target is not empty */
async function restore(directory: string, target: string): Promise<string> {
  const data = join(target, 'database')
  await restoreBackup(directory, data)
  // The engine verifies a file that is new to it completely.
  const engine = await startEmbeddedMongo({ dataDir: data })
  await engine.stop()
  return `${data} is complete and verified; put its keys.json into ${target}, and start the service with DATA_DIR=${target}`
}

async function main(): Promise<void> {
  const [command, ...directories] = process.argv.slice(2)
  const [directory, target] = directories.map((path) => resolve(path))
  if (directory?.endsWith('--help')) process.stdout.write(usage)
  else if (command === 'backup' && directory && directories.length === 1)
    process.stdout.write(`${await backUp(directory)}\n`)
  else if (command === 'restore' && directory && target && directories.length === 2)
    process.stdout.write(`${await restore(directory, target)}\n`)
  else throw new Error(usage)
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message ?? error}\n`)
  process.exitCode = 1
})
