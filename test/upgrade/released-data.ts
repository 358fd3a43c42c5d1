import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createDataDir } from '../harness/service/service-process.ts'

const RELEASES = 'test/upgrade/releases'

export const releasedVersions = readdirSync(RELEASES).sort()
export const latestVersion = releasedVersions.at(-1) ?? ''

/** Creates a data directory as a released version left it. */
export function createReleasedDataDir(version: string): string {
  const dataDir = createDataDir()
  mkdirSync(join(dataDir, 'database'))
  copyFileSync(join(RELEASES, version, 'keys.json'), join(dataDir, 'keys.json'))
  const data = gunzipSync(readFileSync(join(RELEASES, version, 'data.mdb.gz')))
  writeFileSync(join(dataDir, 'database/data.mdb'), data)
  return dataDir
}

/** The ids of what a released version has stored, by the names of the sample. */
export const readStoredIds = (version: string): Record<string, string> =>
  JSON.parse(readFileSync(join(RELEASES, version, 'stored.json'), 'utf8'))
