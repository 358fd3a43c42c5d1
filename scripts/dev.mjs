/** Runs a compiled program (`dev.mjs FILE [ARGUMENT]…`). After every change it builds, then restarts the program. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { watch } from 'chokidar'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run dev

Starts the service with the settings of npm start. After each change of a source it builds, and starts the service again.
`)

/** An editor may save several files at once. */
const DEBOUNCE_MS = 100

const program = process.argv.slice(2)
const { include } = JSON.parse(readFileSync('tsconfig.json', 'utf8'))
const buildScript = fileURLToPath(new URL('build.mjs', import.meta.url))
let child
let turn = Promise.resolve()
let isQueued = false

async function build() {
  const [code] = await once(spawn(process.execPath, [buildScript], { stdio: 'inherit' }), 'exit')
  return code === 0
}

async function stop() {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Keeps the running program if the build fails. */
async function renew() {
  await setTimeout(DEBOUNCE_MS)
  isQueued = false
  if (!(await build())) return
  await stop()
  child = spawn(process.execPath, ['--enable-source-maps', ...program], { stdio: 'inherit' })
}

function queue() {
  if (isQueued) return
  isQueued = true
  turn = turn.then(renew)
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    turn = turn.then(stop).then(() => process.exit(0))
  })

const isIgnored = (path, stats) =>
  /(^|\/)(dist|\.build|node_modules)(\/|$)/.test(path) || (stats?.isFile() && !/\.(ts|json)$/.test(path))

watch([...include, 'packages', 'tsconfig.json'], { ignored: isIgnored, ignoreInitial: true }).on('all', queue)
queue()
