import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { openApi } from '../../path-api/documentation/openapi.ts'
import { table } from '../../path-api/table.ts'

const usage = `Usage: npm run openapi -- [FILE]

Writes the OpenAPI document of the path family to the file, or to standard output.
`

function main(): void {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [file] = positionals
  const document = () => `${JSON.stringify(openApi(table, packageJson.version), null, 2)}\n`
  if (values.help) process.stdout.write(usage)
  else if (file === undefined) process.stdout.write(document())
  else writeFileSync(file, document())
}

try {
  main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
