/** The command line: `main.js --data DIR [--port N | --socket]`. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { spaceBounds } from './storage/collections/catalog.ts'
import {
  createDamageFault,
  type DataDirectory,
  isCrashSignal,
  openDataDirectory,
} from './storage/disk/data-directory.ts'
import { isSystemFault, StartFault } from './storage/disk/file-access.ts'
import { Engine } from './storage/engine.ts'
import { startTtlMonitor } from './storage/ttl.ts'
import { MongoServer } from './wire/server.ts'

/** The time limit for running commands after the parent has gone. */
const ORPHAN_TIMEOUT_MS = 5_000

const usage = `Usage: embedded-mongo --data DIR [--port N | --socket]

A MongoDB wire-protocol server for one machine.

  --data DIR   Directory of the data; created if it does not exist
  --port N     Port of 127.0.0.1 to listen on (default: 27017; 0: any free port). Every local user can reach it.
  --socket     Listen on a socket that only this user can open, instead of a port
  --help       Print this text
`

interface Arguments {
  data: string
  /** Undefined to listen on a socket. */
  port: number | undefined
}

const readArguments = (): Arguments => {
  try {
    const { values } = parseArgs({
      options: {
        data: { type: 'string' },
        port: { type: 'string' },
        socket: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    const port = Number(values.port ?? 27017)
    if (!values.data) throw new Error('--data DIR is required')
    if (!Number.isInteger(port) || port < 0 || port > 65535 || values.port === '')
      throw new Error(`--port must be a whole number from 0 to 65535, not ${values.port}`)
    if (values.socket && values.port !== undefined) throw new Error('--port and --socket exclude each other')
    return { data: resolve(values.data), port: values.socket ? undefined : port }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const openEngine = ({ file, doubt, confirm }: DataDirectory, data: string): Engine => {
  if (doubt) verifyApart(file, doubt, data)
  try {
    const engine = new Engine(file)
    confirm()
    return engine
  } catch (error) {
    const { message } = error as Error
    if (isSystemFault(error)) throw new StartFault(`cannot open data directory ${data}: ${message}`)
    throw createDamageFault(data, `${file} is inconsistent: ${message}`)
  }
}

/** Verifies in a separate process, since damaged data can crash lmdb. */
const verifyApart = (file: string, doubt: string, data: string): void => {
  const { status, signal, stderr, error } = spawnSync(process.execPath, [verifier, file, doubt], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  if (status === 0) return
  const exitMessage = `reading it ended with ${signal ?? `code ${status}`}`
  const why = error?.message || (!signal && stderr.trim().split('\n', 1)[0]) || exitMessage
  if (status === 1 || isCrashSignal(signal)) throw createDamageFault(data, `${file} is inconsistent: ${why}`)
  throw new StartFault(`cannot verify data directory ${data}: ${why}`)
}

const verifier = fileURLToPath(new URL('./verify.js', import.meta.url))

const start = async ({ data, port }: Arguments): Promise<void> => {
  // Nobody else may read the data, also in backups.
  process.umask(0o077)
  // The catalogue, and the counts and results in its space.
  const [, endOfCatalog] = spaceBounds(0)
  const directory = await openDataDirectory(data, endOfCatalog)
  const engine = openEngine(directory, data)
  const server = new MongoServer(engine)
  const uri = await listen(server, port)
  await engine.dropUnfinishedIndexes()
  engine.purge()
  const stopTtlMonitor = startTtlMonitor(engine)
  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    stopTtlMonitor()
    await server.close()
    await engine.close()
    directory.release()
    process.exit(0)
  }
  // Signals reach the whole process group. A parent drains first and then ends the engine.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, process.send ? () => {} : stop)
  // The parent has drained, or died, even by kill -9. The engine must not outlive it.
  process.on('disconnect', () => {
    setTimeout(() => process.exit(1), ORPHAN_TIMEOUT_MS).unref()
    stop()
  })
  if (process.send) watchParent()
  if (process.send && !process.connected) return stop()
  directory.publishUri(uri)
  process.send?.({ ready: true, uri })
  process.stdout.write(`embedded-mongo ready: ${uri} data ${data}\n`)
}

/** @returns the URI of the listening server */
const listen = (server: MongoServer, port: number | undefined): Promise<string> =>
  (port === undefined ? server.listenOnSocket() : server.listenOnPort(port)).catch((error: Error) => {
    throw new StartFault(
      `cannot listen on ${port === undefined ? 'a socket' : `port ${port}`}: ${error.message}`,
    )
  })

/** A busy engine may not notice that its parent has ended, so a separate thread watches. */
const watchParent = (): void => {
  const watch = `const parent = process.ppid
    setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000)`
  new Worker(watch, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8 } })
    .on('error', () => {})
    .unref()
}

// Errors outside of commands, such as lmdb's rejected promises on a full disk, must not end the process.
const note = (error: unknown): void => {
  const [, ...frames] = String((error as Error).stack).split('\n')
  process.stderr.write(`embedded-mongo: ${(error as Error).name}\n${frames.join('\n')}\n`)
}
process.on('unhandledRejection', note)
process.on('uncaughtException', note)

// A dead parent no longer reads the output.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

start(readArguments()).catch((error: Error) => {
  const sentence = error instanceof StartFault ? error.message : `cannot start: ${error.stack}`
  process.stderr.write(`embedded-mongo: ${sentence}\n`)
  if (process.send) process.send({ error: sentence }, () => process.exit(1))
  else process.exit(1)
})
