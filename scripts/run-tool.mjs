import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs a tool, which writes to standard error only: standard output belongs to the program that starts next.
 * @returns whether it succeeded
 */
export async function runTool(path, ...options) {
  const stdio = ['ignore', process.stderr, process.stderr]
  const [code] = await once(spawn(process.execPath, [path, ...options], { stdio }), 'exit')
  return code === 0
}
