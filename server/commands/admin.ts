import { parseArgs } from 'node:util'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { OpenAccounts } from '../accounts/open-accounts.ts'
import { readConfig } from '../config/config.ts'
import { requireNode } from '../config/node-version.ts'

const usage = `Usage: npm run admin -- create --email <address> [--name <name>]
         Creates an administrator, and mails a link to choose a password. An account that
         already has the address becomes an administrator's.
       npm run admin -- rotate-keys
         Makes a new key sign access tokens; every instance uses it within a minute. Tokens that were
         signed before stay valid.

It reads the environment variables of the service. With MONGODB_URI it can run beside the service; only one process can
open the embedded database, so stop the service first.
`

/** Does something with the accounts. @returns what to say about it */
type Command = (accounts: OpenAccounts) => Promise<string>

/** Who makes the first administrator: whoever may run commands on the machine. */
const operator: Caller = {
  userId: 'operator',
  roles: ['admin'],
  application: 'command line',
  requestId: 'command line',
}

/** @throws Error for a command line that says nothing sensible */
async function commandOf(args: string[]): Promise<Command | undefined> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { email: { type: 'string' }, name: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  const { email, name = 'Administrator', help } = values
  const command = positionals.join(' ')
  if (help) return undefined
  if (command === 'rotate-keys') return rotateKeys
  if (command !== 'create') throw new Error(`Unknown command${command && ` ${command}`}; see --help`)
  if (email === undefined || !(await isEmailAddress(email)))
    throw new Error('--email must be an e-mail address')
  return (accounts) => create(accounts, email, name)
}

async function isEmailAddress(text: string): Promise<boolean> {
  const [{ emailAddress }, { checkOf }] = await Promise.all([
    import('../../schemas/account.ts'),
    import('../../schemas/registry.ts'),
  ])
  return checkOf(emailAddress())(text).length === 0
}

async function rotateKeys({ keys }: OpenAccounts): Promise<string> {
  await keys.rotate()
  const { kid } = await keys.current()
  return `The key ${kid} signs from now on.`
}

async function create(
  { services: { accounts, invitations } }: OpenAccounts,
  email: string,
  name: string,
): Promise<string> {
  const page = { limit: 1, cursor: undefined, count: false }
  const { items } = await accounts.list(operator, { email }, page)
  const known = items[0]
  if (known === undefined) {
    await invitations.create({ email, name, roles: ['admin'] })
    return `A link to choose a password is on its way to ${email}.`
  }
  await accounts.update(operator, known.mvUid, { roles: ['admin'] }, undefined)
  if (known.state !== 'ACTIVATION_PENDING') return `The account of ${email} is now an administrator's.`
  await invitations.invite(known.mvUid, undefined)
  return `The account of ${email} is now an administrator's; a link to choose a password is on its way.`
}

async function main(): Promise<void> {
  requireNode()
  const command = await commandOf(process.argv.slice(2))
  if (command === undefined) {
    process.stdout.write(usage)
    return
  }
  // Loaded last: neither help nor a mistake waits for it.
  const { openService } = await import('../service.ts')
  const service = await openService(readConfig(process.env, false))
  try {
    if (service.accounts) process.stdout.write(`${await command(service.accounts)}\n`)
  } finally {
    await service.stop()
  }
}

main().then(
  // Parse Server leaves timers behind that would keep the process.
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${(error as Error).message ?? error}\n`)
    process.exit(1)
  },
)
