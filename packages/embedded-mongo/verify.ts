/** `verify.js FILE`: reads a data file from end to end, in a process that lmdb may take down with it. */
import { Engine } from './storage/engine.ts'

new Engine(process.argv[2] as string).verify()
process.exit(0)
