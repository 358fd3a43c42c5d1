import { writeFileSync } from 'node:fs'
import packageJson from '../package.json' with { type: 'json' }
import { openApi } from '../path-api/openapi.ts'
import { table } from '../path-api/table.ts'

/** Writes the OpenAPI document to the file named, or to standard output: `npm run openapi -- openapi.json`. */
const document = `${JSON.stringify(openApi(table, packageJson.version), null, 2)}\n`
const file = process.argv[2]
if (file === undefined) process.stdout.write(document)
else writeFileSync(file, document)
