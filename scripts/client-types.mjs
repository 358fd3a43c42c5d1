/**
 * Writes what the client knows of the service, from the OpenAPI document of the compiled service. With --check it writes
 * nothing, and fails if a file is stale.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript'
import { createOpenApiDocument } from '../dist/path-api/documentation/openapi-document.js'
import { operationTable } from '../dist/path-api/operation-table.js'
import { classKinds } from '../dist/records/kinds.js'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run client:types [-- --check]

Writes client/generated from the OpenAPI document of the service. With --check it writes nothing, and fails if a file is
stale.
`)

const SCHEMA_REF = '#/components/schemas/'

const without = (value, names) =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))

const mapValues = (value, change) =>
  Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one, name)]))

/** A schema without examples and formats, which make no type. */
function plainSchema(value, isMap = false) {
  if (Array.isArray(value)) return value.map((one) => plainSchema(one))
  if (value === null || typeof value !== 'object') return value
  const schema = isMap ? value : without(value, ['example', 'examples', 'format'])
  const isData = (name) => !isMap && ['enum', 'const', 'required', 'default'].includes(name)
  return mapValues(schema, (one, name) =>
    isData(name) ? one : plainSchema(one, !isMap && name === 'properties'),
  )
}

/** The events of a stream in place of its text. */
const plainContent = ({ 'x-itemSchema': itemSchema, ...content }) =>
  itemSchema ? { ...content, schema: itemSchema } : content

const plainResponse = ({ headers: _, content, ...response }) => ({
  ...response,
  ...(content && { content: mapValues(content, plainContent) }),
})

/** An operation without its refusals: the client turns them into a `Problem`. */
const plainOperation = (operation) => ({
  ...without(operation, ['security', 'x-specification']),
  responses: mapValues(
    Object.fromEntries(Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))),
    plainResponse,
  ),
})

/** The schemas that a part of the document refers to, directly or through others. */
function schemasOf(part, all, found = new Set()) {
  for (const [, name] of JSON.stringify(part).matchAll(new RegExp(`"${SCHEMA_REF}([^"]+)"`, 'g')))
    if (!found.has(name)) schemasOf(all[name], all, found.add(name))
  return found
}

function documentOf(paths, roots, { components, ...document }) {
  const used = schemasOf([paths, roots], components.schemas)
  const schemas = Object.fromEntries(Object.entries(components.schemas).filter(([name]) => used.has(name)))
  // The client sends the headers by itself.
  const parameters = mapValues(components.parameters, (one) => ({ ...one, required: false }))
  return plainSchema({ ...document, paths, components: { schemas, parameters } })
}

/** The class family has an SDK, and FHIR has clients of its own. */
const OTHER_APIS = /^\/(1|functions|fhir)\//

/** Leaves out what says that something is not there, and halves the indentation. */
const shorten = (text) =>
  text
    .replaceAll(/^ +\w+\?: never;\n/gm, '')
    .replaceAll(/^ +(parameters: \{\n +\}|headers: \{\n +\[name: string\]: unknown;\n +\});\n/gm, '')
    .replaceAll(/^( +)\1/gm, '$1')

async function typesOf(document, options) {
  const { astToString, default: openapiTS } = await import('openapi-typescript')
  return shorten(astToString(await openapiTS(document, { defaultNonNullable: false, ...options })))
}

/** The path family, as far as it makes types. */
function apiTypes(document) {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => !OTHER_APIS.test(path)))
  const plain = mapValues(paths, (operations) => mapValues(operations, plainOperation))
  return typesOf(documentOf(plain, { $ref: `${SCHEMA_REF}Problem` }, document))
}

const isParseDate = ({ properties }) => properties?.__type?.const === 'Date'
const toSdkType = (schema) => {
  if (!isParseDate(schema)) return undefined
  return ts.factory.createTypeReferenceNode('Date')
}
/** The properties that the SDK adds to each object. */
const OF_SDK = ['objectId', 'createdAt', 'updatedAt', 'ACL', 'className']

/** The attributes of the classes, as the Parse SDK shows them. */
async function classTypes({ paths, components }) {
  const names = Object.keys(paths).flatMap((path) => /^\/1\/classes\/([A-Z]\w+)$/.exec(path)?.[1] ?? [])
  const schemas = Object.fromEntries(
    names.map((name) => {
      const { properties, ...schema } = components.schemas[name]
      // The document requires nothing of an object, since a query may select less.
      const required = classKinds[name].stored.required.filter((one) => !OF_SDK.includes(one))
      return [name, { ...schema, properties: without(properties, OF_SDK), required }]
    }),
  )
  const document = documentOf({}, schemas, { openapi: '3.1.0', info: {}, components })
  document.components = { schemas: plainSchema({ ...document.components.schemas, ...schemas }, true) }
  const options = { transform: toSdkType, rootTypes: true, rootTypesNoSchemaPrefix: true, exportType: false }
  const types = await typesOf(document, options)
  return types
    .replaceAll(/^export type (paths|webhooks|operations|\$defs) = .*\n/gm, '')
    .replace('export interface components', 'interface components')
}

/** `bloodPressure`: the paths of the list and of one item, for resources that have both. */
function collectionTable({ paths }) {
  const table = new Map()
  for (const [path, { get }] of Object.entries(paths)) {
    const noun = /^get(?:Medical)?(?!Rest)(\w+)$/.exec(get?.operationId)?.[1]
    const list = /^(.*)\/\{\w+\}$/.exec(path)?.[1]
    if (!noun || !paths[list] || path.startsWith('/openehr/') || OTHER_APIS.test(path)) continue
    const name = noun[0].toLowerCase() + noun.slice(1)
    if (!table.has(name)) table.set(name, [list, path])
  }
  const lines = [...table].map(([name, both]) => `  ${name}: ${JSON.stringify(both)},\n`)
  return `/** The path of each list, and of its items. */\nexport const collectionPaths = {\n${lines.join('')}} as const\n`
}

const document = createOpenApiDocument(operationTable, '')
const makers = { api: apiTypes, classes: classTypes, 'collection-paths': collectionTable }

/** Generating takes seconds, so the check compares a hash of what makes a file, and of the file. */
const hashOf = (content) =>
  createHash('sha256')
    .update(JSON.stringify(document) + readFileSync(new URL(import.meta.url), 'utf8') + content)
    .digest('hex')
const headerOf = (content) =>
  `// Generated by \`npm run client:types\` from the OpenAPI document of the service. Do not edit.\n// ${hashOf(content)}\n\n`

function check(path) {
  const text = readFileSync(path, 'utf8')
  const content = text.slice(text.indexOf('\n\n') + 2)
  if (text === headerOf(content) + content) return
  process.stderr.write(`${path} is stale: run npm run client:types\n`)
  process.exitCode = 1
}

for (const [name, make] of Object.entries(makers)) {
  const path = `client/generated/${name}.ts`
  if (process.argv.includes('--check')) check(path)
  else {
    const content = await make(document)
    writeFileSync(path, headerOf(content) + content)
  }
}
