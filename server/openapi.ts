import { readFileSync, writeFileSync } from 'node:fs'
import { openApi } from '../path-api/openapi.ts'
import { table } from '../path-api/table.ts'

/** Writes the OpenAPI document to the file named, or to standard output: `npm run openapi -- openapi.json`. */
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const document = `${JSON.stringify(openApi(table, version), null, 2)}\n`
const file = process.argv[2]
if (file === undefined) process.stdout.write(document)
else writeFileSync(file, document)
