/** `verify.js FILE copied|unclean`: verifies a data file in its own process, which lmdb may crash. */
import { isSystemFault } from './storage/disk/file-access.ts'
import { checkPages } from './storage/disk/pages.ts'
import { Engine } from './storage/engine.ts'
import { verifyAll, verifyCounts } from './storage/verification.ts'

const [, , file, doubt] = process.argv as unknown as [string, string, string, string]
try {
  if (doubt === 'copied') checkPages(file)
  const { storage, catalog } = new Engine(file)
  const verify = doubt === 'copied' ? verifyAll : verifyCounts
  verify(storage, catalog)
  process.exit(0)
} catch (error) {
  process.stderr.write((error as Error).message)
  // 2: verification was not possible.
  process.exit(isSystemFault(error) ? 2 : 1)
}
