import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { describeFault, type Terminal } from './terminal.ts'

const usage = `Usage: health-record-service openapi [FILE]

Writes the OpenAPI document (both families) to FILE, or to standard output.
`

/**
 * Runs the openapi command.
 * @returns the exit code
 */
export async function runOpenApiCommand(args: string[], { stdout, stderr }: Terminal): Promise<number> {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [file] = positionals
    if (values.help) stdout.write(usage)
    else if (positionals.length > 1 || file === '')
      throw new Error('openapi takes at most one FILE. See --help.')
    else if (file === undefined) stdout.write(await createDocument())
    else writeFileSync(file, await createDocument())
    return 0
  } catch (error) {
    stderr.write(`${describeFault(error)}\n`)
    return 1
  }
}

async function createDocument(): Promise<string> {
  const { createOpenApiDocument } = await import('../../path-api/documentation/openapi-document.ts')
  const { operationTable } = await import('../../path-api/operation-table.ts')
  return `${JSON.stringify(createOpenApiDocument(operationTable, packageJson.version), null, 2)}\n`
}
