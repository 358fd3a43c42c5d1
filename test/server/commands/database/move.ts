import { runMoveCommand } from '../../../../server/commands/move.ts'
import { type CommandResult, runCommand } from '../../../harness/in-process/run-command.ts'

/** Runs `npm run move` for the data in a directory. */
export const move = (dataDir: string, to: string): Promise<CommandResult> =>
  runCommand(runMoveCommand, ['--to', to], { DATA_DIR: dataDir })
