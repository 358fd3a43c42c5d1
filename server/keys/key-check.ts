import { existsSync } from 'node:fs'
import type { Db } from 'mongodb'
import { isAuditKey } from '../../records/store/audit/chains/instances.ts'
import { listCollectionNames } from '../../records/store/documents/database.ts'
import { type Config, environmentVariableOf } from '../config/config.ts'
import { type Keys, readStoredKeys, storeKeys } from '../config/stored-keys.ts'
import { canDecryptSigningKeys, signingKeyEncryption } from './signing-keys.ts'

/**
 * Keys whose loss makes stored data unusable. The stored data itself tells whether a key is the right one.
 * @see docs/decisions/keys.md
 */
const checks = {
  auditKey: isAuditKey,
  keyEncryptionKey: (db: Db, key: string) => canDecryptSigningKeys(db, signingKeyEncryption(key)),
} as const

export type DataKey = keyof typeof checks
export const dataKeys = Object.keys(checks) as DataKey[]

/** Setting with the former values of a key. */
export const formerOf = (name: DataKey) => `${name}sBefore` as const

/**
 * Returns the configured key, current or former, with which the database was written; undefined if there is
 * none.
 */
export async function findKeyOf(db: Db, config: Config, name: DataKey): Promise<string | undefined> {
  for (const key of [config[name], ...(config[formerOf(name)] ?? [])])
    if (await checks[name](db, key)) return key
  return undefined
}

/**
 * Checks that stored keys have their database, before an empty one is created in its place.
 * @throws Error when the file has data keys but there is no data
 */
export function requireDatabase({ keyFile, newDatabase }: Config, exists: boolean): void {
  if (exists || newDatabase || !dataKeys.some((name) => keyFile.storedNames.includes(name))) return
  throw new Error(
    `${keyFile.path} contains the keys of a database that does not exist. Nothing was changed. ` +
      'Restore the database from its backup; or start once with --new to create a new one with these keys ' +
      '(npm start -- --new); or set DATA_DIR to an empty directory for new keys and a new database.',
  )
}

/**
 * Checks that the configured keys belong to the database. Writes nothing.
 * @returns a function that stores generated keys; call it after the database has been claimed
 * @throws Error a sentence that names the keys or their file, and the remedy
 */
export async function checkKeys(db: Db, config: Config): Promise<() => void> {
  const collections = await listCollectionNames(db)
  requireDatabase(config, collections.length > 0)
  // The database of the other environment is refused for that reason, whatever its keys are.
  if (await isOfOtherKind(db, config)) return () => {}
  if (config.newDatabase && collections.some((name) => name !== 'environment'))
    throw new Error('--new needs an empty database, but this one contains data. Start without --new.')
  const faults: KeyFault[] = []
  for (const name of dataKeys) {
    const outcome = await findKeyOf(db, config, name)
    if (outcome !== config[name]) faults.push(faultOf(config, name, outcome !== undefined))
  }
  if (faults.length > 0) throw new Error(sentence(config, faults))
  return () => storeGenerated(config)
}

async function isOfOtherKind(db: Db, { open }: Config): Promise<boolean> {
  const mark = await db.collection<{ _id: string; kind: string }>('environment').findOne({ _id: 'kind' })
  return mark !== null && mark.kind !== (open ? 'open-test' : 'main')
}

interface KeyFault {
  reason: string
  /** Alternative remedy to changing the key. */
  remedy: string
}

function faultOf({ keyFile }: Config, name: DataKey, hasFormer: boolean): KeyFault {
  const variable = environmentVariableOf(name)
  const { path, storedNames, generatedNames } = keyFile
  const remedy = `Restore ${path} from its backup.`
  if (hasFormer)
    return {
      reason: `The database still uses a former ${variable}.`,
      remedy: '',
    }
  if (storedNames.includes(name))
    return { reason: `The ${name} in ${path} is not the key of this database.`, remedy }
  if (!generatedNames.includes(name))
    return {
      reason: `${variable} is not the key of this database.`,
      remedy: `Set ${variable} to that key.`,
    }
  const reason = existsSync(path) ? `${path} has no ${name}` : `${path} is missing`
  return { reason: `${reason}, but the database needs its ${name}.`, remedy }
}

function sentence({ open }: Config, faults: readonly KeyFault[]): string {
  const distinctTexts = (texts: string[]) => [...new Set(texts)].filter((text) => text !== '')
  const command = `health-record-service audit rekey${open ? ' --open' : ''}`
  return [
    ...distinctTexts(faults.map(({ reason }) => reason)),
    'Nothing was changed.',
    ...distinctTexts(faults.map(({ remedy }) => remedy)),
    `To change keys, to finish an interrupted change, or if keys are lost: ${command} (see its --help).`,
  ].join(' ')
}

/** @throws Error when a concurrent start has stored other keys, which then are those of the database */
function storeGenerated(config: Config): void {
  const { path, generatedNames } = config.keyFile
  const values = config as unknown as Keys
  const keys = Object.fromEntries(generatedNames.map((name) => [name, values[name] ?? '']))
  const inFile = readStoredKeys(path)
  if (generatedNames.some((name) => (inFile[name] ?? keys[name]) !== keys[name]))
    throw new Error(`Another process has just created the keys in ${path}. Start again.`)
  if (generatedNames.some((name) => inFile[name] === undefined)) storeKeys(path, keys)
}
