import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { newDataDir, type ServiceProcess, startProcess } from './process.ts'
import { config, service } from './service.ts'

/** Logins are counted in the database: those that other tests have made of the first one are the second one's too. */
const limits = {
  LOGIN_ATTEMPTS: String(config.loginAttempts),
  ACCOUNT_LOGIN_ATTEMPTS: String(config.accountLoginAttempts),
  ADDRESS_RATE: String(config.addressRate),
  ACCOUNT_RATE: String(config.accountRate),
}

/** A second service on the database of the first, with the same keys and limits and a configuration of its own. */
export async function startNeighbour(env: NodeJS.ProcessEnv): Promise<ServiceProcess> {
  const dataDir = newDataDir()
  copyFileSync(join(config.dataDir, 'keys.json'), join(dataDir, 'keys.json'))
  const neighbour = await startProcess({
    DATA_DIR: dataDir,
    MONGODB_URI: config.mongodbUri,
    PUBLIC_URL: service.url,
    ...limits,
    ...env,
  })
  await neighbour.ready
  return neighbour
}
