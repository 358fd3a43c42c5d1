import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** Where compiled files are, and their sources. */
const outputs = () => [['dist', '.'], ...packages().map((name) => [join(name, 'dist'), name])]
const packages = () => list('packages').map((name) => join('packages', name))

/** A process that starts while something is built finds every file whole, the former one or the new one. */
export const system = {
  ...ts.sys,
  writeFile(path, text, byteOrderMark) {
    const part = `${path}.${process.pid}`
    ts.sys.writeFile(part, text, byteOrderMark)
    renameSync(part, path)
  },
}

const formatHost = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => process.cwd(),
  getNewLine: () => '\n',
}

export function reportDiagnostic(diagnostic) {
  const format = process.stderr.isTTY ? ts.formatDiagnosticsWithColorAndContext : ts.formatDiagnostics
  process.stderr.write(format([diagnostic], formatHost))
}

/** Removes what was compiled from sources that are gone; everything else stays, for those who run it. */
export function removeStale() {
  for (const [compiled, sources] of outputs())
    for (const path of list(compiled, { recursive: true })) {
      const source = path.replace(/\.(js|js\.map|d\.ts)$/, '.ts')
      if (source !== path && !ts.sys.fileExists(join(sources, source))) rmSync(join(compiled, path))
    }
}

function list(directory, options) {
  try {
    return readdirSync(directory, options)
  } catch {
    return []
  }
}
