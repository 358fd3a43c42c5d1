import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MongoClient } from 'mongodb'
import PostalMime from 'postal-mime'
import { runAdminCommand } from '../../../server/commands/admin.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { runCommand, runCommandProcess } from '../../harness/in-process/run-command.ts'
import { startSmtpServer } from '../../harness/mail/smtp-server.ts'
import { createSigner, credentialsForm } from '../../harness/people/backend-services.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { postForm } from '../../harness/people/smart-apps.ts'
import { databaseUri } from '../../harness/run.ts'
import { config, service as current, request } from '../../harness/service/service.ts'
import {
  createDataDir,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'
import { isFullSize } from '../../harness/test-size.ts'
import { waitFor, waitUntil } from '../../harness/wait.ts'

const password = 'correct horse battery staple'

/** Runs the command on the service of this process. */
const adminHere = (...args: string[]) =>
  runCommand(
    (argv, terminal) => runAdminCommand(argv, terminal, async () => ({ ...current, stop: async () => {} })),
    args,
    { DATA_DIR: config.dataDir, LOG_LEVEL: 'warn', PORT: '1' },
  )

describe('npm run admin, on a service', () => {
  it('prints help, and explains a wrong command line', async () => {
    assert.match((await adminHere('--help')).stdout, /create --email[\s\S]*rotate-keys/)
    const faulty = [
      [],
      ['create', '--email', 'x'],
      ['create', '--mail', 'a@b.example'],
      ['revoke'],
      ['remove-app'],
      ['list', '--url', 'x'],
    ]
    for (const { code, stdout, output } of await Promise.all(faulty.map((args) => adminHere(...args)))) {
      assert.deepEqual([code, stdout], [1, ''], output)
      assert.doesNotMatch(output, /\n\s+at /)
    }
  })

  it('refuses options of other commands by their names', async () => {
    const email = `${randomUUID()}@example.org`
    const refusals: [string[], string][] = [
      [['list', '--email', email], '--email'],
      [['create', '--email', email, '--roles', 'analyst'], '--roles'],
      [['register-system', '--name', 'X', '--email', email, '--id', 'x'], '--email and --id'],
      [['disable', '--email', email, '--url', 'http://a.example'], '--url'],
      [['rotate-keys', '--name', 'X'], '--name'],
    ]
    for (const [args, options] of refusals) {
      const { code, stdout, output } = await adminHere(...args)
      assert.deepEqual(
        [code, stdout, output],
        [1, '', `admin ${args[0]} does not take ${options}. See --help.\n`],
      )
    }
    assert.ok(!(await adminHere('list')).output.includes(email))
  })

  it('does not make a disabled account an administrator', async () => {
    const { email } = await createPerson()
    await adminHere('disable', '--email', email)
    const { code, stdout, output } = await adminHere('create', '--email', email)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(output, new RegExp(`^The account ${email} is disabled\\.`))
    assert.ok(!(await adminHere('list')).output.includes(email))
  })

  it('names the client id that does not exist', async () => {
    for (const [command, client] of [
      ['renew-system-key', 'system'],
      ['revoke-system-key', 'system'],
      ['remove-app', 'app'],
    ] as const)
      assert.deepEqual(
        (await adminHere(command, '--id', 'nope')).output,
        `There is no ${client} with the client id nope. See list-${client}s.\n`,
      )
  })

  it('creates, lists, demotes and disables administrators', async () => {
    const [person, other] = await Promise.all([createPerson(), createPerson()])
    const line = ({ email }: Person) => `${email}  ACTIVE  `
    const list = async () => (await adminHere('list')).stdout.split('\n').map((one) => `${one}  `)
    for (const { email } of [person, other])
      assert.equal(
        (await adminHere('create', '--email', email)).output,
        `${email} is now an administrator.\n`,
      )
    for (const one of [person, other]) assert.ok((await list()).some((text) => text.startsWith(line(one))))
    assert.doesNotMatch((await adminHere('revoke', '--email', person.email)).output, /Warning/)
    assert.ok(!(await list()).some((text) => text.startsWith(line(person))))
    assert.match((await adminHere('disable', '--email', other.email)).output, /cannot log in any more/)
    const logIn = await request()
      .post('/auth/login/password')
      .send({ email: other.email, password: other.password })
    assert.equal(logIn.body.code, 'invalid-credentials')
  })

  it('refuses a name that is not one line of text', async () => {
    const email = `${randomUUID()}@example.org`
    for (const name of ['', 'Ann\nroot@example.org  ACTIVE', 'a'.repeat(201), ' \u200b'])
      assert.match(
        (await adminHere('create', '--email', email, '--name', name)).output,
        /^--name must /,
        name,
      )
    assert.ok(!(await adminHere('list')).output.includes(email))
  })

  it('rotates the keys', async () => {
    const { output } = await adminHere('rotate-keys')
    const { keys } = (await request().get('/auth/login/jwks')).body
    assert.ok(keys.length > 1 && output.includes(keys[0].kid), output)
  })

  it('registers, lists and removes apps, and names all faults of one', async () => {
    const signer = await createSigner()
    const keys = join(createDataDir(), 'keys.json')
    writeFileSync(keys, JSON.stringify({ keys: [signer.jwk] }))
    const name = `Laboratory ${randomUUID()}`
    const scopes = 'system/Patient.rs,system/Observation.rs'
    const idIn = ({ code, output, stdout }: Awaited<ReturnType<typeof adminHere>>) => {
      assert.equal(code, 0, output)
      return /client id: +(\S+)/.exec(stdout)?.[1] ?? ''
    }
    const system = idIn(await adminHere('register-system', '--name', name))
    const options = ['--name', name, '--scopes', scopes, '--authentication', 'key', '--system', system]
    const id = idIn(await adminHere('register-app', ...options, '--jwks', keys))
    const ask = async () =>
      postForm('/auth/smart/token', credentialsForm('system/Patient.rs', await signer.sign(id)))
    assertStatus(await ask())
    const lines = (await adminHere('list-apps')).stdout.split('\n')
    assert.ok(lines.includes(`${id}  key  ${name}  ${scopes.replace(',', ' ')}`))
    const uris = ['--redirect-uris', 'https://app.example.org/callback']
    const diary = ['register-app', '--name', `Diary ${randomUUID()}`, '--scopes', 'patient/*.rs', ...uris]
    assert.match((await adminHere(...diary, '--authentication', 'secret')).stdout, /client secret: \S+/)
    const faulty = await adminHere(
      'register-app',
      ...options,
      '--jwks-uri',
      'http://a.example/keys',
      '--system',
      'x',
    )
    assert.deepEqual([faulty.code, faulty.stdout], [1, ''])
    assert.match(faulty.output, /^--jwks-uri must begin with https/m)
    const unknown = await adminHere('register-app', ...options, '--jwks', keys, '--system', 'system-x')
    assert.match(unknown.output, /^--system must be the id of a connected system/m)
    const scope = ['register-app', '--name', name, '--scopes', 'patient/*.rs,system/*.rs']
    const unreachable = (await adminHere(...scope, '--redirect-uris', 'ftp://a.example')).output
    assert.match(unreachable, /^--redirect-uris \(value 1\) must begin with https/m)
    assert.match(unreachable, /^--scopes \(value 2\) needs --system: /m)
    const missing = await adminHere('register-app', ...options, '--jwks', join(dirname(keys), 'none.json'))
    assert.match(missing.output, /^--jwks must be a JSON file with public keys: .*none\.json/)
    assert.match((await adminHere('remove-app', '--id', id)).output, new RegExp(`^Removed ${id}`))
    await waitUntil(async () => (await ask()).status === 401)
    assert.equal((await adminHere('remove-app', '--id', id)).code, 1)
  })
})

describe('npm run admin, without data', function suite() {
  this.timeout(60_000)

  it('refuses a DATA_DIR or MONGODB_URI that is not that of the service, and leaves nothing there', async () => {
    const dataDir = createDataDir()
    const list = (env: NodeJS.ProcessEnv) =>
      runCommandProcess(['admin', 'list'], { DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...env })
    const { code, output } = await list({})
    assert.deepEqual([code, readdirSync(dataDir)], [1, []], output)
    assert.match(output, /^There is no database in DATA_DIR \(.*DATA_DIR or MONGODB_URI/)
    const uri = databaseUri('wrong')
    const remote = await list({ MONGODB_URI: uri })
    assert.equal(remote.code, 1, remote.output)
    assert.match(remote.output, /^There is no data of the service in the database of MONGODB_URI/m)
    const client = await MongoClient.connect(uri)
    assert.deepEqual(await client.db().listCollections().toArray(), [])
    await client.close()
  })
})

describe('npm run admin, while a service runs', function suite() {
  this.timeout(120_000)
  const dataDir = createDataDir()
  let service: ServiceProcess
  let smtp: Awaited<ReturnType<typeof startSmtpServer>>
  const env = { DATA_DIR: dataDir, LOG_LEVEL: 'warn', PORT: '1' }
  const admin = (...args: string[]) => runCommandProcess(['admin', ...args], env)
  // biome-ignore lint/suspicious/noExplicitAny: tests read any response
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.status === 204 ? undefined : response.json()
  }
  const mailTo = async (address: string) => {
    const mails = await Promise.all(smtp.received.map((mail) => PostalMime.parse(mail)))
    return mails.find(({ to }) => to?.[0]?.address === address)
  }
  const choose = (token: string | null | undefined) =>
    post('/auth/account/password/update', { token, newPassword: password, termsAccepted: true })
  const logIn = (email: string) => post('/auth/login/password', { email, password })
  const get = async (path: string, { authToken }: { authToken: string }) =>
    // biome-ignore lint/suspicious/noExplicitAny: tests read any response
    (await (await fetch(service.url + path, { headers: authToken ? { authToken } : {} })).json()) as any

  let rotated = ''

  before(async () => {
    if (isFullSize) rotated = (await admin('rotate-keys')).output
    smtp = await startSmtpServer()
    service = await startServiceProcess({ DATA_DIR: dataDir, LOG_LEVEL: 'warn', SMTP_URL: smtp.url })
  })
  after(async () => {
    await stopProcess(service)
    await smtp.close()
  })

  it('is not needed for the first administrator: the start prints a link for creating one', async () => {
    const link = /First administrator: .*\n *(\S+)\n/.exec(service.output())?.[1] ?? ''
    assert.match(await (await fetch(link)).text(), /name="email"/)
    const token = new URL(link).searchParams.get('token') ?? ''
    const send = (secret: string) =>
      fetch(`${service.url}/auth/administrator`, {
        method: 'POST',
        body: new URLSearchParams({ token: secret, email: 'first@example.org' }),
        redirect: 'manual',
      })
    const guessed = token.replace(/^./, (digit) => (digit === 'a' ? 'b' : 'a'))
    assert.match((await send(guessed)).headers.get('location') ?? '', /^administrator\?/)
    const to = new URL((await send(token)).headers.get('location') ?? '', link)
    assert.match(await (await fetch(to)).text(), /name="newPassword"/)
    assert.equal(await choose(to.searchParams.get('token')), undefined)
    const grant = await logIn('first@example.org')
    assert.deepEqual((await get('/auth/account', grant)).items[0].roles, ['admin'])
    assert.match(await (await fetch(link)).text(), /no longer works/)
  })

  it('creates another one while the service runs, who chooses the password with the mailed link', async () => {
    const { code, output } = await admin('create', '--email', 'Root@example.org')
    assert.equal(code, 0, output)
    assert.match(output, /A mail with a link for choosing a password waits to be sent\./)
    // Only the service sends mails: the command does not know its SMTP_URL.
    const mail = await waitFor(() => mailTo('root@example.org'))
    assert.equal(existsSync(join(dataDir, 'outbox')), false)
    const link = /https?:\S+/.exec(mail.text ?? '')?.[0] ?? ''
    assert.ok(link.startsWith(`${service.url}/auth/`), link)
    assert.equal(output.includes('--url'), false, output)
    const token = new URL(link).searchParams.get('token')
    assert.equal(await choose(token), undefined)
  })

  if (isFullSize)
    it('lists administrators, and revokes the role', async () => {
      assert.deepEqual((await admin('list')).output.trim().split('\n').sort(), [
        'first@example.org  ACTIVE  Administrator',
        'root@example.org  ACTIVE  Administrator',
      ])
      const grant = await logIn('first@example.org')
      const accounts = async () => (await get('/auth/account?count=true', grant)).page.total
      assert.equal(await accounts(), 2)
      assert.doesNotMatch((await admin('revoke', '--email', 'first@example.org')).output, /Warning/)
      // This instance notices another process's change within 5 s, most of which have passed by now.
      await waitUntil(async () => (await accounts()) === 1)
    })

  if (isFullSize)
    it('disables an administrator, and warns if none is left', async () => {
      const grant = await logIn('root@example.org')
      const { output } = await admin('disable', '--email', 'root@example.org')
      assert.ok(output.includes('no administrator who can log in is left'), output)
      assert.equal((await logIn('root@example.org')).code, 'invalid-credentials')
      await waitUntil(async () => (await get('/auth/account', grant)).code !== undefined)
    })

  it('leaves the service with the size and the last backup of its database among its metrics', async () => {
    const figure = async (name: string) => {
      const figures = await (await fetch(`${service.url}/metrics`)).text()
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(figures)?.[1])
    }
    assert.ok((await figure('database_size_bytes')) > 10_000)
    assert.equal(await figure('last_backup_timestamp_seconds'), 0)
    const start = Date.now() / 1000
    const { code, output } = await runCommandProcess(['backup', join(createDataDir(), 'copy')], env)
    assert.equal(code, 0, output)
    const at = await figure('last_backup_timestamp_seconds')
    assert.ok(at >= start - 1 && at <= Date.now() / 1000, String(at))
    if (isFullSize) return
    const { lastBackupAt } = await get('/health/status', await logIn('root@example.org'))
    assert.equal(Date.parse(lastBackupAt), at * 1000)
  })

  if (isFullSize)
    it('rotates the keys', async () => {
      const { keys } = await get('/auth/login/jwks', { authToken: '' })
      assert.equal(keys.length, 2)
      assert.ok(rotated.includes(keys[0].kid), rotated)
    })
})
