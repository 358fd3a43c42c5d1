import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { newDataDir, type ServiceProcess, startProcess } from './process.ts'
import { config, service } from './service.ts'

/** A second service on the database of the first, with the same keys and a configuration of its own. */
export async function startNeighbour(env: NodeJS.ProcessEnv): Promise<ServiceProcess> {
  const dataDir = newDataDir()
  copyFileSync(join(config.dataDir, 'keys.json'), join(dataDir, 'keys.json'))
  const neighbour = await startProcess({
    DATA_DIR: dataDir,
    MONGODB_URI: config.mongodbUri,
    PUBLIC_URL: service.url,
    ...env,
  })
  await neighbour.ready
  return neighbour
}
