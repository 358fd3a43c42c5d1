import { parseArgs } from 'node:util'

interface Options {
  items: string
  parts: string
  data?: string | undefined
}

/** The benchmarks, each a module that runs when it is imported, or that exports what runs it. */
const benches: Record<string, { about: string; run(options: Options): Promise<unknown> }> = {
  'class-family': {
    about: 'the class family against a bare Parse Server: GET one, list of 20, POST, PUT',
    run: () => import('./class-family.ts'),
  },
  'path-family': {
    about: 'profiles against a bare Express and a bare Parse Server: GET, list, PUT, login',
    run: () => import('./path-family.ts'),
  },
  start: {
    about: 'from the command to the first answer, against a bare Parse Server',
    run: () => import('./start.ts'),
  },
  store: {
    about: 'what the store costs: handlers on the bare driver against it, with and without audit',
    run: () => import('./store.ts'),
  },
  clinical: {
    about: 'care plans against a bare Express and a bare Parse Server, with ever more items',
    run: async ({ items }) => (await import('./clinical.ts')).benchmarkClinical(items),
  },
  data: {
    about: 'a user’s own data and chat against a bare Express: batches, a list, posts, a topic',
    run: async () => (await import('./user-data/benchmark-own-data.ts')).benchmarkOwnData(),
  },
  live: {
    about:
      'live queries: 1,000 sockets and 100 writes a second, from the answer to the event; one that takes nothing',
    run: async () => (await import('./live/benchmark-live.ts')).benchmarkLive(),
  },
  aql: {
    about: 'AQL over ever more compositions: one EHR, all EHRs, a count; and commits',
    run: async ({ items, data }) => (await import('./aql/benchmark-aql.ts')).benchmarkAql(items, data),
  },
  measurements: {
    about:
      'measurements by both families against a bare Express and a bare Parse Server, with ever more of them',
    run: async ({ items, parts, data }) =>
      (await import('./measurements/benchmark-measurements.ts')).benchmarkMeasurements(items, parts, data),
  },
}

const { values, positionals } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    items: { type: 'string', default: '1000,100000,1000000' },
    parts: { type: 'string', default: 'charts,queries,paths,plan,batches' },
    data: { type: 'string' },
  },
  allowPositionals: true,
})
const chosen = benches[positionals[0] ?? '']

if (values.help || !chosen) {
  const list = Object.entries(benches).map(([name, { about }]) => `  ${name.padEnd(16)}${about}\n`)
  process.stdout.write(`Usage: npm run bench <name> [-- <options>]

${list.join('')}
  --items N,N     aql, clinical, measurements: how many items are registered (${values.items})
  --parts P,P     measurements: which of its parts (${values.parts})
  --data DIR      aql, measurements: where what is loaded is kept for the next run
  --help          this text

  ROUNDS, SECONDS  in the environment: how many rounds (5) of how many seconds each (3)
`)
  process.exitCode = values.help ? 0 : 1
} else {
  await chosen.run(values).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  })
}
