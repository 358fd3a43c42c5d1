import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }

const usage = `Usage: health-record-service openapi [FILE]

Writes the OpenAPI document (both families) to FILE, or to standard output.
`

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [file] = positionals
  if (values.help) process.stdout.write(usage)
  else if (file === undefined) process.stdout.write(await createDocument())
  else writeFileSync(file, await createDocument())
}

async function createDocument(): Promise<string> {
  const { createOpenApiDocument } = await import('../../path-api/documentation/openapi-document.ts')
  const { operationTable } = await import('../../path-api/operation-table.ts')
  return `${JSON.stringify(createOpenApiDocument(operationTable, packageJson.version), null, 2)}\n`
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})
