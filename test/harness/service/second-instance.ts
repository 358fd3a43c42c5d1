import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { config, service } from './service.ts'
import { createDataDir, type ServiceProcess, startProcess } from './service-process.ts'

/** Limits are counted in the shared database, so logins of other tests count for the second instance, too. */
const SHARED_LIMITS = {
  LOGIN_ATTEMPTS: String(config.loginAttempts),
  ACCOUNT_LOGIN_ATTEMPTS: String(config.accountLoginAttempts),
  ADDRESS_RATE: String(config.addressRate),
  ACCOUNT_RATE: String(config.accountRate),
}

/**
 * Starts a second service on the database of the first one, with the same keys and limits and its own
 * configuration.
 */
export async function startSecondInstance(env: NodeJS.ProcessEnv): Promise<ServiceProcess> {
  const dataDir = createDataDir()
  copyFileSync(join(config.dataDir, 'keys.json'), join(dataDir, 'keys.json'))
  const neighbour = await startProcess({
    DATA_DIR: dataDir,
    MONGODB_URI: config.mongodbUri,
    PUBLIC_URL: service.url,
    ...SHARED_LIMITS,
    ...env,
  })
  await neighbour.ready
  return neighbour
}
