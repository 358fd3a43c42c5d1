import type { Output } from '../import/progress-bar.ts'

/** Environment and streams of a command. */
export interface Terminal {
  env: NodeJS.ProcessEnv
  stdin: NodeJS.Process['stdin']
  stdout: Output
  stderr: Output
}
