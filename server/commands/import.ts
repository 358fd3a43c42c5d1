import { importCommand } from './import-file.ts'

process.exitCode = await importCommand(process.argv.slice(2), process)
