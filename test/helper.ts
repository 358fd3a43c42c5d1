import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type ParseSdk from 'parse/node'
import PostalMime, { type Email } from 'postal-mime'
import supertest from 'supertest'
import { setPlanRole } from '../records/ehrs/roles.ts'
import { type Config, readConfig } from '../server/config/config.ts'
import { type Service, startService } from '../server/service.ts'

/** The one service of a test run, on a data directory of its own; a process can hold no second one. */
export let service: Service
export let config: Config

const dataDir = mkdtempSync(join(tmpdir(), 'health-record-'))

before(async function startOnce() {
  this.timeout(30_000)
  config = readConfig(
    {
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
      DATA_DIR: dataDir,
      PORT: String(await freePort()),
      LOGIN_ATTEMPTS: '1000000',
      ACCOUNT_LOGIN_ATTEMPTS: '1000000',
      ADDRESS_RATE: '1000000',
      ACCOUNT_RATE: '1000000',
      OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
      OIDC_CLIENT_ID: 'health-record',
      OIDC_CLIENT_SECRET: 'a-secret-of-the-provider-and-us',
      OIDC_AUDIENCES: 'health-record-app',
    },
    false,
  )
  service = await startService(config)
})

after(async () => {
  await service?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** A client that knows no keys. */
export const request = () => supertest(service.url)

export const keys = (): Record<string, string> => ({
  'X-Parse-Application-Id': config.applicationId,
  'X-Parse-REST-API-Key': config.restApiKey,
})

export interface TestUser {
  id: string
  email: string
  password: string
  sessionToken: string
  /** The keys and the session, as every request of the class family carries them. */
  headers: Record<string, string>
}

export const newAddress = () => `user-${randomUUID()}@example.org`
export const password = 'correct horse battery staple'

/** Signs up, follows the mailed link and logs in, all over HTTP. */
export async function newUser(email = newAddress()): Promise<TestUser> {
  const signUp = await request()
    .post('/1/users')
    .set(keys())
    .send({ username: email, email, password })
    .expect(201)
  const { link } = await mailTo(email)
  await followLink(link)
  const { body } = await request()
    .post('/1/login')
    .set(keys())
    .send({ username: email, password })
    .expect(200)
  const { sessionToken } = body
  const headers = { ...keys(), 'X-Parse-Session-Token': sessionToken }
  return { id: signUp.body.objectId, email, password, sessionToken, headers }
}

/** Opens the page that a mailed link leads to, fills in its form and presses its button. @returns the next page */
export async function followLink(link: string, more: Record<string, string> = {}): Promise<string> {
  const page = await (await fetch(link)).text()
  const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1] ?? ''
  const hidden = [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
  const body = new URLSearchParams({ ...fields, ...more })
  return (await fetch(new URL(action, link), { method: 'POST', body })).text()
}

/** The newest mail in the outbox to an address, with the first link in it; waits until it is there. */
export async function mailTo(address: string): Promise<Email & { link: string }> {
  const outbox = join(dataDir, 'outbox')
  for (let attempt = 0; attempt < 200; attempt++) {
    for (const file of listed(outbox).sort().reverse()) {
      const raw = readFileSync(join(outbox, file))
      if (!raw.includes(address)) continue
      const mail = await PostalMime.parse(raw)
      return { ...mail, link: /https?:\/\/\S+/.exec(mail.text ?? '')?.[0] ?? '' }
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error(`no mail to ${address}`)
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Puts a user into the role of a care plan, as an invitation to it does. */
export async function givePlanRole(planId: string, userId: string, right: 'read' | 'write'): Promise<void> {
  const { client, db } = service
  const plan = await db.collection<{ _id: string; ehrId: string }>('CarePlan').findOne({ _id: planId })
  const role = { ehrId: plan?.ehrId ?? '', carePlanId: planId, right }
  await client.withSession((session) =>
    session.withTransaction(() => setPlanRole({ client, db }, session, userId, role, true)),
  )
}

/**
 * A Parse SDK as a client elsewhere has it. The service shares its copy of the SDK with Parse Server, which
 * short-circuits it; so each client is a copy of its own.
 */
export function newSdk(url = service.url): typeof ParseSdk {
  const require = createRequire(import.meta.url)
  const ours = Object.entries(require.cache).filter(([path]) => /node_modules[\\/]parse[\\/]/.test(path))
  for (const [path] of ours) delete require.cache[path]
  const Parse: typeof ParseSdk & {
    initialize(...keys: string[]): void
    serverURL: string
  } = require('parse/node')
  for (const path of Object.keys(require.cache))
    if (/node_modules[\\/]parse[\\/]/.test(path)) delete require.cache[path]
  for (const [path, module] of ours) require.cache[path] = module
  Parse.initialize(config.applicationId, config.javascriptKey)
  Parse.serverURL = `${url}/1`
  return Parse
}
