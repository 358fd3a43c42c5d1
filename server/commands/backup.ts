import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { restoreBackup, runningUriOf, startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { readConfig } from '../config/config.ts'
import { pathExists } from '../config/data-directory.ts'
import { createStartClient } from '../database/client-options.ts'
import { EMBEDDED_DATABASE } from '../database/open-database.ts'
import { recordBackup } from '../records/last-backup.ts'
import { describeFault, type Terminal } from './terminal.ts'

const usage = `Usage: health-record-service backup DIR
         Writes a copy of the embedded database at the moment when it begins, with a checksum, to DIR. DIR must be
         empty or must not exist. The service can keep running.
       health-record-service restore DIR TARGET
         Restores the copy in DIR to TARGET/database and verifies it. TARGET/database must be empty or must not
         exist. Start the service with DATA_DIR=TARGET afterwards.

Both commands read the environment variables of the service. If one is interrupted, run it again; a running service may
have finished the backup. Back up DATA_DIR/keys.json, too, in another place. Put it into TARGET before you start the
service, which needs the keys of the copied database. For a MongoDB of MONGODB_URI use mongodump and mongorestore.
`

interface BackupReceipt {
  bytes: number
  sha256: string
  at: string
}

/** @throws Error when the directory is not empty */
async function backUp(directory: string, { env, stderr }: Terminal): Promise<string> {
  const config = readConfig(env, false, { requiresDataDir: true })
  if (config.mongodbUri !== undefined)
    throw new Error('The data is in the MongoDB of MONGODB_URI. Back it up with mongodump.')
  const data = join(config.dataDir, 'database')
  if (!pathExists(data)) throw new Error(`There is no database in DATA_DIR (${config.dataDir}).`)
  const running = await runningUriOf(data)
  const engine = running === undefined ? await startEmbeddedMongo({ dataDir: data }) : undefined
  const client = createStartClient(running ?? engine?.uri ?? '')
  const progress = setInterval(() => reportProgress(directory, stderr), 1000)
  try {
    const receipt = await client.db('admin').command({ backup: 1, directory })
    const { bytes, sha256, at } = receipt as unknown as BackupReceipt
    await recordBackup(client.db(EMBEDDED_DATABASE), new Date(at)).catch((error: Error) =>
      stderr.write(`The backup is complete, but the service cannot show its time: ${error.message}\n`),
    )
    const time = `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
    return `Backup of ${time} written to ${directory} (${formatSize(bytes)}, SHA-256 ${sha256}).`
  } finally {
    clearInterval(progress)
    await client.close()
    await engine?.stop()
  }
}

function reportProgress(directory: string, out: Terminal['stderr']): void {
  const fileStats = statSync(join(directory, 'data.mdb.part'), { throwIfNoEntry: false })
  if (fileStats) out.write(`${formatSize(fileStats.size)} copied\n`)
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

function formatSize(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1)
  return `${Number((bytes / 1024 ** power).toPrecision(3))} ${UNITS[power]}`
}

/** @throws Error when the copy differs from the backup, or the target is not empty */
async function restore(directory: string, target: string): Promise<string> {
  const data = join(target, 'database')
  await restoreBackup(directory, data)
  // The engine verifies a file that is new to it completely.
  const engine = await startEmbeddedMongo({ dataDir: data })
  await engine.stop()
  return `Restored and verified in ${data}. Put the keys.json of this database into ${target}, then start the service with DATA_DIR=${target}.`
}

/**
 * Runs the commands backup and restore.
 * @returns the exit code
 */
export async function runBackupCommand([command, ...args]: string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr } = terminal
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [directory, target] = positionals.map((path) => path && resolve(path))
    if (values.help) stdout.write(usage)
    else if (command === 'backup' && directory && positionals.length === 1)
      stdout.write(`${await backUp(directory, terminal)}\n`)
    else if (command === 'restore' && directory && target && positionals.length === 2)
      stdout.write(`${await restore(directory, target)}\n`)
    else throw new Error(`${command} takes ${command === 'backup' ? 'DIR' : 'DIR and TARGET'}. See --help.`)
    return 0
  } catch (error) {
    stderr.write(`${describeFault(error)}\n`)
    return 1
  }
}
