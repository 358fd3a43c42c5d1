import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import {
  createDataDir,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'
import { isFullSize } from '../../harness/test-size.ts'
import { waitFor, waitUntil } from '../../harness/wait.ts'

const password = 'correct horse battery staple'

describe('npm run admin', function suite() {
  this.timeout(60_000)
  const dataDir = createDataDir()
  let service: ServiceProcess
  const admin = async (...args: string[]) => {
    const env = { PATH: process.env.PATH, DATA_DIR: dataDir, LOG_LEVEL: 'warn', PORT: '1' }
    const file = promisify(execFile)
    const done = await file('bin/health-record-service.mjs', ['admin', ...args], { env }).catch(
      (error) => error,
    )
    return { code: done.code ?? 0, said: `${done.stdout}${done.stderr}` }
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests read any response
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.status === 204 ? undefined : response.json()
  }
  const mailTo = async (address: string) => {
    const outbox = join(dataDir, 'outbox')
    const all = await Promise.all(
      readdirSync(outbox).map((file) => PostalMime.parse(readFileSync(join(outbox, file)))),
    )
    return all.find(({ to }) => to?.[0]?.address === address)
  }
  const choose = (token: string | null | undefined) =>
    post('/auth/account/password/update', { token, newPassword: password, termsAccepted: true })
  const logIn = (email: string) => post('/auth/login/password', { email, password })
  const get = async (path: string, { authToken }: { authToken: string }) =>
    // biome-ignore lint/suspicious/noExplicitAny: tests read any response
    (await (await fetch(service.url + path, { headers: authToken ? { authToken } : {} })).json()) as any

  let rotated = ''

  before(async () => {
    rotated = (await admin('rotate-keys')).said
    service = await startServiceProcess({ DATA_DIR: dataDir, LOG_LEVEL: 'warn' })
  })
  after(() => stopProcess(service))

  it('prints help, and explains a wrong command line', async () => {
    assert.match((await admin('--help')).said, /create --email[\s\S]*rotate-keys/)
    const faulty = [
      [],
      ['create', '--email', 'x'],
      ['create', '--mail', 'a@b.example'],
      ['revoke'],
      ['list', '--url', 'x'],
    ]
    for (const { code, said } of await Promise.all(faulty.map((args) => admin(...args)))) {
      assert.equal(code, 1, said)
      assert.doesNotMatch(said, /\n\s+at /)
    }
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
    const guessed = token.replace(/^./, (first) => (first === 'a' ? 'b' : 'a'))
    assert.match((await send(guessed)).headers.get('location') ?? '', /^administrator\?/)
    const to = new URL((await send(token)).headers.get('location') ?? '', link)
    assert.match(await (await fetch(to)).text(), /name="newPassword"/)
    assert.equal(await choose(to.searchParams.get('token')), undefined)
    const grant = await logIn('first@example.org')
    assert.deepEqual((await get('/auth/account', grant)).items[0].roles, ['admin'])
    assert.match(await (await fetch(link)).text(), /no longer works/)
  })

  it('creates another one while the service runs, who chooses the password with the mailed link', async () => {
    const { code, said } = await admin('create', '--email', 'Root@example.org')
    assert.equal(code, 0, said)
    const mail = await waitFor(() => mailTo('root@example.org'))
    const link = /https?:\S+/.exec(mail.text ?? '')?.[0] ?? ''
    assert.ok(link.startsWith(`${service.url}/auth/`), link)
    assert.equal(said.includes('--url'), false, said)
    const token = new URL(link).searchParams.get('token')
    assert.equal(await choose(token), undefined)
  })

  if (isFullSize)
    it('lists administrators, and revokes the role', async () => {
      assert.deepEqual((await admin('list')).said.trim().split('\n').sort(), [
        'first@example.org  ACTIVE  Administrator',
        'root@example.org  ACTIVE  Administrator',
      ])
      const grant = await logIn('first@example.org')
      const accounts = async () => (await get('/auth/account?count=true', grant)).page.total
      assert.equal(await accounts(), 2)
      assert.doesNotMatch((await admin('revoke', '--email', 'first@example.org')).said, /Warning/)
      // This instance notices another process's change within 5 s, most of which have passed by now.
      await waitUntil(async () => (await accounts()) === 1)
    })

  it('disables an administrator, and warns if none is left', async () => {
    const grant = await logIn('root@example.org')
    const { said } = await admin('disable', '--email', 'root@example.org')
    assert.equal(said.includes('no administrator who can log in is left'), isFullSize, said)
    assert.equal((await logIn('root@example.org')).code, 'invalid-credentials')
    await waitUntil(async () => (await get('/auth/account', grant)).code !== undefined)
  })

  it('leaves the service with the size of its database among its metrics', async () => {
    const figures = await (await fetch(`${service.url}/metrics`)).text()
    assert.ok(Number(/^database_size_bytes (\S+)$/m.exec(figures)?.[1]) > 10_000)
  })

  it('rotates the keys', async () => {
    const { keys } = await get('/auth/login/jwks', { authToken: '' })
    assert.equal(keys.length, 2)
    assert.ok(rotated.includes(keys[0].kid), rotated)
  })
})
