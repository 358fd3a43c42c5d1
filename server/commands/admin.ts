import { parseArgs } from 'node:util'
import type { SystemWithKey } from '../../records/accounts/systems/connected-systems.ts'
import { newId } from '../../records/store/documents/ids.ts'
import { SYSTEM_ROLES, type SystemRole } from '../../schemas/enums.ts'
import type { OpenAccounts } from '../accounts/open-accounts.ts'
import { type Config, readConfig } from '../config/config.ts'
import { readServiceUrls } from '../config/service-urls.ts'
import { accountAddress, webUrl } from '../config/setting-kinds.ts'
import type { Service } from '../service.ts'
import { type AppOptions, listApps, registerApp, removeApp } from './admin/app-commands.ts'
import { checkOptions, requireClient } from './admin/option-faults.ts'
import { describeFault, type Terminal } from './terminal.ts'

const usage = `Usage: health-record-service admin COMMAND

  create --email ADDRESS [--name NAME] [--url URL]
      Creates an administrator and queues a mail with a link for choosing a password. If the address has an
      account, that account gets the role, unless it is disabled.
  list
      Lists the administrators: address, state, name.
  revoke --email ADDRESS
      Removes the role; the account stays.
  disable --email ADDRESS
      Ends all sessions of an account and blocks further logins.
  rotate-keys
      Creates a new signing key for access tokens. Every instance uses it within a minute. Earlier
      tokens stay valid.
  register-system --name NAME [--roles ROLES]
      Registers a system that may use the openEHR REST API, and prints its client id and its key, which is not
      shown again. ROLES are modeller, analyst, or both, separated by a comma (default: none).
  list-systems
      Lists the connected systems: client id, state, roles, name.
  renew-system-key --id CLIENT_ID
      Prints a new key of a system. The former one stops working within 5 seconds.
  revoke-system-key --id CLIENT_ID
      Locks a system out until it gets a new key. Its EHRs stay.
  register-app --name NAME --scopes SCOPES [--redirect-uris URIS]
      [--authentication public|secret|key] [--jwks FILE | --jwks-uri URL] [--launch-url URL] [--system CLIENT_ID]
      Registers an app for the FHIR API (default: public), and prints its client id and its secret, if it has one.
      Commas or spaces separate several SCOPES or URIS. A backend service acts with the rights of a connected --system.
  list-apps
      Lists the apps: client id, authentication, name, scopes.
  remove-app --id CLIENT_ID
      Removes an app, and ends its access to everybody.

  --url  URL of the service in the mailed link (default: PUBLIC_URL, else that of the service on DATA_DIR)

The command reads the environment variables of the service. The service can keep running; changes take effect there
within 5 seconds.
`

/**
 * A command on accounts.
 * @returns the message to print
 */
type AdminCommand = (accounts: OpenAccounts, options: AdminOptions) => Promise<string>

/** The options of a command line; each command uses some of them. */
interface AdminOptions extends AppOptions {
  email: string
  roles: SystemRole[]
}

/** The options of all commands, each with a text. */
const OPTIONS = {
  email: { type: 'string' },
  name: { type: 'string' },
  url: { type: 'string' },
  id: { type: 'string' },
  roles: { type: 'string' },
  scopes: { type: 'string' },
  'redirect-uris': { type: 'string' },
  jwks: { type: 'string' },
  authentication: { type: 'string' },
  'launch-url': { type: 'string' },
  'jwks-uri': { type: 'string' },
  system: { type: 'string' },
} as const
type OptionName = keyof typeof OPTIONS

const APP_OPTIONS: readonly OptionName[] = [
  'name',
  'scopes',
  'redirect-uris',
  'authentication',
  'jwks',
  'jwks-uri',
  'launch-url',
  'system',
]

/** Each command with the options that it takes. */
const COMMANDS: Readonly<Record<string, { run: AdminCommand; options: readonly OptionName[] }>> = {
  create: { run: createAdministrator, options: ['email', 'name', 'url'] },
  list: { run: listAdministrators, options: [] },
  revoke: { run: revokeAdministrator, options: ['email'] },
  disable: { run: disableAdministrator, options: ['email'] },
  'rotate-keys': { run: rotateKeys, options: [] },
  'register-system': { run: registerSystem, options: ['name', 'roles'] },
  'list-systems': { run: listSystems, options: [] },
  'renew-system-key': { run: renewSystemKey, options: ['id'] },
  'revoke-system-key': { run: revokeSystemKey, options: ['id'] },
  'register-app': { run: registerApp, options: APP_OPTIONS },
  'list-apps': { run: listApps, options: [] },
  'remove-app': { run: removeApp, options: ['id'] },
}

interface CommandLine {
  run(accounts: OpenAccounts): Promise<string>
  /** Start of mailed links. */
  url: string | undefined
  /** Whether the command may be the first one on a new database, and mails a link. */
  creates: boolean
}

/** @throws Error for an invalid command line */
function parseCommandLine(args: string[]): CommandLine | undefined {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...OPTIONS, help: { type: 'boolean', short: 'h' } },
  })
  const { help, ...texts } = values
  if (help) return undefined
  const subcommand = positionals.join(' ')
  const command = Object.hasOwn(COMMANDS, subcommand) ? COMMANDS[subcommand] : undefined
  if (!command) throw new Error(`Unknown command${subcommand && ` ${subcommand}`}. See --help.`)
  const { options } = command
  const unused = (Object.keys(texts) as OptionName[]).filter((name) => !options.includes(name))
  if (unused.length > 0)
    throw new Error(`admin ${subcommand} does not take --${unused.join(' and --')}. See --help.`)
  const { email = '', name, id = '', roles = '' } = texts
  if (options.includes('email') && accountAddress.read(email) === undefined)
    throw new Error(`--email must be ${accountAddress.mustBe}`)
  if (options.includes('id') && id === '') throw new Error('--id CLIENT_ID is required')
  const url = texts.url && webUrl.read(texts.url)
  if (texts.url !== undefined && !url) throw new Error(`--url must be ${webUrl.mustBe}`)
  return {
    run: (accounts) =>
      command.run(accounts, { email, name, id, roles: readSystemRoles(roles), ...appOptionsOf(texts) }),
    url,
    creates: command === COMMANDS.create,
  }
}

const appOptionsOf = (texts: Partial<Record<OptionName, string>>) => ({
  scopes: texts.scopes ?? '',
  redirectUris: texts['redirect-uris'] ?? '',
  authentication: texts.authentication ?? 'public',
  jwks: texts.jwks,
  jwksUri: texts['jwks-uri'],
  launchUrl: texts['launch-url'],
  systemId: texts.system,
})

async function rotateKeys({ keys }: OpenAccounts): Promise<string> {
  await keys.rotate()
  const { kid } = await keys.current()
  return `The new key ${kid} signs access tokens from now on.`
}

async function createAdministrator(
  { services }: OpenAccounts,
  { email, name = 'Administrator' }: AdminOptions,
): Promise<string> {
  const { AccountCreate } = await import('../../schemas/accounts/account.ts')
  await checkOptions(AccountCreate, { email, name })
  const { state } = await services.administrators.invite(email, name)
  return state === 'ACTIVATION_PENDING'
    ? `${email} is now an administrator. A mail with a link for choosing a password waits to be sent. The service sends it within 5 seconds, or after its next start.`
    : `${email} is now an administrator.`
}

async function listAdministrators({ services }: OpenAccounts): Promise<string> {
  const administrators = await services.administrators.list()
  const lines = administrators.map(({ email, state, name }) => `${email}  ${state}  ${name ?? ''}`.trimEnd())
  return lines.length > 0 ? lines.join('\n') : 'There is no administrator.'
}

async function revokeAdministrator(
  { services: { administrators } }: OpenAccounts,
  { email }: AdminOptions,
): Promise<string> {
  await administrators.revoke(email)
  return `${email} is no longer an administrator.${await remainingAdministratorsNote(administrators)}`
}

async function disableAdministrator(
  { services: { administrators } }: OpenAccounts,
  { email }: AdminOptions,
): Promise<string> {
  await administrators.disable(email)
  return `${email} is disabled and cannot log in any more.${await remainingAdministratorsNote(administrators)}`
}

/** @throws Error for another role */
function readSystemRoles(text: string): SystemRole[] {
  const roles = text.split(',').filter(Boolean)
  const systemRoles = SYSTEM_ROLES.filter((role) => roles.includes(role))
  if (systemRoles.length < new Set(roles).size)
    throw new Error(`--roles must be ${SYSTEM_ROLES.join(' or ')}`)
  return systemRoles
}

async function registerSystem(
  { services: { systems } }: OpenAccounts,
  { name, roles }: AdminOptions,
): Promise<string> {
  if (!name || name.length > 200 || /\p{Cc}/u.test(name))
    throw new Error('--name must be 1 to 200 characters in one line')
  return formatKey(await systems.register(newId(), { name, roles }))
}

async function renewSystemKey(
  { services: { systems } }: OpenAccounts,
  { id }: AdminOptions,
): Promise<string> {
  return formatKey(await requireClient('system', id, systems.renewKey(id)))
}

async function revokeSystemKey(
  { services: { systems } }: OpenAccounts,
  { id }: AdminOptions,
): Promise<string> {
  await requireClient('system', id, systems.revokeKey(id))
  return `${id} is locked out until it gets a new key.`
}

const formatKey = ({ system: { id }, clientSecret }: SystemWithKey): string =>
  `client id:     ${id}\nclient secret: ${clientSecret}\nThe secret is not shown again.`

async function listSystems({ services: { systems } }: OpenAccounts): Promise<string> {
  const { items } = await systems.list({ limit: MAX_LISTED_SYSTEMS })
  const lines = items.map(
    ({ id, active, roles, name }) =>
      `${id}  ${active ? 'active' : 'revoked'}  ${roles.join(',') || '-'}  ${name}`,
  )
  return lines.length > 0 ? lines.join('\n') : 'There is no connected system.'
}

const MAX_LISTED_SYSTEMS = 1000

const remainingAdministratorsNote = async (
  administrators: OpenAccounts['services']['administrators'],
): Promise<string> =>
  (await administrators.hasActiveAdministrator()) ? '' : ' Warning: no administrator who can log in is left.'

/** Opens the service on the data; a test passes its own. */
type OpenAdministered = (
  config: Config,
  requiresData: boolean,
) => Promise<Pick<Service, 'accounts' | 'url' | 'stop'>>

// Loaded last, so that help and usage errors appear immediately.
const openOwn: OpenAdministered = async (...use) => (await import('../service.ts')).openService(...use)

/**
 * Runs the admin command.
 * @returns the exit code
 */
export async function runAdminCommand(
  args: string[],
  terminal: Terminal,
  open: OpenAdministered = openOwn,
): Promise<number> {
  try {
    const command = parseCommandLine(args)
    if (command) await administer(command, terminal, open)
    else terminal.stdout.write(usage)
    return 0
  } catch (error) {
    terminal.stderr.write(`${describeFault(error)}\n`)
    return 1
  }
}

async function administer(
  command: CommandLine,
  { env, stdout, stderr }: Terminal,
  open: OpenAdministered,
): Promise<void> {
  const config = readConfig(env, false, { requiresDataDir: !command.creates })
  const publicUrl = command.url ?? config.publicUrl ?? readServiceUrls(config.dataDir)?.publicUrl
  const service = await open(publicUrl === undefined ? config : { ...config, publicUrl }, !command.creates)
  try {
    if (service.accounts) stdout.write(`${await command.run(service.accounts)}\n`)
    if (command.creates && publicUrl === undefined)
      stderr.write(
        `Mailed links begin with ${service.url}: PUBLIC_URL is not set, and no service runs on ${config.dataDir}. Another URL: --url\n`,
      )
  } finally {
    await service.stop()
  }
}
