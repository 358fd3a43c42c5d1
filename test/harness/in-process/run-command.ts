import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Terminal } from '../../../server/commands/terminal.ts'

export interface CommandResult {
  code: number
  stdout: string
  /** Both streams. */
  output: string
}

type RunCommand = (args: string[], terminal: Terminal) => Promise<number>

/** Runs a command in the process of the test, which saves the start of a process. */
export async function runCommand(
  run: RunCommand,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const result = { stdout: '', output: '' }
  const stderr = { write: (text: string) => (result.output += text) }
  const stdout = {
    write: (text: string) => {
      result.stdout += text
      result.output += text
    },
  }
  const code = await run(args, { env, stdin: process.stdin, stdout, stderr })
  return { code, ...result }
}

/** Runs a command as its users do, in a process of its own. */
export const runCommandProcess = (args: string[], env: NodeJS.ProcessEnv): Promise<CommandResult> =>
  promisify(execFile)('bin/health-record-service.mjs', args, {
    env: { PATH: process.env.PATH, ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, output: `${stdout}${stderr}` }),
  )
