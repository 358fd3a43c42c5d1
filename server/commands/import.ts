import { runImportCommand } from './import-file.ts'

process.exitCode = await runImportCommand(process.argv.slice(2), process)
