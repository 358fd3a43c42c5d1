/**
 * Compiles changed files and reports the result. The compiler writes files in place, so it writes them into `.build`. When
 * every project compiles, the script moves them into `dist`. So a process that runs from there never reads half a file.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildConsole } from './console.mjs'
import { lockBuilds } from './lock.mjs'
import { runTool } from './run-tool.mjs'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run build [-- --no-check]

Compiles what has changed of the service, the client and the console into dist/. What runs from there goes on running.

  --no-check   Compile without a check of types, as npm start does. The next build without this option checks them.
`)

const checks = !process.argv.includes('--no-check')

const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('@typescript/native/package.json')))
const compilation = [compiler, '--build', ...(checks ? [] : ['--noCheck'])]

const say = (sentence) => process.stderr.write(`${sentence}\n`)
const namesIn = (directory) => (existsSync(directory) ? readdirSync(directory, { recursive: true }) : [])
const isFile = (path) => statSync(path).isFile()
const packages = () => (existsSync('packages') ? readdirSync('packages') : [])
const projects = () => ['.', 'client', ...packages().map((name) => join('packages', name))]

async function isUpToDate() {
  if (projects().some((project) => existsSync(join(project, '.build')))) return false
  const dryRun = promisify(execFile)(process.execPath, [...compilation, '--dry'])
  // The build itself reports the error that makes a dry run fail.
  return dryRun.then(
    ({ stdout }) => !stdout.includes('A non-dry build would build'),
    () => false,
  )
}

function moveCompiled(project) {
  const from = join(project, '.build')
  for (const name of namesIn(from).filter((name) => isFile(join(from, name)))) {
    const to = join(project, 'dist', name)
    mkdirSync(dirname(to), { recursive: true })
    renameSync(join(from, name), to)
  }
  rmSync(from, { recursive: true, force: true })
}

/** The source of an output; undefined for files of other tools: those of the console, and those directly in `dist`. */
function sourceOf(output) {
  if (output.startsWith('console/')) return undefined
  const source = output.replace(/\.(js|js\.map|d\.ts)$/, '.ts')
  const isCopy = output.endsWith('.json') && basename(output) !== output
  return source !== output || isCopy ? source : undefined
}

/** Removes the outputs of deleted sources. All other files stay, for processes that run from them. */
function removeStale(project) {
  for (const name of namesIn(join(project, 'dist'))) {
    const source = sourceOf(name)
    if (source && !existsSync(join(project, source))) rmSync(join(project, 'dist', name))
  }
}

/** The compiler compares times. So a source that changed during the build must be newer than the build's outputs. */
function dateBack(project, begun) {
  const dist = join(project, 'dist')
  for (const name of namesIn(dist).filter((name) => name.endsWith('.tsbuildinfo')))
    if (statSync(join(dist, name)).mtimeMs > begun) utimesSync(join(dist, name), begun / 1000, begun / 1000)
}

async function build() {
  const start = Date.now()
  if (await isUpToDate()) return
  say('building …')
  const isCompiled = await runTool(...compilation)
  for (const project of isCompiled ? projects() : []) {
    moveCompiled(project)
    removeStale(project)
    dateBack(project, start)
  }
  say(`${isCompiled ? 'built' : 'not built'}: ${((Date.now() - start) / 1000).toFixed(1)} s`)
  if (!isCompiled) process.exitCode = 1
}

const unlock = await lockBuilds()
try {
  await build()
  if (!process.exitCode && !(await buildConsole({ checks }))) process.exitCode = 1
} finally {
  unlock()
}
