/** Whether anything has to be compiled, known without the compiler: loading it takes longer than looking. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const STAMP = 'dist/built'

/** The newest time in a tree; a folder has the time at which something in it came or went. */
function newest(path) {
  const about = statSync(path, { throwIfNoEntry: false })
  if (!about) return 0
  if (!about.isDirectory()) return about.mtimeMs
  const inner = readdirSync(path).filter((name) => !['dist', 'node_modules'].includes(name))
  return Math.max(about.mtimeMs, ...inner.map((name) => newest(join(path, name))))
}

const packages = () => (existsSync('packages') ? readdirSync('packages') : [])

export function isFresh() {
  const built = statSync(STAMP, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const { include } = JSON.parse(readFileSync('tsconfig.json', 'utf8'))
  const sources = [...include, 'packages', 'scripts', 'tsconfig.json', 'package.json', 'package-lock.json']
  return (
    packages().every((name) => existsSync(join('packages', name, 'dist'))) &&
    sources.every((source) => newest(source) < built)
  )
}

/** @param begun when what has been built was read, in milliseconds since 1970; undefined: it could not be built */
export function noteBuilt(begun) {
  if (begun === undefined) return rmSync(STAMP, { force: true })
  writeFileSync(STAMP, '')
  utimesSync(STAMP, begun / 1000, begun / 1000)
}
