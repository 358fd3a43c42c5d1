import type { ClientSession, Db, MongoClient } from 'mongodb'
import { recordKeyChange } from '../../records/store/audit/key-change.ts'
import { runTransaction } from '../../records/store/documents/database.ts'
import { type Config, environmentVariableOf } from '../config/config.ts'
import { generateKey, storeKeys } from '../config/stored-keys.ts'
import { type DataKey, dataKeys, findKeyOf, formerOf } from './key-check.ts'
import { reencryptSigningKeys, replaceSigningKeys, signingKeyEncryption } from './signing-keys.ts'

export interface RekeyOptions {
  client: MongoClient
  /**
   * Configuration with the new and the former keys. If nothing is configured to change, the keys in
   * DATA_DIR/keys.json are regenerated.
   */
  config: Config
  /** True to change a key even if its former value is lost. */
  isKeyLost: boolean
  /** Lifetime of an access token in seconds. */
  tokenLifetime: number
  clock: () => Date
}

/** Current key of the database by name; undefined if unknown. */
type Found = Record<DataKey, string | undefined>

/**
 * Changes the keys of a database in one transaction: closes the audit chains with the former key, begins new
 * ones, and re-encrypts the signing keys. New keys are stored in the file first, beside the former ones. If
 * the process is killed, the same command finishes the change.
 * @returns the variables whose values have changed
 * @throws Error when a former key is missing and was not declared lost
 */
export async function rekey(options: RekeyOptions): Promise<string[]> {
  const { client, config, isKeyLost } = options
  const keys = await findKeys(client.db(), config)
  const unknown = dataKeys.filter((name) => keys[name] === undefined)
  if (unknown.length > 0 && !isKeyLost)
    throw new Error(unknown.map((name) => notAtHand(config, name)).join('\n'))
  const target = keysToChangeTo(config, keys)
  const changedNames = dataKeys.filter((name) => keys[name] !== target[name])
  if (changedNames.length > 0)
    await runTransaction({ client }, (session) =>
      change({ ...options, config: target }, session, keys, changedNames),
    )
  return changedNames.map(environmentVariableOf)
}

async function findKeys(db: Db, config: Config): Promise<Found> {
  const namedKeys = dataKeys.map(async (name) => [name, await findKeyOf(db, config, name)] as const)
  return Object.fromEntries(await Promise.all(namedKeys)) as Found
}

const notAtHand = ({ keyFile }: Config, name: DataKey): string => {
  const variable = environmentVariableOf(name)
  return (
    `The database has another ${variable}. Set ` +
    `${environmentVariableOf(formerOf(name))} to that key, or restore ${keyFile.path} from its backup. Only if the key is lost: --lost`
  )
}

/**
 * Chooses the new keys: configured keys that are new to the database; otherwise new values for the keys in
 * the file.
 */
function keysToChangeTo(config: Config, foundKeys: Found): Config {
  const { path, storedNames, generatedNames } = config.keyFile
  const isCurrent = dataKeys.every((name) => foundKeys[name] === config[name])
  const renewedNames = isCurrent ? dataKeys.filter((name) => storedNames.includes(name)) : []
  const target = { ...config, ...Object.fromEntries(renewedNames.map((name) => [name, generateKey()])) }
  const former = renewedNames.map((name) => {
    const setting = formerOf(name)
    return [setting, [config[name], ...(config[setting] ?? [])].join()] as const
  })
  const values = target as unknown as Record<string, string>
  const toStore = [...renewedNames, ...generatedNames].map((name) => [name, values[name] ?? ''] as const)
  if (toStore.length > 0) storeKeys(path, Object.fromEntries([...toStore, ...former]))
  return target
}

async function change(
  { client, config, tokenLifetime, clock }: RekeyOptions,
  session: ClientSession,
  foundKeys: Found,
  changedNames: readonly DataKey[],
): Promise<void> {
  const db = client.db()
  const { auditKey, keyEncryptionKey } = config
  const audit = {
    variables: changedNames.map(environmentVariableOf),
    auditKey,
    formerAuditKey: foundKeys.auditKey,
  }
  await recordKeyChange(db, session, audit, clock())
  if (!changedNames.includes('keyEncryptionKey')) return
  const encryption = signingKeyEncryption(keyEncryptionKey)
  if (foundKeys.keyEncryptionKey === undefined)
    await replaceSigningKeys(session, { db, encryption, clock, tokenLifetime })
  else await reencryptSigningKeys(db, session, signingKeyEncryption(foundKeys.keyEncryptionKey), encryption)
}
