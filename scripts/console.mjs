/** Builds the console if its sources have changed: checks its types and its sizes, then replaces `dist/console`. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { runTool } from './run-tool.mjs'

const BUILT = 'console/.build'
const TARGET = 'dist/console'
const KB = 1024
/** The sizes of the last build, for `npm run bench console`; outside of the folder that the service serves. */
const SIZES = 'dist/console-sizes.json'
/** Compressed sizes in bytes. A page includes what it needs before it shows itself. */
const BUDGETS = { login: 110 * KB, home: 180 * KB, homeStyles: 15 * KB, otherPage: 40 * KB, charts: 30 * KB }
/** The sources of the entries that have budgets of their own. */
const START = ['index.html', 'src/app/start-app.tsx']
const HOME = ['src/app/signed-in.tsx', 'src/patient/home/home-page.tsx']
const CHARTS = 'src/ui/chart/plot.ts'

const isFile = (path) => statSync(path).isFile()

/** Everything that the console is made of. */
function sources() {
  const roots = ['console', 'client', 'records/measurements', 'schemas/measurements'].filter((root) =>
    existsSync(root),
  )
  const paths = roots.flatMap((root) =>
    readdirSync(root, { recursive: true }).map((name) => join(root, name)),
  )
  return [...paths, 'package-lock.json', 'tsconfig.json', 'scripts/console.mjs']
    .filter((path) => !/(^|\/)(dist|node_modules|\.build)(\/|$)/.test(path) && isFile(path))
    .sort()
}

function fingerprint() {
  const hash = createHash('sha256')
  for (const path of sources()) hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}

/** The mark of a build without a type check. The next build with a type check starts anew if it exists. */
const unchecked = (mark) => `${mark} unchecked`

const run = (module, ...options) => runTool(fileURLToPath(module), ...options)

const checkTypes = () =>
  run(new URL('bin/tsc', import.meta.resolve('@typescript/native/package.json')), '-p', 'console')
const bundle = () =>
  run(
    new URL('bin/vite.js', import.meta.resolve('vite/package.json')),
    'build',
    'console',
    '--logLevel',
    'warn',
  )

const sizeOf = (name) => gzipSync(readFileSync(join(BUILT, name)), { level: 9 }).length

/** A chunk with everything that it imports, except what loads later. */
function filesOf(manifest, key, found = new Set()) {
  const { file, css = [], imports = [] } = manifest[key]
  for (const name of [file, ...css]) found.add(name)
  for (const other of imports) if (!found.has(manifest[other].file)) filesOf(manifest, other, found)
  return found
}

const total = (names) => names.reduce((sum, name) => sum + sizeOf(name), 0)
const ofType = (names, type) => [...names].filter((name) => name.endsWith(type))

/** @returns {{ name: string, size: number, budget: number }[]} compressed sizes in bytes, with their budgets */
function measureSizes() {
  const manifest = JSON.parse(readFileSync(join(BUILT, '.vite/manifest.json'), 'utf8'))
  const texts = Object.keys(manifest).filter((key) => key.includes('texts/') && manifest[key].isDynamicEntry)
  const filesOfAll = (keys) => new Set(keys.flatMap((key) => [...filesOf(manifest, key)]))
  const login = filesOfAll([...START, ...texts.slice(0, 1)])
  const home = filesOfAll([...START, ...texts.slice(0, 1), ...HOME])
  const sizes = [
    ['login', total(ofType(login, '.js')), BUDGETS.login],
    ['home', total(ofType(home, '.js')), BUDGETS.home],
    ['styles of home', total(ofType(home, '.css')), BUDGETS.homeStyles],
  ]
  for (const key of Object.keys(manifest)) {
    if (!manifest[key].isDynamicEntry || [...START, ...HOME, ...texts].includes(key)) continue
    const own = ofType(filesOf(manifest, key), '.js').filter((name) => !home.has(name))
    sizes.push([key, total(own), key === CHARTS ? BUDGETS.charts : BUDGETS.otherPage])
  }
  return sizes.map(([name, size, budget]) => ({ name, size, budget }))
}

const say = (sentence) => process.stderr.write(`${sentence}\n`)

/**
 * @param options.checks whether to check the types
 * @returns a promise of whether the console is up to date now
 */
export async function buildConsole({ checks }) {
  if (!existsSync('console/package.json')) return true
  const mark = join(TARGET, 'fingerprint')
  const current = fingerprint()
  const built = existsSync(mark) ? readFileSync(mark, 'utf8') : ''
  if (built === current || (!checks && built === unchecked(current))) return true
  say('building the console …')
  if ((checks && !(await checkTypes())) || !(await bundle())) return false
  const sizes = measureSizes()
  const excess = sizes.filter(({ size, budget }) => size > budget)
  for (const { name, size, budget } of excess)
    say(`console, ${name}: ${(size / KB).toFixed(1)} KB exceed ${budget / KB} KB`)
  if (excess.length > 0) return false
  rmSync(join(BUILT, '.vite'), { recursive: true })
  writeFileSync(SIZES, JSON.stringify(sizes))
  writeFileSync(join(BUILT, 'fingerprint'), checks ? current : unchecked(current))
  rmSync(TARGET, { recursive: true, force: true })
  renameSync(BUILT, TARGET)
  return true
}
