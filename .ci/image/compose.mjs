/**
 * Extracts how docker-compose.yml starts the service, for scripts that start its image in another way.
 *
 *   compose.mjs environment FILE NAME=VALUE…   writes the variables, for --env-file; secrets are random
 *   compose.mjs healthcheck                    prints the command of the health check, one argument a line
 *
 * A VALUE replaces that of docker-compose.yml; an empty one removes the variable.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true })
const { environment, healthcheck } = services.service

/** A value as Compose reads it: with a secret in place of each required variable, and the default of each other one. */
const resolve = (value) =>
  value
    .replace(/\$\{\w+:\?[^}]*\}/g, () => randomBytes(16).toString('hex'))
    .replace(/\$\{\w+:-([^}]*)\}/g, '$1')

function writeEnvironment(file, given) {
  const values = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, resolve(value)]),
  )
  for (const pair of given) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(pair)
    if (value) values[name] = value
    else delete values[name]
  }
  writeFileSync(
    file,
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
}

const [command, file, ...given] = process.argv.slice(2)
if (command === 'environment') writeEnvironment(file, given)
else if (command === 'healthcheck')
  process.stdout.write(
    healthcheck.test
      .slice(1)
      .map((part) => `${part}\n`)
      .join(''),
  )
else throw new Error(`unknown command ${command}`)
