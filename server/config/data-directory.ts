import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
}

/** One after the other: below /proc Node's own recursion never ends. */
function make(path: string): void {
  if (existsSync(path)) return
  make(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** What keeps a directory from being written, as the end of a sentence that begins with its variable. */
export function directoryFault(path: string): string | undefined {
  const instead = 'name a directory that can be written'
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
      return `must not be ${path}: that is a file; ${instead}`
    make(path)
    accessSync(path, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return `must not be ${path}: ${WHY[code] ?? `it cannot be made there (${code})`}; ${instead}`
  }
}
