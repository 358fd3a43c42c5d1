/** Compiles what has changed, and says so; what runs from `dist` meanwhile goes on. */
import ts from 'typescript'
import { removeStale, reportDiagnostic, system } from './compile.mjs'

const say = (sentence) => process.stderr.write(`${sentence}\n`)

const host = ts.createSolutionBuilderHost(system, undefined, reportDiagnostic)
const builder = ts.createSolutionBuilder(host, ['.'], {})
const begun = performance.now()
let building = false

for (let next = builder.getNextInvalidatedProject(); next; next = builder.getNextInvalidatedProject()) {
  if (next.kind === ts.InvalidatedProjectKind.Build && !building) {
    say('building …')
    building = true
  }
  if (next.done() !== ts.ExitStatus.Success) process.exitCode = 1
}
removeStale()
if (building)
  say(`${process.exitCode ? 'not built' : 'built'}: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
