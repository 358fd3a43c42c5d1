import { findDirectoryFaults, findMoveFault } from './data-directory.ts'
import { SETTINGS, type Setting } from './service-settings.ts'
import { key } from './setting-kinds.ts'
import { damagedKeyFile, generateKey, type KeyFile, keyFileOf, readStoredKeys } from './stored-keys.ts'

type Settings = typeof SETTINGS
type SettingName = keyof Settings
type SettingValue<S> = S extends { kind: { read(text: string): infer T } } ? Exclude<T, undefined> : never

/** Validated configuration; settings with a default or a generated value are always present. */
export type Config = {
  [N in SettingName as Settings[N] extends { default: string } | { isGenerated: true }
    ? N
    : never]: SettingValue<Settings[N]>
} & {
  [N in SettingName as Settings[N] extends { default: string } | { isGenerated: true }
    ? never
    : N]?: SettingValue<Settings[N]>
} & {
  /** The open test environment: no sessions, no validation, a separate database. */
  open: boolean
  /** Whether NODE_ENV is production: secrets are required and are not printed. */
  production: boolean
  /** True to start an empty database with existing keys, which were generated for another one. */
  newDatabase: boolean
  keyFile: KeyFile
}

/** All faults of the environment at once. */
export class ConfigError extends Error {
  readonly faults: string[]
  constructor(faults: string[]) {
    super(`The configuration is invalid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.faults = faults
  }
}

/** How a process uses the configuration. */
interface ConfigUse {
  /** True to start an empty database with existing keys. */
  newDatabase?: boolean
  /** Whether a command works on existing data: a mistyped DATA_DIR is refused, and not created. */
  requiresDataDir?: boolean
}

const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]

/** `dataDir` is DATA_DIR. */
export const environmentVariableOf = (name: string): string => name.replace(/[A-Z]/g, '_$&').toUpperCase()

/**
 * Reads the configuration from the environment; an empty variable counts as absent. Missing secrets are read
 * from DATA_DIR or generated, except in production. Writes nothing: only the database tells whether it is new
 * and whether generated keys may be stored (keys/key-check.ts).
 * @throws ConfigError with all faults
 */
export function readConfig(env: NodeJS.ProcessEnv, open: boolean, use: ConfigUse = {}): Config {
  const { newDatabase = false, requiresDataDir = false } = use
  const production = env.NODE_ENV === 'production'
  const values: Record<string, unknown> = { open, production, newDatabase }
  const faults: string[] = []
  const missing: SettingName[] = []
  for (const name of SETTING_NAMES) {
    const setting: Setting<unknown> = SETTINGS[name]
    const text = env[environmentVariableOf(name)] || (open && setting.openDefault) || setting.default
    if (text === undefined) {
      if (setting.isGenerated) missing.push(name)
      continue
    }
    const value = setting.kind.read(text)
    if (value === undefined) faults.push(`${environmentVariableOf(name)} must be ${setting.kind.mustBe}`)
    else values[name] = value
  }
  faults.push(
    ...(production ? findMissingForProduction(env, open, missing) : []),
    ...findSharedSecrets(values),
    ...findUnusedSettings(env),
    ...findWeakUriOptions('MONGODB_URI', String(values.mongodbUri ?? '')),
  )
  if (typeof values.dataDir === 'string') {
    const storesMails = !env.SMTP_URL && (open || !production)
    const storesKeys = missing.length > 0 && !production
    if (!env.MONGODB_URI || storesMails || storesKeys)
      faults.push(...findDirectoryFaults(values.dataDir, requiresDataDir))
    if (!env.MONGODB_URI) faults.push(...findMoveFault(values.dataDir))
  }
  if (faults.length > 0) throw new ConfigError(faults)
  const keys = keysFromFile(keyFileOf(String(values.dataDir)), missing, values)
  const sharedSecrets = findSharedSecrets({ ...values, ...keys }, keys.keyFile)
  if (sharedSecrets.length > 0) throw new ConfigError(sharedSecrets)
  return Object.assign(values as Config, keys)
}

/** Finds what production requires, and what development generates or prints. */
function findMissingForProduction(env: NodeJS.ProcessEnv, open: boolean, missing: SettingName[]): string[] {
  const when = 'is required when NODE_ENV is production'
  return [
    ...missing.map((name) => `${environmentVariableOf(name)} ${when}`),
    ...(env.SMTP_URL || open
      ? []
      : [`SMTP_URL ${when}, because the outbox and the log would contain valid links`]),
    ...(env.PUBLIC_URL ? [] : [`PUBLIC_URL ${when}, because links in mails must work on other machines`]),
  ]
}

/** Secrets from the key file, or generated ones. */
function keysFromFile(
  path: string,
  missing: readonly SettingName[],
  values: Record<string, unknown>,
): Pick<Config, 'keyFile'> {
  if (missing.length === 0) return { keyFile: { path, storedNames: [], generatedNames: [] } }
  const inFile = readStoredKeys(path)
  const keyNames = SETTING_NAMES.filter((name) => {
    const setting: Setting<unknown> = SETTINGS[name]
    return missing.includes(name) || setting.stored
  })
  const storedNames = keyNames.filter((name) => inFile[name] !== undefined)
  const generatedNames = missing.filter((name) => !storedNames.includes(name))
  const read = (name: SettingName): unknown => {
    const value = SETTINGS[name].kind.read(inFile[name] ?? '')
    if (value === undefined) throw damagedKeyFile(path)
    // Former keys of a variable and of the file count together.
    const before = values[name]
    return Array.isArray(before) && Array.isArray(value) ? [...new Set([...before, ...value])] : value
  }
  return {
    ...Object.fromEntries(storedNames.map((name) => [name, read(name)])),
    ...Object.fromEntries(generatedNames.map((name) => [name, generateKey()])),
    keyFile: { path, storedNames, generatedNames },
  }
}

/** Required values of URI options for write acknowledgement and read preference. */
const REQUIRED_URI_OPTIONS: Record<string, string> = {
  w: 'majority',
  journal: 'true',
  j: 'true',
  readpreference: 'primary',
  readpreferencetags: '',
  maxstalenessseconds: '',
}

/** Rejects a URI with weaker options than the service uses, instead of silently overriding them. */
export function findWeakUriOptions(variable: string, uri: string): string[] {
  const options = new URLSearchParams(uri.split('?')[1])
  return [...options]
    .filter(([name, value]) => (REQUIRED_URI_OPTIONS[name.toLowerCase()] ?? value) !== value)
    .map(
      ([name]) =>
        `${variable} must not contain ${name}: the service always writes to a majority and reads from the primary`,
    )
}

/** Finds settings of external logins while these are off. */
const findUnusedSettings = (env: NodeJS.ProcessEnv) =>
  !env.OIDC_CLIENT_ID && (env.OIDC_CLIENT_SECRET || env.OIDC_AUDIENCES)
    ? ['OIDC_CLIENT_ID is required with OIDC_CLIENT_SECRET or OIDC_AUDIENCES']
    : []

/** Finds keys with the same value: each would grant the rights of the other. */
function findSharedSecrets(values: Record<string, unknown>, keyFile?: KeyFile): string[] {
  const secrets = SETTING_NAMES.filter((name) => {
    const setting: Setting<unknown> = SETTINGS[name]
    return (setting.isGenerated || setting.kind === key) && values[name] !== undefined
  })
  const describe = (name: SettingName) =>
    keyFile?.storedNames.includes(name) ? `${name} in ${keyFile.path}` : environmentVariableOf(name)
  return secrets.flatMap((name, i) =>
    secrets
      .slice(0, i)
      .filter((other) => values[other] === values[name])
      .map((other) => `${describe(name)} must differ from ${describe(other)}`),
  )
}

/** Rows of the table in the README and in `--help`: variable, kind, default, description. */
export function createConfigurationRows(): string[][] {
  return SETTING_NAMES.map((name) => {
    const setting: Setting<unknown> = SETTINGS[name]
    const open = setting.openDefault ? ` (open: ${setting.openDefault})` : ''
    const fallback = setting.isGenerated
      ? 'generated once and stored in DATA_DIR'
      : `${setting.default ?? ''}${open}`
    return [environmentVariableOf(name), setting.kind.mustBe, fallback, setting.description]
  })
}
