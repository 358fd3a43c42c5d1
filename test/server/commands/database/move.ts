import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs `npm run move` for the data in a directory. */
export const move = (dataDir: string, to: string): Promise<{ code: number; output: string }> =>
  promisify(execFile)(process.execPath, ['dist/server/commands/move.js', '--to', to], {
    env: { PATH: process.env.PATH, DATA_DIR: dataDir },
  }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stderr }) => ({ code, output: stderr as string }),
  )
