#!/usr/bin/env node
/** Starts the compiled service and its commands; compiles nothing. */
import { existsSync, readFileSync } from 'node:fs'

const dist = new URL('../dist/server/', import.meta.url)

const programs = {
  start: ['main.js'],
  open: ['main.js', '--open'],
  admin: ['commands/admin.js'],
  audit: ['commands/audit.js'],
  backup: ['commands/backup.js', 'backup'],
  restore: ['commands/backup.js', 'restore'],
  import: ['commands/import.js'],
  move: ['commands/move.js'],
  openapi: ['commands/openapi.js'],
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
const isKnown = Object.hasOwn(programs, command)
if (command === '--help') process.stdout.write(usage)
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
  const [file, ...first] = programs[command]
  process.argv.splice(2, 1, ...first)
  await import(new URL(file, dist).href)
}
