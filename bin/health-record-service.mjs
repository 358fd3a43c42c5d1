#!/usr/bin/env node
/** The service and its commands as they have been built; nothing is compiled here. */
import { existsSync } from 'node:fs'

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

  start     the service; also without a command
  open      the open test environment
  admin     administrators and signing keys
  audit     verifies the audit, changes the keys of the data
  backup    copies the embedded database; restore makes a data directory from a copy
  import    stores the measurements of a file
  move      copies the embedded database into a MongoDB
  openapi   writes the OpenAPI document

Each explains itself with --help. In a clone, npm run COMMAND -- [ARGUMENT]… builds first.
`

const fail = (sentence) => {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

const [command = 'start'] = process.argv.slice(2)
if (command === '--help') process.stdout.write(usage)
else if (!Object.hasOwn(programs, command)) fail(`Unknown command ${command}\n\n${usage}`)
else if (!existsSync(dist)) fail('Nothing has been built yet. Run npm run build first')
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
