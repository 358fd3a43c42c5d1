import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { QueryRequest } from '../../../../openehr/aql/queries.ts'
import { closedObject } from '../../../../schemas/common.ts'
import { aqlQueryParameter, pagingFields, runFields } from '../../../../schemas/openehr/aql.ts'
import type { Context } from '../../../operation/context.ts'
import { defineOperation } from '../../../operation/operation.ts'
import { describedBody } from '../../../reply/body-media.ts'
import { malformedInput } from '../../../reply/invalid-input.ts'
import { replyWith } from '../../../reply/reply.ts'
import { fromRestEhrId, fromRestEhrIdsIn, toRestEhrId } from '../shared/ehr-ids.ts'
import { REST_PATH, restOperation } from '../shared/rest-operation.ts'
import { findQueryVersion, queryNameParams, queryVersionParams } from './query-versions.ts'

const QUERY_PATH = `${REST_PATH}/query` as const
const REST_QUERY_DEADLINE_MS = 31_000

const resultSet = describedBody(
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'RESULT_SET: `q`, `name` of a stored query, `columns`, `rows`, `meta`',
    examples: [{ q: 'SELECT 1 FROM EHR e', columns: [], rows: [] }],
  }),
  'application/json',
)

const valuesField = Type.Optional(
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: { type: 'string', description: 'Value of the parameter with this name' },
    description:
      'Values of the parameters of the query, each as a query parameter of its own: `?systolic=140`. Numbers, true and false count as such; quotes make them a text',
    examples: [{ systolic: '140' }],
  }),
)
const ehrIdField = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    description: 'Id of the only EHR to search; also the value of a parameter $ehr_id',
    examples: ['6865616c-7468-8ec0-8bc3-d1c8b3a5f0e7'],
  }),
)
const runQuery = { ehr_id: ehrIdField, ...pagingFields, query_parameters: valuesField }
const runBodyFields = { ehr_id: ehrIdField, ...runFields }
const RestAqlQuery = closedObject('RestAqlQuery', 'An AQL query', { q: aqlQueryParameter, ...runBodyFields })
const RestQueryRun = closedObject('RestQueryRun', 'Parameters of a run of a stored query', runBodyFields)

type Run = { q: string; name?: string; href?: string } & Omit<QueryRequest, 'q'>

/** Replies with a RESULT_SET. Queries and results contain EHR ids as the client knows them. */
async function replyWithResult(
  { name, href, ...run }: Run,
  { caller, queries, isAbandoned, ehrIdHeader }: Context<'user'>,
) {
  const ehrId = soleEhrId(run.ehrId, ehrIdHeader)
  const values = { ...(ehrId !== undefined && { ehr_id: ehrId }), ...run.parameters }
  const request = {
    ...run,
    q: fromRestEhrIdsIn(run.q),
    parameters: JSON.parse(fromRestEhrIdsIn(JSON.stringify(values))) as Record<string, unknown>,
    ehrId: ehrId === undefined ? undefined : fromRestEhrId(ehrId),
  }
  const result = queries.run(caller, request, isAbandoned)
  const converters = result.columns.map(({ path }) => ehrIdConverter(path))
  const rows: string[] = []
  for await (const batch of result.rows())
    for (const cells of batch)
      rows.push(`[${cells.map((cell, i) => converters[i]?.(cell) ?? cell).join(',')}]`)
  const meta = {
    ...(href !== undefined && { _href: href }),
    _type: 'RESULTSET',
    _schema_version: '1.0.3',
    _created: new Date().toISOString(),
    _generator: 'health-record-service',
    _executed_aql: run.q,
    resultsize: rows.length,
  }
  const head = JSON.stringify({
    meta,
    q: run.q,
    ...(name !== undefined && { name }),
    columns: result.columns,
  })
  const rowsText = rows.join(',')
  const version = versionOf(run.q, JSON.stringify(result.columns), rowsText)
  return replyWith(`${head.slice(0, -1)},"rows":[${rowsText}]}`, { version })
}

/** Identifies a RESULT_SET by its contents, except when it was created. */
function versionOf(...parts: string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\n')
  return hash.digest('base64url').slice(0, 22)
}

/** The only EHR to search: a client names it as a parameter, in the header, or in both. @throws MalformedRequest */
function soleEhrId(parameter: string | undefined, header: string | undefined): string | undefined {
  if (parameter === undefined || header === undefined) return parameter ?? header
  if (fromRestEhrId(parameter) === fromRestEhrId(header)) return parameter
  throw malformedInput('header', 'openEHR-EHR-id', 'idMismatch', 'must be the EHR of ehr_id')
}

/** Converts the EHR ids in the cells of a column; undefined: the column has none. */
function ehrIdConverter(path: string | undefined): ((cell: string) => string) | undefined {
  if (path === undefined) return undefined
  const isId = /^\w+\/ehr_id(\/value)?$/.test(path)
  const isEhr = /^\w+$/.test(path)
  if (!isId && !isEhr) return undefined
  return (cell) => {
    if (isEhr && !cell.startsWith('{"_type":"EHR"')) return cell
    return cell.replace(EHR_ID_IN_CELL, (_, before: string, id: string) => `${before}${toRestEhrId(id)}"`)
  }
}

/** The id as a text, as the value of an HIER_OBJECT_ID, or in an EHR. */
const EHR_ID_IN_CELL =
  /(^"|^\{"_type":"HIER_OBJECT_ID","value":"|"ehr_id":\{"_type":"HIER_OBJECT_ID","value":")([A-Za-z0-9]{10})"/

/** The values in further query parameters. */
function valuesIn(query: object): Record<string, unknown> {
  const { ehr_id: _, offset: __, fetch: ___, q: ____, ...values } = query as Record<string, unknown>
  return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, toValue(text)]))
}

function toValue(text: unknown): unknown {
  if (Array.isArray(text)) return text.map(toValue)
  if (typeof text !== 'string' || !/^(-?\d+(\.\d+)?|true|false|".*")$/s.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface RunOptions {
  ehr_id?: string
  offset?: number
  fetch?: number
}

const windowOf = ({ ehr_id: ehrId, offset, fetch }: RunOptions) => ({ ehrId, offset, fetch })

/** Runs a stored query. Values of unknown parameters are refused, except that of the EHR. */
async function runStored(
  context: Context<'user'>,
  { name, version }: { name: string; version?: string },
  parameters: Record<string, unknown>,
  options: RunOptions & { href?: string },
) {
  const { caller, storedQueries } = context
  const queryVersion = await findQueryVersion(context, name, version)
  const { q } = await storedQueries.requestFor(caller, queryVersion.query.name, parameters)
  const { href } = options
  return replyWithResult(
    {
      q,
      parameters,
      name: `${queryVersion.name}/${queryVersion.version}`,
      ...(href && { href }),
      ...windowOf(options),
    },
    context,
  )
}

const common = {
  ...restOperation,
  access: 'user',
  reply: [200, resultSet, 'versioned'],
  errors: ['RuleViolated', 'DeadlineExceeded', 'NotFound'],
} as const
const asGet = { ...common, method: 'get', deadlineMs: REST_QUERY_DEADLINE_MS, openQuery: true } as const
const asPost = { ...common, method: 'post', limits: { bytes: 2 * 1024 * 1024 } } as const

export const restQueryOperations = [
  defineOperation({
    ...asGet,
    id: 'linkRestAql',
    path: `${QUERY_PATH}/aql`,
    query: { q: aqlQueryParameter, ...runQuery },
    summary: 'Query in AQL, as a link',
    handle: ({ query }, context) =>
      replyWithResult({ q: query.q, parameters: valuesIn(query), ...windowOf(query) }, context),
  }),
  defineOperation({
    ...asPost,
    id: 'queryRestAql',
    path: `${QUERY_PATH}/aql`,
    summary: 'Query in AQL',
    body: RestAqlQuery,
    handle: ({ body: { q, query_parameters: parameters = {}, ...options } }, context) =>
      replyWithResult({ q, parameters, ...windowOf(options) }, context),
  }),
  defineOperation({
    ...asGet,
    id: 'linkRestStoredQuery',
    path: `${QUERY_PATH}/{name}`,
    params: queryNameParams,
    query: runQuery,
    summary: 'Run the latest version of a stored query, as a link',
    handle: ({ params, query }, context) => runStored(context, params, valuesIn(query), query),
  }),
  defineOperation({
    ...asPost,
    id: 'runRestStoredQuery',
    path: `${QUERY_PATH}/{name}`,
    params: queryNameParams,
    summary: 'Run the latest version of a stored query',
    body: RestQueryRun,
    handle: ({ params, body: { query_parameters = {}, ...options } }, context) =>
      runStored(context, params, query_parameters, options),
  }),
  defineOperation({
    ...asGet,
    id: 'linkRestStoredQueryVersion',
    path: `${QUERY_PATH}/{name}/{version}`,
    params: queryVersionParams,
    query: runQuery,
    summary: 'Run a version of a stored query, as a link',
    handle: ({ params, query }, context) => runStored(context, params, valuesIn(query), query),
  }),
  defineOperation({
    ...asPost,
    id: 'runRestStoredQueryVersion',
    path: `${QUERY_PATH}/{name}/{version}`,
    params: queryVersionParams,
    summary: 'Run a version of a stored query',
    body: RestQueryRun,
    handle: ({ params, body: { query_parameters = {}, ...options } }, context) =>
      runStored(context, params, query_parameters, options),
  }),
]
