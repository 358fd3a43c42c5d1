import type { Output } from '../import/progress-bar.ts'

/** Environment and streams of a command. */
export interface Terminal {
  env: NodeJS.ProcessEnv
  stdin: NodeJS.Process['stdin']
  stdout: Output
  stderr: Output
}

const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is below a file, not a directory',
  EISDIR: 'is a directory, not a file',
  EACCES: 'cannot be used by this user',
}

/** The message of a fault; for one of a file, its path and what is wrong with it. */
export function describeFault(fault: unknown): string {
  const { code = '', syscall, path: from, dest, message } = fault as NodeJS.ErrnoException & { dest?: string }
  // A change of the working directory fails because of the new one.
  const path = syscall === 'chdir' ? dest : from
  const text = FILE_FAULTS[code]
  return path !== undefined && text !== undefined ? `${path} ${text}` : (message ?? String(fault))
}
