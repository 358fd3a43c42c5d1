import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { FuzzRun } from './fuzz-run.ts'
import type { Family } from './generator/context/fuzz-request.ts'
import { Findings } from './oracle/findings-log.ts'
import { Progress } from './progress.ts'
import { createAddress } from './target/fuzz-accounts.ts'
import { startFuzzedService } from './target/fuzzed-service.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    requests: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10).replaceAll('-', '') },
    family: { type: 'string', default: 'all' },
    clients: { type: 'string', default: '4' },
    keep: { type: 'boolean', default: false },
    never: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
})

const usage = `Usage: npm run fuzz [-- <options>]

Starts a service with temporary data, configured as in production. Sends valid and invalid requests and frames of live
queries, generated from the OpenAPI document and the classes. Exit code 1: there are findings, which are a 5xx, no
response within 5 s, an error response without JSON, an error in the log, and data of another user in a response or
changed. Ctrl-C ends the run early, with its summary.

  --seconds N     Maximum duration (default: ${values.seconds})
  --requests N    Maximum number of requests or frames (default: no limit)
  --seed S        Seed: the same one sends the same requests in the same order, with new ids (default: the day)
  --family F      path, class, live (sockets of live queries) or all (default: all)
  --clients N     Number of simultaneous requests (default: ${values.clients})
  --keep          If there are findings, keep the service running for their curl lines until Ctrl-C
  --never         List the routes that never succeeded
  --help          Print this text
`

const families: Record<string, Family[]> = {
  path: ['path'],
  class: ['class'],
  live: [],
  all: ['path', 'class'],
}

/** @throws RangeError for a value other than a positive number */
function readPositive(name: 'seconds' | 'requests' | 'seed' | 'clients'): number {
  const number = Number(values[name])
  if (!(number > 0)) throw new RangeError(`--${name} must be a number above 0`)
  return number
}

const print = (text: string): boolean => process.stdout.write(`${text}\n`)

async function main(): Promise<void> {
  const plan = {
    seed: readPositive('seed'),
    seconds: readPositive('seconds'),
    requests: readPositive('requests'),
    clients: readPositive('clients'),
    families: families[values.family] ?? [],
    live: ['live', 'all'].includes(values.family),
  }
  if (!Object.hasOwn(families, values.family))
    throw new RangeError('--family must be path, class, live or all')
  print(`seed ${plan.seed}; again: npm run fuzz -- --seed ${plan.seed} --family ${values.family}`)
  const admin = createAddress()
  const service = await startFuzzedService(admin)
  let progress: Progress | undefined
  const findings = new Findings(service.url, (text) => {
    progress?.clear()
    print(`\n${text}`)
  })
  const run = new FuzzRun(service, findings, plan)
  progress = new Progress(plan.seconds, () => ({ requests: run.tally.requests, findings: findings.count }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => run.end())
  try {
    await run.perform(admin)
    progress.end()
    for (const line of run.tally.summary()) print(line)
    if (values.never) print(`never succeeded: ${run.tally.findUntried().sort().join(', ')}`)
    for (const line of findings.summary()) print(line)
    print(`${findings.count} findings`)
    if (values.keep && findings.count > 0) await once(process, 'SIGINT')
  } finally {
    progress.end()
    await service.stop()
  }
  process.exitCode = findings.count > 0 ? 1 : 0
}

if (values.help) process.stdout.write(usage)
else
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof RangeError ? error.message : (error as Error).stack}\n`)
    process.exitCode = 1
  })
