import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createDataDir } from '../../harness/service/service-process.ts'

/** The folders that the gates read. */
const FOLDERS = [
  'client',
  'cloud',
  'console',
  'docs',
  'fhir',
  'packages',
  'openehr',
  'path-api',
  'records',
  'schemas',
  'server',
  'test',
]

/** Runs the script of a gate in a project with these files. */
export function runGate(script: string, files: Record<string, string>) {
  const project = createDataDir()
  for (const folder of FOLDERS) mkdirSync(join(project, folder))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  return spawnSync(process.execPath, [resolve('scripts', script)], { cwd: project, encoding: 'utf8' })
}
