#!/usr/bin/env node
/** Starts the compiled service and its commands; compiles nothing. */
import { existsSync, readFileSync } from 'node:fs'

const dist = new URL('../dist/server/', import.meta.url)

/** The first arguments of the service. */
const services = { start: [], open: ['--open'] }

/** The module and the function of each command, and its first arguments. */
const commands = {
  admin: ['admin', 'runAdminCommand'],
  audit: ['audit', 'runAuditCommand'],
  backup: ['backup', 'runBackupCommand', 'backup'],
  restore: ['backup', 'runBackupCommand', 'restore'],
  import: ['import', 'runImportCommand'],
  move: ['move', 'runMoveCommand'],
  openapi: ['openapi', 'runOpenApiCommand'],
}

const usage = `Usage: health-record-service [COMMAND [ARGUMENT]…]

  start     Start the service (also without a command)
  open      Start the open test environment
  admin     Manage administrators and signing keys
  audit     Verify the audit, or change the keys of the data
  backup    Copy the embedded database
  restore   Create a data directory from such a copy
  import    Store the measurements of a file
  move      Copy the embedded database into a MongoDB
  openapi   Write the OpenAPI document

Each command has its own --help; --version prints the version. In a clone, npm run COMMAND -- [ARGUMENT]… builds first.
`

const fail = (sentence) => {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

const readVersion = () =>
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

const [command = 'start', ...args] = process.argv.slice(2)
const isCommand = Object.hasOwn(commands, command)
const isKnown = isCommand || Object.hasOwn(services, command)
if (command === '--help' || command === '-h') process.stdout.write(usage)
else if (command === '--version' || (isKnown && args.includes('--version')))
  process.stdout.write(`health-record-service ${readVersion()}\n`)
else if (!isKnown) fail(`Unknown command: ${command}\n\n${usage}`)
else if (!existsSync(dist)) fail('The service is not compiled yet. Run npm run build first')
else {
  const { requireNode } = await import(new URL('config/node-version.js', dist).href)
  try {
    requireNode()
  } catch (error) {
    fail(error.message)
  }
  process.setSourceMapsEnabled(true)
  if (isCommand) {
    const [name, run, ...first] = commands[command]
    const module = await import(new URL(`commands/${name}.js`, dist).href)
    const code = await module[run]([...first, ...args], process)
    // Exits when the output is written: Parse Server leaves timers that would keep the process alive.
    process.stdout.write('', () => process.exit(code))
  } else {
    process.argv.splice(2, 1, ...services[command])
    await import(new URL('main.js', dist).href)
  }
}
