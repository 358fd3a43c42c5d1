import { openAuditLog } from '../../../records/store/audit/audit-log.ts'
import { ACCESS_TOKEN_LIFETIME_S } from '../../../server/accounts/tokens/access-tokens.ts'
import { readConfig } from '../../../server/config/config.ts'
import { createStartClient } from '../../../server/database/client-options.ts'
import { openDatabase } from '../../../server/database/open-database.ts'
import { openSigningKeys, signingKeyEncryption } from '../../../server/keys/signing-keys.ts'
import { createDataDir, startServiceProcess, stopProcess } from '../service/service-process.ts'
import { isFullSize } from '../test-size.ts'

/**
 * Starts the service with these keys, and stops it. It usually opens only what the keys decide: the database,
 * the audit and the signing keys. At full size a service process starts.
 * @returns the ids of the published signing keys
 */
export const startWithKeys = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<string[]> =>
  isFullSize ? startProcessWithKeys(env, args) : openWithKeys(env, args)

async function startProcessWithKeys(env: NodeJS.ProcessEnv, args: string[]): Promise<string[]> {
  const service = await startServiceProcess(env, ...args)
  try {
    if (args.includes('--open')) return []
    const answer = await fetch(`${service.url}/auth/login/jwks`)
    const { keys } = (await answer.json()) as { keys: { kid: string }[] }
    return keys.map(({ kid }) => kid)
  } finally {
    await stopProcess(service)
  }
}

async function openWithKeys(env: NodeJS.ProcessEnv, args: string[]): Promise<string[]> {
  const environment = { LOG_LEVEL: 'silent', DATA_DIR: createDataDir(), ...env }
  const config = readConfig(environment, args.includes('--open'), { newDatabase: args.includes('--new') })
  const clock = () => new Date()
  const database = await openDatabase(config)
  const client = createStartClient(database.uri)
  try {
    const db = client.db()
    const fail = (error: unknown): never => {
      throw error
    }
    const audit = await openAuditLog({ db, key: config.auditKey, clock, onFault: fail })
    await audit.close()
    if (config.open) return []
    const encryption = signingKeyEncryption(config.keyEncryptionKey)
    const times = { clock, tokenLifetime: ACCESS_TOKEN_LIFETIME_S, maxAgeDays: config.signingKeyDays }
    const published = await (await openSigningKeys({ db, encryption, ...times })).publicKeys()
    return published.map(({ kid }) => kid)
  } finally {
    await client.close()
    await database.close()
  }
}
