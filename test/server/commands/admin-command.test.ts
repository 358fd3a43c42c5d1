import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import { newDataDir, type ServiceProcess, startProcess, stopProcess } from '../../harness/service/process.ts'

const password = 'correct horse battery staple'

describe('npm run admin', function suite() {
  this.timeout(60_000)
  const dataDir = newDataDir()
  const admin = async (...args: string[]) => {
    const env = { PATH: process.env.PATH, DATA_DIR: dataDir, LOG_LEVEL: 'warn', PORT: '1' }
    const file = promisify(execFile)
    const done = await file(process.execPath, ['dist/server/commands/admin.js', ...args], { env }).catch(
      (error) => error,
    )
    return { code: done.code ?? 0, said: `${done.stdout}${done.stderr}` }
  }
  const serving = async <T>(work: (service: ServiceProcess) => Promise<T>): Promise<T> => {
    const service = await startProcess({ DATA_DIR: dataDir, LOG_LEVEL: 'warn' })
    await service.ready
    try {
      return await work(service)
    } finally {
      await stopProcess(service)
    }
  }
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was answered
  const post = async ({ url }: ServiceProcess, path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.status === 204 ? undefined : response.json()
  }
  const lastMail = async () => {
    const outbox = join(dataDir, 'outbox')
    const file = readdirSync(outbox).sort().at(-1) ?? ''
    return PostalMime.parse(readFileSync(join(outbox, file)))
  }

  it('explains itself, and says what is wrong with a command line', async () => {
    assert.match((await admin('--help')).said, /create --email[\s\S]*rotate-keys/)
    const faulty = [[], ['create', '--email', 'x'], ['create', '--mail', 'a@b.example']]
    for (const { code, said } of await Promise.all(faulty.map((args) => admin(...args)))) {
      assert.equal(code, 1, said)
      assert.doesNotMatch(said, /\n\s+at /)
    }
  })

  it('makes the first administrator, who chooses the password by the mailed link; rotates the keys', async () => {
    const { code, said } = await admin('create', '--email', 'Root@example.org')
    assert.equal(code, 0, said)
    const mail = await lastMail()
    assert.equal(mail.to?.[0]?.address, 'root@example.org')
    assert.match((await admin('create', '--email', 'root@example.org')).said, /is now an administrator's/)
    const token = new URL(/https?:\S+/.exec((await lastMail()).text ?? '')?.[0] ?? '').searchParams.get(
      'token',
    )
    const rotated = await admin('rotate-keys')

    await serving(async (service) => {
      const chosen = { token, newPassword: password, termsAccepted: true }
      assert.equal(await post(service, '/auth/account/password/update', chosen), undefined)
      const grant = await post(service, '/auth/login/password', { email: 'root@example.org', password })
      const get = async (path: string) =>
        // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was answered
        (await (await fetch(service.url + path, { headers: { authToken: grant.authToken } })).json()) as any
      assert.deepEqual((await get('/auth/account')).items[0].roles, ['admin'])
      const { keys } = await get('/auth/login/jwks')
      assert.equal(keys.length, 2)
      assert.ok(rotated.said.includes(keys[0].kid))
    })
  })
})
