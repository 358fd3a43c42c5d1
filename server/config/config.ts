import { directoryFault } from './data-directory.ts'
import { keptKeys } from './kept-keys.ts'
import { type Setting, settings } from './known-settings.ts'
import { key } from './value-kinds.ts'

type Settings = typeof settings
type Name = keyof Settings
type Read<S> = S extends { kind: { read(text: string): infer T } } ? Exclude<T, undefined> : never

/** The checked configuration: what has a default or is made is always there. */
export type Config = {
  [N in Name as Settings[N] extends { default: string } | { made: true } ? N : never]: Read<Settings[N]>
} & {
  [N in Name as Settings[N] extends { default: string } | { made: true } ? never : N]?: Read<Settings[N]>
} & {
  /** The open test environment: no session needed, no validation, a database of its own. */
  open: boolean
  /** NODE_ENV is production: secrets must be given and are not shown. */
  production: boolean
}

/** Everything that is wrong with the environment, at once. */
export class ConfigFaults extends Error {
  readonly faults: string[]
  constructor(faults: string[]) {
    super(`The configuration has faults:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.faults = faults
  }
}

const names = Object.keys(settings) as Name[]

/** `dataDir` is DATA_DIR. */
export const variableOf = (name: string): string => name.replace(/[A-Z]/g, '_$&').toUpperCase()

/**
 * Reads the configuration from the environment; an empty variable counts as absent.
 * Secrets that are not given are made and kept in DATA_DIR, except in production.
 * @throws ConfigFaults naming every fault
 */
export function readConfig(env: NodeJS.ProcessEnv, open: boolean): Config {
  const production = env.NODE_ENV === 'production'
  const values: Record<string, unknown> = { open, production }
  const faults: string[] = []
  const missing: string[] = []
  for (const name of names) {
    const setting: Setting<unknown> = settings[name]
    const text = env[variableOf(name)] || (open && setting.openDefault) || setting.default
    if (text === undefined) {
      if (setting.made) missing.push(name)
      continue
    }
    const value = setting.kind.read(text)
    if (value === undefined) faults.push(`${variableOf(name)} must be ${setting.kind.mustBe}`)
    else values[name] = value
  }
  if (production)
    faults.push(...missing.map((name) => `${variableOf(name)} is required when NODE_ENV is production`))
  if (production && !open && !env.SMTP_URL)
    faults.push(
      'SMTP_URL is required when NODE_ENV is production: the outbox and the log would hold live links',
    )
  if (production && !env.PUBLIC_URL)
    faults.push(
      'PUBLIC_URL is required when NODE_ENV is production: mails would lead to an address of this machine',
    )
  faults.push(...sharedSecrets(values), ...weakened(values.mongodbUri))
  if (faults.length === 0 && needsDirectory(values, missing)) {
    const fault = directoryFault(String(values.dataDir))
    if (fault !== undefined) faults.push(`DATA_DIR ${fault}`)
  }
  if (faults.length > 0) throw new ConfigFaults(faults)
  const config = values as Config
  return Object.assign(config, missing.length > 0 ? keptKeys(config.dataDir, missing) : {})
}

/** Whether anything is kept in DATA_DIR: the database, the keys that are made, or the mails. */
const needsDirectory = ({ mongodbUri, smtpUrl }: Record<string, unknown>, made: readonly string[]): boolean =>
  mongodbUri === undefined || smtpUrl === undefined || made.length > 0

/** What the database's address may say of how writes are acknowledged and where is read. */
const onlyAs: Record<string, string> = {
  ...{ w: 'majority', journal: 'true', j: 'true', readpreference: 'primary' },
  ...{ readpreferencetags: '', maxstalenessseconds: '' },
}

/** An address that asks for less than the service does is refused, rather than overruled in silence. */
function weakened(address: unknown): string[] {
  const options = new URLSearchParams(String(address ?? '').split('?')[1])
  return [...options]
    .filter(([name, value]) => (onlyAs[name.toLowerCase()] ?? value) !== value)
    .map(
      ([name]) =>
        `MONGODB_URI must leave out ${name}: a majority's journals acknowledge writes, the primary answers reads`,
    )
}

/** A key that serves two purposes would give a client the other one's rights. */
function sharedSecrets(values: Record<string, unknown>): string[] {
  const secrets = names.filter((name) => {
    const setting: Setting<unknown> = settings[name]
    return (setting.made || setting.kind === key) && values[name] !== undefined
  })
  return secrets.flatMap((name, i) =>
    secrets
      .slice(0, i)
      .filter((other) => values[other] === values[name])
      .map((other) => `${variableOf(name)} must differ from ${variableOf(other)}`),
  )
}

/** The rows of the table in the README and of `--help`: variable, kind, default, description. */
export function configurationRows(): string[][] {
  return names.map((name) => {
    const setting: Setting<unknown> = settings[name]
    const open = setting.openDefault ? ` (open: ${setting.openDefault})` : ''
    const fallback = setting.made ? 'generated once, kept in DATA_DIR' : `${setting.default ?? ''}${open}`
    return [variableOf(name), setting.kind.mustBe, fallback, setting.about]
  })
}
