/** Runs a compiled program (`dev.mjs FILE [ARGUMENT]…`); compiles at every change, and then starts it again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import ts from 'typescript'
import { removeStale, reportDiagnostic, system } from './compile.mjs'

const program = process.argv.slice(2)
let child
let turn = Promise.resolve()

async function stop() {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function restart() {
  await stop()
  child = spawn(process.execPath, ['--enable-source-maps', ...program], { stdio: 'inherit' })
}

/** What runs goes on when there is nothing better to start. */
function report(diagnostic) {
  const sentence = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')
  process.stderr.write(`${sentence}\n`)
  if (!sentence.startsWith('Found 0 errors')) return
  removeStale()
  turn = turn.then(restart)
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    turn = turn.then(stop).then(() => process.exit(0))
  })

const host = ts.createSolutionBuilderWithWatchHost(system, undefined, reportDiagnostic, undefined, report)
ts.createSolutionBuilderWithWatch(host, ['.'], {}, {}).build()
