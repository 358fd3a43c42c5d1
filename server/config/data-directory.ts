import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeDirectory } from '@health-record-service/embedded-mongo'

const REASON_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to write there',
  EPERM: 'this user has no permission to write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
}

/**
 * Fault of a DATA_DIR that does not exist and cannot be created, or is not writable.
 * @param mustExist true to create nothing
 */
export function findDirectoryFaults(path: string, mustExist: boolean): string[] {
  const instead = 'name a writable directory'
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats?.isDirectory() === false) return [`DATA_DIR must not be ${path}, which is a file; ${instead}`]
    if (mustExist && !stats) return [`DATA_DIR must be the directory of the service: ${path} does not exist`]
    makeDirectory(path)
    accessSync(path, constants.W_OK | constants.X_OK)
    return []
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return [
      `DATA_DIR must not be ${path}: ${REASON_BY_CODE[code] ?? `it cannot be created (${code})`}; ${instead}`,
    ]
  }
}

/**
 * Whether there is a file or a directory.
 * @throws Error when this user cannot tell: nobody must replace a database that only seems to be missing
 */
export function pathExists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      `${path} cannot be read (${code}). This user must be able to read and write the database.`,
    )
  }
}

const moveMarkOf = (dataDir: string): string => join(dataDir, 'moved-to.txt')

/**
 * Marks a data directory whose database was moved. Nobody must go on with the former database by mistake.
 * @param place the new database, without credentials
 */
export const markAsMoved = (dataDir: string, place: string): void =>
  writeFileSync(moveMarkOf(dataDir), `${place}\n`, { mode: 0o600 })

/** Fault of a configuration without MONGODB_URI whose data was moved. */
export function findMoveFault(dataDir: string): string[] {
  const mark = moveMarkOf(dataDir)
  if (!existsSync(mark)) return []
  return [
    `MONGODB_URI is required, because the data of DATA_DIR was moved to ${readFileSync(mark, 'utf8').trim()}. ` +
      `To use the former data again, delete ${mark}`,
  ]
}
