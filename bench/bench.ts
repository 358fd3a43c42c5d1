import { parseArgs } from 'node:util'

interface Options {
  items: string
  parts?: string | undefined
  data?: string | undefined
}

/** The benchmarks. Each is a module that runs when it is imported, or that exports a function. */
const benches: Record<string, { about: string; run(options: Options): Promise<unknown> }> = {
  'class-family': {
    about: 'class family and a bare Parse Server: GET one, list of 20, POST, PUT',
    run: () => import('./class-family.ts'),
  },
  'path-family': {
    about: 'profiles, a bare Express and a bare Parse Server: GET, list, PUT, login',
    run: () => import('./path-family.ts'),
  },
  start: {
    about: 'time from the command to the first response, and that of a bare Parse Server',
    run: () => import('./start.ts'),
  },
  store: {
    about: 'cost of the store: handlers with it and on the bare driver, with and without audit',
    run: () => import('./store.ts'),
  },
  bytes: {
    about: 'bytes that writes and reads leave: by collection, and for an audit entry',
    run: () => import('./audit/bytes.ts'),
  },
  clinical: {
    about: 'care plans, a bare Express and a bare Parse Server, with a growing number of items',
    run: async ({ items }) => (await import('./clinical.ts')).benchmarkClinical(items),
  },
  data: {
    about: 'user data and chat, and a bare Express: batches, a list, posts, a topic',
    run: async () => (await import('./user-data/benchmark-own-data.ts')).benchmarkOwnData(),
  },
  live: {
    about: 'live queries: 1,000 sockets, 100 writes a second, time from response to event; an idle socket',
    run: async () => (await import('./live/benchmark-live.ts')).benchmarkLive(),
  },
  aql: {
    about: 'AQL over a growing number of compositions: one EHR, all EHRs, pages, averages; reads and commits',
    run: async ({ items, data }) => (await import('./aql/benchmark-aql.ts')).benchmarkAql(items, data),
  },
  ehrbase: {
    about: 'the openEHR REST API and EHRbase, at EHRBASE_URL, about the same compositions',
    run: async ({ items }) => (await import('./aql/benchmark-ehrbase.ts')).benchmarkEhrbase(items),
  },
  measurements: {
    about:
      'measurements in both families, a bare Express and a bare Parse Server, with a growing number of them',
    run: async ({ items, parts, data }) =>
      (await import('./measurements/benchmark-measurements.ts')).benchmarkMeasurements(items, parts, data),
  },
  console: {
    about: 'the console in Chromium on a slow processor: sizes, pages, inputs, graphs, a long timeline',
    run: async () => (await import('./console/benchmark-console.ts')).benchmarkConsole(),
  },
  fhir: {
    about: 'the FHIR API and the path family: reading, searching and writing, with a growing number of items',
    run: async ({ items }) => (await import('./fhir/benchmark-fhir.ts')).benchmarkFhir(items),
  },
  overload: {
    about: 'more requests than the service can answer, and ordinary users together with a heavy one',
    run: async ({ parts }) => (await import('./overload/benchmark-overload.ts')).benchmarkOverload(parts),
  },
}

const { values, positionals } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    items: { type: 'string', default: '1000,100000,1000000' },
    parts: { type: 'string' },
    data: { type: 'string' },
  },
  allowPositionals: true,
})
const bench = benches[positionals[0] ?? '']

if (values.help || !bench) {
  const list = Object.entries(benches).map(([name, { about }]) => `  ${name.padEnd(16)}${about}\n`)
  process.stdout.write(`Usage: npm run bench <name> [-- <options>]

${list.join('')}
  --items N,N     aql, clinical, ehrbase (the first), fhir, measurements: numbers of stored items (default: ${values.items})
  --parts P,P     measurements, overload: parts to run (default: all)
  --data DIR      aql, measurements: directory that keeps the loaded data for the next run
  --help          Print this text

  ROUNDS, SECONDS  environment variables: number of rounds (default: 5) and their seconds (default: 3)
  EHRBASE_URL      environment variable: URL of EHRbase's API, as docs/speed.md says
`)
  process.exitCode = values.help ? 0 : 1
} else {
  await bench.run(values).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  })
}
