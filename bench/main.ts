import { parseArgs } from 'node:util'

/** The benchmarks, each a module that runs when it is imported. */
const benches: Record<string, { about: string; run(): Promise<unknown> }> = {
  'class-family': {
    about: 'the class family against a bare Parse Server: GET one, list of 20, POST, PUT',
    run: () => import('./class-family.ts'),
  },
  'path-family': {
    about: 'profiles against a bare Express and a bare Parse Server: GET, list, PUT, login',
    run: () => import('./path-family.ts'),
  },
}

const { values, positionals } = parseArgs({
  options: { help: { type: 'boolean', short: 'h' } },
  allowPositionals: true,
})
const chosen = benches[positionals[0] ?? '']

if (values.help || !chosen) {
  const list = Object.entries(benches).map(([name, { about }]) => `  ${name.padEnd(16)}${about}\n`)
  process.stdout.write(`Usage: npm run bench <name>\n\n${list.join('')}`)
  process.exitCode = values.help ? 0 : 1
} else {
  await chosen.run()
}
