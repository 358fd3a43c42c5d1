import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runningUriOf, startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { findWeakUriOptions, readConfig } from '../config/config.ts'
import { markAsMoved, pathExists } from '../config/data-directory.ts'
import { mongodbUri } from '../config/setting-kinds.ts'
import { checkServer, createStartClient } from '../database/client-options.ts'
import {
  type CollectionContents,
  type CopyProgress,
  copyDatabase,
  finishCopy,
} from '../database/copy-database.ts'
import { waitForDatabase } from '../database/database-wait.ts'
import { EMBEDDED_DATABASE, withoutCredentials } from '../database/open-database.ts'
import { describeFault, type Terminal } from './terminal.ts'

const usage = `Usage: health-record-service move [--to mongodb://HOST/DATABASE?replicaSet=NAME]

Copies the embedded database of DATA_DIR, with its indexes, into an empty database of a MongoDB replica set (7.0 or
later): that of MONGODB_URI, or of --to. Other users of this machine can read a password in --to. Then it compares the
number of documents and a digest of each collection. If it is interrupted, run it again to continue. The database of
DATA_DIR stays, but the service and its commands refuse it from then on.

Stop the service first. To move while it runs, make a backup and move that:
  health-record-service backup COPY
  health-record-service restore COPY TARGET
  DATA_DIR=TARGET MONGODB_URI=… health-record-service move
Changes after the backup are not moved.

The command reads the environment variables of the service. Afterwards start the service with MONGODB_URI and the same
DATA_DIR, or with its keys.json in another DATA_DIR: the service needs the keys of its database.
`

const COPY_REPORT_INTERVAL_MS = 1000

function createProgressReport({ stderr }: Terminal): (progress: CopyProgress) => void {
  let reportedAt = 0
  return ({ collection, documents, total }) => {
    if (Date.now() - reportedAt < COPY_REPORT_INTERVAL_MS) return
    reportedAt = Date.now()
    stderr.write(`${collection}: ${documents} of about ${total} documents copied\n`)
  }
}

/** @param name where the URI comes from */
async function moveDatabase(name: string, to: string, terminal: Terminal): Promise<string> {
  if (mongodbUri.read(to) === undefined) throw new Error(`${name} must be ${mongodbUri.mustBe}`)
  const weakOptions = findWeakUriOptions(name, to)
  if (weakOptions.length > 0) throw new Error(weakOptions.join('\n'))
  const { dataDir } = readConfig({ ...terminal.env, MONGODB_URI: to }, false, { requiresDataDir: true })
  const data = join(dataDir, 'database')
  if (!pathExists(data)) throw new Error(`There is no database in DATA_DIR (${dataDir}).`)
  if ((await runningUriOf(data)) !== undefined)
    throw new Error(`The service is running on ${dataDir}. Stop it, or move a backup (see --help).`)
  await waitForDatabase(to, name, (line) => terminal.stderr.write(`${line}\n`))
  const target = createStartClient(to)
  try {
    await checkServer(target)
    const engine = await startEmbeddedMongo({ dataDir: data })
    const source = createStartClient(engine.uri)
    try {
      // Documents that expire during the copy would be missing.
      await source.db('admin').command({ setParameter: 1, ttlMonitorSleepSecs: 1_000_000 })
      const report = createProgressReport(terminal)
      const contentsByName = await copyDatabase(source.db(EMBEDDED_DATABASE), target.db(), report)
      // First, since the copy cannot be repeated once it is finished.
      markAsMoved(dataDir, withoutCredentials(to))
      await finishCopy(target.db())
      return describeCopy(contentsByName)
    } finally {
      await source.close()
      await engine.stop()
    }
  } finally {
    await target.close()
  }
}

function describeCopy(contentsByName: ReadonlyMap<string, CollectionContents>): string {
  const lines = [...contentsByName].map(
    ([name, { documents, digest }]) =>
      `${name}: ${documents} ${documents === 1 ? 'document' : 'documents'}, digest ${digest}\n`,
  )
  return `${lines.join('')}All ${contentsByName.size} collections are equal in both databases.\n`
}

/**
 * Runs the move command.
 * @returns the exit code
 */
export async function runMoveCommand(args: string[], terminal: Terminal): Promise<number> {
  const options = { to: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  try {
    const { values } = parseArgs({ args, options })
    if (values.help) terminal.stdout.write(usage)
    else if (values.to !== undefined) terminal.stdout.write(await moveDatabase('--to', values.to, terminal))
    else if (terminal.env.MONGODB_URI)
      terminal.stdout.write(await moveDatabase('MONGODB_URI', terminal.env.MONGODB_URI, terminal))
    else throw new Error('MONGODB_URI or --to is required. See --help.')
    return 0
  } catch (error) {
    terminal.stderr.write(`${describeFault(error)}\n`)
    return 1
  }
}
