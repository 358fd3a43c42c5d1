import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runningUriOf } from '@health-record-service/embedded-mongo'
import type { Db, MongoClient } from 'mongodb'
import { auditInstanceCollection } from '../../records/store/audit/chains/instances.ts'
import {
  type VerificationProgress,
  type VerificationResult,
  verifyAudit,
} from '../../records/store/audit/verifier.ts'
import { ACCESS_TOKEN_LIFETIME_S } from '../accounts/tokens/access-tokens.ts'
import { type Config, environmentVariableOf, readConfig } from '../config/config.ts'
import { pathExists } from '../config/data-directory.ts'
import { createStartClient } from '../database/client-options.ts'
import { type DatabaseUse, openDatabase } from '../database/open-database.ts'
import { type DataKey, dataKeys, findKeyOf } from '../keys/key-check.ts'
import { rekey } from '../keys/rekey.ts'
import { describeFault, type Terminal } from './terminal.ts'

const usage = `Usage: health-record-service audit verify
         Checks that no entry of the audit was changed, removed or added, and names the first entry that does not
         match. The service can keep running. Parts written with a former AUDIT_KEY need AUDIT_KEYS_BEFORE. Keep
         the output outside of the database: the number of entries decreases only if AUDIT_DAYS is set.
         Exit code 0: the audit is intact; 1: it is broken; 2: some of it could not be checked.
       health-record-service audit rekey [--lost]
         Changes AUDIT_KEY and KEY_ENCRYPTION_KEY, and records the change in the audit. Stop the service first. If
         the command is interrupted, run it again. Exit code 0: the keys are changed; 2: nothing was changed.
         - Keys in DATA_DIR/keys.json: new ones are generated. The former ones stay in the file for verify.
         - Keys in the environment: set AUDIT_KEY (KEY_ENCRYPTION_KEY) to the new key, and AUDIT_KEYS_BEFORE
           (KEY_ENCRYPTION_KEYS_BEFORE) to the former one. Keep AUDIT_KEYS_BEFORE for verify.
         --lost: changes the keys although a former key is lost. Its part of the audit can never be verified again.

--open: use the database of the open test environment. Both commands read the environment variables of the service.
`

/**
 * Runs the audit command.
 * @returns the exit code
 */
export async function runAuditCommand(args: string[], terminal: Terminal): Promise<number> {
  try {
    return await runSubcommand(args, terminal)
  } catch (error) {
    terminal.stderr.write(`${describeFault(error)}\n`)
    return 2
  }
}

async function runSubcommand(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { lost: { type: 'boolean' }, open: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  })
  const { lost = false, open = false, help = false } = values
  const command = positionals.join(' ')
  if (lost && command === 'verify') throw new Error('audit verify does not take --lost. See --help.')
  if (help) {
    terminal.stdout.write(usage)
    return 0
  }
  if (!(command === 'verify' || command === 'rekey'))
    throw new Error(`The command must be verify or rekey${command && `, not ${command}`}. See --help.`)
  const config = readConfig(terminal.env, open, { requiresDataDir: true })
  return (command === 'verify' ? verify(config, terminal) : changeKeys(config, lost, terminal)).catch(
    (error: unknown) => {
      throw new Error(
        `The ${command === 'verify' ? 'audit could not be checked' : 'keys were not changed'}: ${(error as Error).message}`,
      )
    },
  )
}

const databaseOf = ({ dataDir }: Config): string => join(dataDir, 'database')

/** Runs work on an existing database; never creates one. */
async function withAudit<T>(
  config: Config,
  { readOnly }: Required<Pick<DatabaseUse, 'readOnly'>>,
  work: (client: MongoClient) => Promise<T>,
): Promise<T> {
  const empty = new Error(
    'it is empty. Every start of the service writes an entry, so DATA_DIR or MONGODB_URI is not that of the service.',
  )
  if (config.mongodbUri === undefined && !pathExists(databaseOf(config))) throw empty
  const check = async (db: Db) => {
    if ((await auditInstanceCollection(db).findOne()) === null) throw empty
    return () => {}
  }
  const database = await openDatabase(config, { sharesEngine: true, readOnly, checkKeys: check })
  const client = createStartClient(database.uri)
  try {
    return await work(client)
  } finally {
    await client.close()
    await database.close()
  }
}

const verify = (config: Config, { stdout, stderr }: Terminal): Promise<number> =>
  withAudit(config, { readOnly: true }, async (client) => {
    const { path, generatedNames } = config.keyFile
    if (generatedNames.includes('auditKey')) throw new Error(`AUDIT_KEY is neither set nor in ${path}.`)
    // An earlier change to the current key may be unfinished.
    const key = (await findKeyOf(client.db(), config, 'auditKey')) ?? config.auditKey
    const tell = ({ entries, estimatedTotal }: VerificationProgress) =>
      stderr.write(`${entries} of about ${estimatedTotal} entries checked\n`)
    const verdict = await verifyAudit(client.db(), key, tell, config.auditKeysBefore)
    stdout.write(describeVerdict(verdict))
    if (verdict.broken) return 1
    return verdict.unverified.some(({ lost }) => !lost) ? 2 : 0
  })

async function changeKeys(config: Config, isKeyLost: boolean, { stdout }: Terminal): Promise<number> {
  if (config.mongodbUri === undefined && (await runningUriOf(databaseOf(config))) !== undefined)
    throw new Error(`the service is running on ${config.dataDir}. Stop it first.`)
  return withAudit(config, { readOnly: false }, async (client) => {
    const tokenLifetime = ACCESS_TOKEN_LIFETIME_S
    const changedVariables = await rekey({
      client,
      config,
      isKeyLost,
      tokenLifetime,
      clock: () => new Date(),
    })
    if (changedVariables.length === 0)
      throw new Error('the database has these keys already. Set the new and the former ones (see --help).')
    stdout.write(
      `${changedVariables.join(' and ')} changed. ${describeOtherNewKeys(config)}Start the service with the new keys.\n`,
    )
    return 0
  })
}

/** Apps are refused until the service has their keys again. */
function describeOtherNewKeys({ keyFile: { path, generatedNames } }: Config): string {
  const otherNames = generatedNames.filter((name) => !dataKeys.includes(name as DataKey))
  if (otherNames.length === 0) return ''
  return `${path} did not have ${otherNames.map(environmentVariableOf).join(', ')}: they are new, too. Set those with which your apps were built. `
}

function describeVerdict({ instances, chains, entries, broken, unverified }: VerificationResult): string {
  const parts = unverified.map(
    (part) =>
      `Not verified: ${countOf(part.entries, 'entry', 'entries')} of the runs ${part.from} to ${part.to}, written with a ` +
      `former AUDIT_KEY${part.lost ? ' that is lost' : '. Set AUDIT_KEYS_BEFORE to that key'}.\n`,
  )
  const summary = `${countOf(entries, 'entry', 'entries')} in ${countOf(chains, 'chain', 'chains')}, from ${countOf(instances, 'run', 'runs')} of the service and its commands`
  const intact = `The ${unverified.length > 0 ? 'rest of the audit' : 'audit'} is intact: ${summary}.\n`
  const verdict = broken
    ? `The audit is BROKEN at ${broken.at}: ${broken.reason}. Checked: ${summary}.\n`
    : intact
  return parts.join('') + verdict
}

const countOf = (count: number, one: string, several: string): string =>
  `${count} ${count === 1 ? one : several}`
