/** Permissions and owner of the files in the data directory. */
import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError } from '../../values/errors.ts'

/** A reason not to start, as a sentence for the operator. */
export class StartFault extends Error {}

/**
 * Checks that this user may read and write the files, before a failure is taken for damage.
 * @throws StartFault
 */
export const checkAccess = (directory: string, names: readonly string[]): void => {
  for (const name of names)
    try {
      // The right to enter a directory does not include listing it or creating files in it.
      accessSync(name, constants.R_OK | constants.W_OK | (name === '.' ? constants.X_OK : 0))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      const path = join(directory, name)
      throw new StartFault(`cannot use data directory ${directory}: ${explainNoAccess(path, error)}`)
    }
}

/** The exit code of an engine whose disk accepts no more writes. */
export const UNWRITABLE_DISK_EXIT_CODE = 3

export const freeBytesOf = (path: string): number => {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/** A new database needs this much room. With less free space lmdb crashes while it creates one. */
export const NEW_DATABASE_BYTES = 2 ** 21

/** Creates a directory (mode 700) one by one with those above it: below /proc Node's recursive mkdir never ends. */
export const makeDirectory = (path: string): void => {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Explains why a file or directory cannot be used, and the remedy. */
export const explainNoAccess = (path: string, error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EROFS') return `${path} is on a read-only disk`
  if (code === 'ENOSPC') return 'the disk is full'
  if (code === 'ENOTDIR') return `${path} is a file, or below one`
  if (code === 'ENOENT') return `${path} cannot be created`
  if (code !== 'EACCES' && code !== 'EPERM') return message
  const user = process.getuid?.()
  const { visiblePath, owner } = nearestVisiblePath(path)
  if (user === undefined || owner === undefined) return `this user has no access to ${path} (${message})`
  return owner === user
    ? `its owner, this user (uid ${user}), cannot read and write ${visiblePath}. Allow it with chmod u+rwX.`
    : `${visiblePath} belongs to another user (uid ${owner}), and this user (uid ${user}) cannot read and write it. Start as that user, or change the owner with chown.`
}

/** The path and its owner. If the path is hidden or missing: the nearest visible directory above it. */
const nearestVisiblePath = (path: string): { visiblePath: string; owner: number | undefined } => {
  for (let visiblePath = path; ; visiblePath = dirname(visiblePath))
    try {
      return { visiblePath, owner: statSync(visiblePath).uid }
    } catch {
      if (visiblePath === dirname(visiblePath)) return { visiblePath, owner: undefined }
    }
}

/** Whether the system refused something (memory, room, open files, rights). The file may be undamaged. */
export const isSystemFault = (error: unknown): boolean => {
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  // lmdb's own error numbers are negative.
  return errno !== undefined || (typeof code === 'number' && code > 0 && !(error instanceof CommandError))
}
