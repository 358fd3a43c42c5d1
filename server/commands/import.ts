import { createHash } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { SETTINGS } from '../config/service-settings.ts'
import { localUrlOf, readServiceUrls, urlFileOf } from '../config/service-urls.ts'
import { webUrl } from '../config/setting-kinds.ts'
import type { ImportTally } from '../import/import-entries.ts'
import { describeFault, type Terminal } from './terminal.ts'

const usage = `Usage: health-record-service import --file F --ehr E --care-plan P [--map M] [--url U] [--user ADDRESS]

Logs in to a running service and stores the measurements of a file: CSV (columns by header or mapping file), an array of
Open mHealth data points, or a FHIR R4 bundle (Observation, Condition, AllergyIntolerance, MedicationStatement,
Immunization, Device). Bundles and data points must be about one person.

  --file       *.csv or *.json, in UTF-8
  --ehr        Id of the EHR
  --care-plan  Id of the care plan for the measurements
  --map        JSON: [{"when": {"column": "text"}, "kind": "bodyweight", "timestamp": "{column}", "weight": "{column}", …}]
  --url        URL of the service (default: that of the service on DATA_DIR, else HOST and PORT)
  --user       E-mail address for the login (default: the environment variable IMPORT_USER)

The password is read from IMPORT_PASSWORD or standard input; on a terminal the command asks for it. Rejected entries are
listed with line number and reason; the others are stored. Records that differ from one that somebody has changed are
rejected, too. Running the import again stores nothing twice, and continues an interrupted one (F.import-state contains
its position).
Exit code 0: everything was stored; 1: some entries were rejected or are not supported; 2: the import failed.
`

interface ImportOptions {
  file: string
  ehr: string
  carePlan: string
  map: string | undefined
  url: string
  /** Where the URL comes from. */
  urlSource: string
  user: string
}

/** @throws Error for an invalid command line */
function parseCommandLine(args: string[], env: NodeJS.ProcessEnv): ImportOptions | undefined {
  const option = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      file: option,
      ehr: option,
      'care-plan': option,
      map: option,
      url: option,
      user: option,
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return undefined
  const { file, ehr, map, user = env.IMPORT_USER } = values
  const { url, urlSource } = locateService(values.url, env)
  const carePlan = values['care-plan']
  if (!file || !ehr || !carePlan) throw new Error('--file, --ehr and --care-plan are required. See --help.')
  if (!user) throw new Error('--user or the environment variable IMPORT_USER is required. See --help.')
  if (![ehr, carePlan].every((id) => /^[\w-]{1,64}$/.test(id)))
    throw new Error('--ehr and --care-plan must be ids, such as n4Fq2LxT0a.')
  return { file, ehr, carePlan, map, url, urlSource, user }
}

function locateService(option: string | undefined, { DATA_DIR, HOST, PORT }: NodeJS.ProcessEnv) {
  if (option !== undefined) {
    const url = webUrl.read(option)
    if (!url) throw new Error(`--url must be ${webUrl.mustBe}.`)
    return { url, urlSource: '--url' }
  }
  const file = urlFileOf(DATA_DIR || SETTINGS.dataDir.default)
  const running = readServiceUrls(dirname(file))
  if (running) return { url: running.url, urlSource: file }
  return {
    url: localUrlOf({ host: HOST || SETTINGS.host.default, port: PORT || SETTINGS.port.default }),
    urlSource: `HOST and PORT, because ${file} does not exist or cannot be read`,
  }
}

async function readPassword({ env, stdin, stderr }: Terminal): Promise<string> {
  if (env.IMPORT_PASSWORD) return env.IMPORT_PASSWORD
  if (!stdin.isTTY) return (await text(stdin)).replace(/\r?\n$/, '')
  stderr.write('Password: ')
  const silent = new Writable({ write: (_, __, callback) => callback() })
  const terminal = createInterface({ input: stdin, output: silent, terminal: true })
  const password = await terminal.question('')
  terminal.close()
  stderr.write('\n')
  return password
}

/** Opens the resume point of an interrupted import of the same file. */
function openResumePoint({ file, ehr, carePlan, map, url }: ImportOptions, tell: (text: string) => void) {
  const stats = statSync(file)
  // The command reads a file twice, and a pipe only once.
  if (!stats.isFile())
    throw new Error(
      `--file must be a file: ${file} is a ${stats.isDirectory() ? 'directory' : 'pipe or device'}.`,
    )
  const { size, mtimeMs } = stats
  const importKey = JSON.stringify([url, ehr, carePlan, size, mtimeMs, map && readFileSync(map, 'utf8')])
  const key = createHash('sha256').update(importKey).digest('hex')
  const stateFile = `${file}.import-state`
  const read = (): ImportTally | undefined => {
    try {
      const state = JSON.parse(readFileSync(stateFile, 'utf8'))
      return state.key === key ? state.done : undefined
    } catch {
      return undefined
    }
  }
  let keeps = true
  return {
    done: read(),
    keep(tally: ImportTally): void {
      if (!keeps) return
      // Writes the file atomically: the run may be killed, and another one may be in progress.
      const temporaryFile = `${stateFile}.${process.pid}~`
      try {
        writeFileSync(temporaryFile, JSON.stringify({ key, done: tally }))
        renameSync(temporaryFile, stateFile)
      } catch (error) {
        keeps = false
        tell(
          `If interrupted, the import starts over and stores nothing twice, because its position cannot be saved: ${(error as Error).message}\n`,
        )
      }
    },
    forget: () => rmSync(stateFile, { force: true }),
  }
}

async function importFile(options: ImportOptions, terminal: Terminal): Promise<number> {
  const [
    { connectToService: connect },
    { readCsvEntries: csvEntries },
    { readDocumentEntries: documentEntries },
    mapping,
    { importEntries, EMPTY_TALLY: NOTHING },
    { createProgressBar: progressBar },
  ] = await Promise.all([
    import('../import/service-client.ts'),
    import('../import/files/csv-entries.ts'),
    import('../import/files/document-entries.ts'),
    import('../import/files/table-mapping.ts'),
    import('../import/import-entries.ts'),
    import('../import/progress-bar.ts'),
  ])
  const { file, map, ehr: ehrId, carePlan: carePlanId, url, urlSource, user: email } = options
  const table = map ? mapping.parseTableMapping(readFileSync(map)) : mapping.mapTableByHeader
  const place = openResumePoint(options, (text) => terminal.stderr.write(text))
  const entries = /\.json$/i.test(file) ? documentEntries(file) : csvEntries(file, table)
  const password = await readPassword(terminal)
  if (password === '')
    throw new Error('a password is required. Set IMPORT_PASSWORD, or pass it on standard input.')
  const login = { url, urlSource, email, password }
  const client = await connect(login, (waiting) => terminal.stderr.write(`\n${waiting}\n`))
  const { done = NOTHING } = place
  const bar = progressBar(terminal.stderr, done.entries)
  if (done.entries > 0)
    terminal.stdout.write(`Continuing after entry ${done.entries}; the totals include the earlier run.
`)
  const tally = await importEntries(client, { ehrId, carePlanId }, entries, {
    previousTally: done,
    onRefusal(at, reason) {
      bar.end()
      terminal.stdout.write(`Rejected, ${at}: ${reason}\n`)
    },
    step(now, read) {
      place.keep(now)
      bar.show(read, now.entries)
    },
  })
  bar.end()
  place.forget()
  for (const [name, count] of Object.entries(tally.skipped))
    terminal.stdout.write(`Not supported: ${count} × ${name}\n`)
  terminal.stdout.write(
    `Stored: ${tally.stored}, already known: ${tally.known}, rejected: ${tally.refused}.\n`,
  )
  return tally.refused + Object.keys(tally.skipped).length > 0 ? 1 : 0
}

/**
 * Runs the import command.
 * @returns the exit code
 */
export async function runImportCommand(args: string[], terminal: Terminal): Promise<number> {
  try {
    const options = parseCommandLine(args, terminal.env)
    if (options) return await importFile(options, terminal)
    terminal.stdout.write(usage)
    return 0
  } catch (error) {
    terminal.stderr.write(`The import failed: ${describeFault(error)}\n`)
    return 2
  }
}
