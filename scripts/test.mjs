/** Runs the tests that match its arguments, in parallel. `npm test -- --help` explains the arguments. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answerHelp } from './usage.mjs'

const usage = `Usage: npm test [-- [WORD]… [--OPTION]…]

  npm test                        every test
  npm test -- goal                the files with "goal" in their path
  npm test -- "is restored"       the tests with these words in their title, if no path contains them
  npm test -- goal "is restored"  both: several arguments run the tests of each of them

Options go to mocha: --bail, --reporter=dot, --no-parallel (all in one process, for a debugger).
npm run test:mongodb -- goal      the same on the MongoDB of MONGODB_URI, in databases of their own
TEST_SIZE=full npm test           the size before a release; docs/testing.md lists the differences
`

/**
 * Parts of the paths of files that take longest, in the order to start them: the run would otherwise wait for the last
 * one. An analyst's queries come first, since they read all that other tests have stored.
 */
const LONG_TESTS = [
  'console/pages/',
  'lost-network',
  'crash-recovery/',
  'attack/narrow',
  'work/concurrent',
  'durability/',
  'bad-input',
  'openehr/aql/',
  'upgrade.',
  'families',
  'database-faults/',
  'server/clock/',
  'attack/inherited',
  'every-operation',
  'process/',
  'commands/',
  'role-matrix/',
  'in-steps/',
  'attack/slow',
  'readme',
  'queries/',
]

const testsOf = (directory) =>
  readdirSync(join(directory, 'dist'), { recursive: true })
    .filter((path) => /(^|\/)test\/.*\.test\.js$/.test(path))
    .map((path) => ({
      compiled: join(directory, 'dist', path),
      source: join(directory, path.replace(/js$/, 'ts')),
    }))

const escaped = (word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** The arguments of each run of mocha: files with a word in their path run whole, other files by title. */
function mochaRuns(args) {
  const options = args.filter((arg) => arg.startsWith('-'))
  const words = args.filter((arg) => !arg.startsWith('-')).map((word) => word.toLowerCase())
  // The packages' tests test the embedded engine itself.
  const packages = process.env.TEST_DATABASE ? [] : readdirSync('packages')
  const found = [...packages.map((name) => join('packages', name)), '.'].flatMap(testsOf)
  const isIn = ({ source }, word) => source.toLowerCase().includes(word)
  const long = LONG_TESTS.flatMap((part) => found.filter((file) => isIn(file, part)))
  const all = [...new Set([...long, ...found])]
  const named = all.filter((file) => words.some((word) => isIn(file, word)))
  const titles = words.filter((word) => !all.some((file) => isIn(file, word)))
  for (const word of titles)
    process.stderr.write(`No test file has "${word}" in its path: running tests with it in their title\n`)
  const byTitle = {
    grep: [`--grep=/${titles.map(escaped).join('|')}/i`],
    files: all.filter((file) => !named.includes(file)),
  }
  const runs = [
    ...(words.length === 0 ? [{ grep: [], files: all }] : []),
    ...(named.length > 0 ? [{ grep: [], files: named }] : []),
    ...(titles.length > 0 ? [byTitle] : []),
  ]
  return runs.map(({ grep, files }) => [
    '--parallel',
    // Two more than processors, since tests also wait for disks, processes and each other.
    `--jobs=${availableParallelism() + 2}`,
    `--require=${fileURLToPath(new URL('fail-without-tests.mjs', import.meta.url))}`,
    ...grep,
    ...options,
    ...files.map(({ compiled }) => compiled),
  ])
}

const args = process.argv.slice(2)
answerHelp(usage)
if (process.env.TEST_DATABASE && !process.env.MONGODB_URI) {
  process.stderr.write('MONGODB_URI must name the MongoDB that the tests may use\n')
  process.exitCode = 1
} else {
  const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'))
  for (const run of mochaRuns(args))
    if (spawnSync(process.execPath, [mocha, ...run], { stdio: 'inherit' }).status !== 0) process.exitCode = 1
}
