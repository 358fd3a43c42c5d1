/** Runs the tests that match its arguments, in parallel. `npm test -- --help` explains the arguments. */
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const usage = `Usage: npm test [-- [WORD]… [--OPTION]…]

  npm test                        every test
  npm test -- goal                the files with "goal" in their path
  npm test -- goal tokens         the files with either word
  npm test -- "is restored"       tests with this title, if no path contains it
  npm test -- goal "is restored"  those of them in files with "goal" in their path

Options go to mocha: --bail, --reporter=dot, --no-parallel (all in one process, for a debugger).
npm run test:mongodb -- goal      the same on the MongoDB of MONGODB_URI, in databases of their own
TEST_SIZE=full npm test           the size of .ci/run; docs/testing.md lists the differences
`

const testsOf = (directory) =>
  readdirSync(join(directory, 'dist'), { recursive: true })
    .filter((path) => /(^|\/)test\/.*\.test\.js$/.test(path))
    .map((path) => ({
      compiled: join(directory, 'dist', path),
      source: join(directory, path.replace(/js$/, 'ts')),
    }))

const escaped = (word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

function commandLine(args) {
  const options = args.filter((arg) => arg.startsWith('-'))
  const words = args.filter((arg) => !arg.startsWith('-')).map((word) => word.toLowerCase())
  // The packages' tests test the embedded engine itself.
  const packages = process.env.TEST_DATABASE ? [] : readdirSync('packages')
  // Their tests run first: some take long and would otherwise end last.
  const all = [...packages.map((name) => join('packages', name)), '.'].flatMap(testsOf)
  const names = (word) => all.filter(({ source }) => source.toLowerCase().includes(word))
  const titles = words.filter((word) => names(word).length === 0)
  for (const word of titles)
    process.stderr.write(`No test file has "${word}" in its path: running tests with it in their title\n`)
  const named = [...new Set(words.flatMap(names))]
  return [
    '--parallel',
    // Two more than processors, since tests also wait for disks, processes and each other.
    `--jobs=${availableParallelism() + 2}`,
    // A word without a match must not look like a passing run.
    '--fail-zero',
    ...(titles.length > 0 ? [`--grep=/${titles.map(escaped).join('|')}/i`] : []),
    ...options,
    ...(named.length > 0 ? named : all).map(({ compiled }) => compiled),
  ]
}

const args = process.argv.slice(2)
if (args.includes('--help')) process.stdout.write(usage)
else if (process.env.TEST_DATABASE && !process.env.MONGODB_URI) {
  process.stderr.write('MONGODB_URI must name the MongoDB that the tests may use\n')
  process.exitCode = 1
} else {
  process.argv.splice(2, args.length, ...commandLine(args))
  await import('mocha/bin/mocha.js')
}
