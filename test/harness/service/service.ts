/** The service of a test process, which can contain only one. Importing this file starts it. */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import supertest from 'supertest'
import { readConfig } from '../../../server/config/config.ts'
import { startService } from '../../../server/service.ts'
import { closeAtEnd, databaseUri } from '../run.ts'
import { freePort } from './port.ts'

const unlimited = '1000000'

const PORT = String(await freePort())

export const config = readConfig(
  {
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
    DATA_DIR: mkdtempSync(join(tmpdir(), 'service-')),
    MONGODB_URI: databaseUri('service'),
    PORT,
    TERMS_URL: `http://127.0.0.1:${PORT}/auth/terms`,
    CONTACT_EMAIL: 'contact@example.org',
    APP_URL: 'https://app.example.org/',
    LOGIN_ATTEMPTS: unlimited,
    ACCOUNT_LOGIN_ATTEMPTS: unlimited,
    ADDRESS_RATE: unlimited,
    ACCOUNT_RATE: unlimited,
    READ_ONLY_MASTER_KEY: 'read-only-master-key-of-tests',
    OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
    OIDC_CLIENT_ID: 'health-record',
    OIDC_CLIENT_SECRET: 'a-secret-of-the-provider-and-us',
    OIDC_AUDIENCES: 'health-record-app',
  },
  false,
)

/**
 * Uses the lowest hash cost: tests create hundreds of people, and each would otherwise take 0.1 s of
 * processor time.
 */
const requireFromParse = createRequire(createRequire(import.meta.url).resolve('parse-server'))
const bcrypt: { hash(password: string, cost: number): Promise<string> } = requireFromParse('@node-rs/bcrypt')
const { hash } = bcrypt
bcrypt.hash = (password) => hash(password, 4)

export const service = await startService(config)
closeAtEnd(service.stop)

/**
 * The error message of another service that fails to start before it loads Parse Server, which a process can
 * contain only once. The tests in test/server/process check the exit codes.
 */
export async function findStartRefusal(env: NodeJS.ProcessEnv, open = false, isNew = false): Promise<string> {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'refused-'))
  const start = async () =>
    startService(
      readConfig({ LOG_LEVEL: 'silent', DATA_DIR, PORT: '1', ...env }, open, { newDatabase: isNew }),
    )
  const outcome = await start().then(
    () => undefined,
    (error: Error) => error.message,
  )
  assert.ok(outcome !== undefined, 'it has started')
  return outcome
}

/** A client without keys. */
export const request = () => supertest(service.url)

export const apiKeys = (): Record<string, string> => ({
  'X-Parse-Application-Id': config.applicationId,
  'X-Parse-REST-API-Key': config.restApiKey,
})
