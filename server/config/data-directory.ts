import { accessSync, constants, statSync } from 'node:fs'
import { makeDirectory } from '@health-record-service/embedded-mongo'

const REASON_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to write there',
  EPERM: 'this user has no permission to write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
}

/** Reason why a directory is not writable, as the end of a sentence that begins with its variable. */
export function findDirectoryFault(path: string): string | undefined {
  const instead = 'name a writable directory'
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
      return `must not be ${path}, which is a file; ${instead}`
    makeDirectory(path)
    accessSync(path, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return `must not be ${path}: ${REASON_BY_CODE[code] ?? `it cannot be created (${code})`}; ${instead}`
  }
}
