/** `verify.js FILE`: reads a data file from end to end, in a process that lmdb may take down with it. */
import { Engine } from './storage/engine.ts'
import { verifyAll } from './storage/verification.ts'

const { storage, catalog } = new Engine(process.argv[2] as string)
try {
  verifyAll(storage, catalog)
  process.exit(0)
} catch (error) {
  process.stderr.write((error as Error).message)
  process.exit(1)
}
