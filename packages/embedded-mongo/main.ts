/** The command line: `main.js --data DIR [--port N]`. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { type DataDirectory, openDataDirectory, StartFault } from './storage/disk/data-directory.ts'
import { Engine } from './storage/engine.ts'
import { startTtlMonitor } from './storage/ttl.ts'
import { verifyCounts } from './storage/verification.ts'
import { MongoServer } from './wire/server.ts'

/** How long what runs may take to end when the parent is gone. */
const PATIENCE_MS = 5_000

const usage = `Usage: embedded-mongo --data DIR [--port N]

A MongoDB wire-protocol server for one machine, on 127.0.0.1 only.

  --data DIR   where the data are kept; made when it does not exist
  --port N     the port to listen on (default 27017; 0: any free one)
  --help       this text
`

interface Arguments {
  data: string
  port: number
}

const readArguments = (): Arguments => {
  try {
    const { values } = parseArgs({
      options: { data: { type: 'string' }, port: { type: 'string' }, help: { type: 'boolean' } },
    })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    const port = Number(values.port ?? 27017)
    if (!values.data) throw new Error('--data DIR is missing')
    if (!Number.isInteger(port) || port < 0 || port > 65535 || values.port === '')
      throw new Error(`--port must be a number from 0 to 65535, not ${values.port}`)
    return { data: resolve(values.data), port }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const openEngine = ({ file, doubt, confirm }: DataDirectory, data: string): Engine => {
  if (doubt === 'copied') verifyApart(file, data)
  try {
    const engine = new Engine(file)
    if (doubt === 'unclean') verifyCounts(engine.storage, engine.catalog)
    confirm()
    return engine
  } catch (error) {
    throw new StartFault(`data directory ${data} is damaged: ${(error as Error).message}`)
  }
}

/** In a process of its own, since lmdb dies of some of what it may find. */
const verifyApart = (file: string, data: string): void => {
  const { status, stderr } = spawnSync(process.execPath, [verifier, file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  if (status === 0) return
  const why =
    status === 1 && stderr ? stderr.split('\n', 1)[0] : 'it has been cut short or copied while it was in use'
  throw new StartFault(`data directory ${data} is damaged: ${file} does not fit together: ${why}`)
}

const verifier = fileURLToPath(new URL('./verify.js', import.meta.url))

const start = async ({ data, port }: Arguments): Promise<void> => {
  const directory = await openDataDirectory(data)
  const engine = openEngine(directory, data)
  const server = new MongoServer(engine)
  const bound = await server.listen(port).catch((error: Error) => {
    throw new StartFault(`cannot listen on port ${port}: ${error.message}`)
  })
  await engine.dropUnfinished()
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
  // They reach the whole process group: a parent drains first.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, process.send ? () => {} : stop)
  // The parent has drained, or is gone, by kill -9 too: nothing stays behind.
  process.on('disconnect', () => {
    setTimeout(() => process.exit(1), PATIENCE_MS).unref()
    stop()
  })
  if (process.send) watchParent()
  if (process.send && !process.connected) return stop()
  const uri = `mongodb://127.0.0.1:${bound}`
  directory.announce(uri)
  process.send?.({ ready: true, uri })
  process.stdout.write(`embedded-mongo ready: ${uri} data ${data}\n`)
}

/** For an engine so busy that it does not hear of its parent's end: a thread of its own looks. */
const watchParent = (): void => {
  const watch = `const parent = process.ppid
    setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 1000)`
  new Worker(watch, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8 } })
    .on('error', () => {})
    .unref()
}

// What goes wrong outside of a command, as lmdb's promises on a full disk do, ends nobody's work.
const note = (error: unknown): void => {
  const [, ...frames] = String((error as Error).stack).split('\n')
  process.stderr.write(`embedded-mongo: ${(error as Error).name}\n${frames.join('\n')}\n`)
}
process.on('unhandledRejection', note)
process.on('uncaughtException', note)

// A parent that has died reads no output any more.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

start(readArguments()).catch((error: Error) => {
  const sentence = error instanceof StartFault ? error.message : `cannot start: ${error.stack}`
  process.stderr.write(`embedded-mongo: ${sentence}\n`)
  if (process.send) process.send({ error: sentence }, () => process.exit(1))
  else process.exit(1)
})
