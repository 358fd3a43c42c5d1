/** Compiles what has changed, and says so; what runs from `dist` meanwhile goes on. */
import { isFresh, noteBuilt } from './fresh.mjs'

const say = (sentence) => process.stderr.write(`${sentence}\n`)

async function build() {
  const begun = Date.now()
  const { default: ts } = await import('typescript')
  const { removeStale, reportDiagnostic, system } = await import('./compile.mjs')
  const host = ts.createSolutionBuilderHost(system, undefined, reportDiagnostic)
  const builder = ts.createSolutionBuilder(host, ['.'], {})
  let building = false

  for (let next = builder.getNextInvalidatedProject(); next; next = builder.getNextInvalidatedProject()) {
    if (next.kind === ts.InvalidatedProjectKind.Build && !building) {
      say('building …')
      building = true
    }
    if (next.done() !== ts.ExitStatus.Success) process.exitCode = 1
  }
  removeStale()
  noteBuilt(process.exitCode ? undefined : begun)
  if (building)
    say(`${process.exitCode ? 'not built' : 'built'}: ${((Date.now() - begun) / 1000).toFixed(1)} s`)
}

if (!isFresh()) await build()
