import { Readable } from 'node:stream'
import type { Queries, QueryRequest, QueryResult } from '../../../openehr/aql/queries.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { parseUnambiguousJson, RepeatedNamesError } from '../../../schemas/json/repeated-names.ts'
import { AqlExplanation, AqlQuery, aqlQueryParameter, runLinkFields } from '../../../schemas/openehr/aql.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { defineOperation } from '../../operation/operation.ts'
import { rawBody } from '../../reply/body-media.ts'
import { InvalidInput, locateViolation } from '../../reply/invalid-input.ts'
import { replyWith } from '../../reply/reply.ts'

const aqlSource = 'Endpoints, Medical data'
const ownOperationsSource = 'Operations of our own: queries'

const aqlBodyLimits = { bytes: 2 * 1024 * 1024 }
export const resultFormats = rawBody('application/json', 'text/csv')

export const QUERY_DEADLINE_MS = 31_000

const aqlDescription =
  'Runs a query in Archetype Query Language over the compositions and EHRs that the caller may read; accounts with the role ' +
  '`analyst` query all EHRs. The JSON result has `q`, `columns` (with `name`, or `#i` without one, and `path`), `rows` and ' +
  '`meta`, with `next_offset` if there are more rows. CSV is streamed while the query runs. A query that exceeds 30 s or ' +
  'its memory budget ends with 408.'

interface QueryContext {
  caller: Caller
  queries: Queries
  accepted: string
  isAbandoned(): boolean
}

/** Replies with the rows of a query in the preferred format of the client. */
export async function replyWithQueryResult(
  request: QueryRequest,
  { caller, queries, accepted, isAbandoned }: QueryContext,
) {
  const result = queries.run(caller, request, isAbandoned)
  const headers = { 'content-type': accepted, vary: 'Accept' }
  if (accepted === 'text/csv') return replyWith(await streamCsv(result), { headers })
  const lines: string[] = []
  for await (const batch of result.rows()) for (const cells of batch) lines.push(`[${cells.join(',')}]`)
  return replyWith(beginResultSet(request.q, result, lines), { headers })
}

function beginResultSet(
  q: string,
  { columns, window, hasMore }: QueryResult,
  rows: readonly string[],
): string {
  const meta = {
    _type: 'RESULTSET',
    _schema_version: '1.0.3',
    _created: new Date().toISOString(),
    _executed_aql: q,
    resultsize: rows.length,
    ...(hasMore() && { next_offset: window.offset + rows.length }),
  }
  const head = JSON.stringify({ q, columns })
  const foot = JSON.stringify({ meta })
  return `${head.slice(0, -1)},"rows":[${rows.join(',\n')}],${foot.slice(1)}`
}

/** Spreadsheets calculate cells that begin so. Patients write texts, and analysts open them. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

/** A text field (RFC 4180). Spreadsheets in some countries take a semicolon for the separator. @see docs/decisions/openehr.md */
function toCsvText(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

const toCsvField = (cell: string): string => {
  const value: unknown = JSON.parse(cell)
  if (typeof value === 'number') return cell
  return value === null ? '' : toCsvText(typeof value === 'string' ? value : cell)
}

const toCsvLine = (fields: readonly string[]): string => `${fields.join(',')}\r\n`

/** Reads the first rows before the response starts, so that errors still get an error response. */
async function streamCsv({ columns, rows }: QueryResult): Promise<Readable> {
  const batches = rows()
  const first = await batches.next()
  return Readable.from(
    (async function* () {
      yield toCsvLine(columns.map(({ name }) => toCsvText(name)))
      if (!first.done) yield first.value.map((cells) => toCsvLine(cells.map(toCsvField))).join('')
      for await (const batch of batches) yield batch.map((cells) => toCsvLine(cells.map(toCsvField))).join('')
    })(),
  )
}

const inParameters = (code: string, message: string): Violation => ({
  path: 'query_parameters',
  code,
  message,
})

/** @throws InvalidInput */
export function parseQueryParameters(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {}
  try {
    const value = parseUnambiguousJson(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch (error) {
    if (error instanceof RepeatedNamesError)
      throw new InvalidInput([locateViolation('query')(inParameters('repeated', `has ${error.message}`))])
    // Handled below like a value that is not an object.
  }
  throw new InvalidInput([locateViolation('query')(inParameters('type', 'must be a JSON object'))])
}

export const aqlOperations = [
  defineOperation({
    id: 'queryAql',
    method: 'post',
    path: '/med/aql',
    summary: 'Query compositions and EHRs in AQL',
    description: aqlDescription,
    source: aqlSource,
    access: 'user',
    body: AqlQuery,
    limits: aqlBodyLimits,
    reply: [200, resultFormats],
    errors: ['RuleViolated', 'DeadlineExceeded'],
    handle: ({ body: { q, query_parameters: parameters = {}, ...page } }, context) =>
      replyWithQueryResult({ q, parameters, ...page }, context),
  }),
  defineOperation({
    id: 'linkAql',
    method: 'get',
    path: '/med/aql',
    query: {
      q: aqlQueryParameter,
      ...runLinkFields,
    },
    summary: 'Query compositions and EHRs in AQL, as a link',
    description: aqlDescription,
    source: ownOperationsSource,
    extra: true,
    access: 'user',
    reply: [200, resultFormats],
    errors: ['RuleViolated'],
    deadlineMs: QUERY_DEADLINE_MS,
    handle: ({ query: { q, query_parameters, ...page } }, context) =>
      replyWithQueryResult({ q, parameters: parseQueryParameters(query_parameters), ...page }, context),
  }),
  defineOperation({
    id: 'explainAql',
    method: 'post',
    path: '/med/aql/explain',
    summary: 'Explain a query',
    description:
      'Returns the query plan: indexes used, estimated number of documents read, and the remaining in-memory steps.',
    source: ownOperationsSource,
    extra: true,
    access: 'user',
    body: AqlQuery,
    limits: aqlBodyLimits,
    reply: [200, AqlExplanation],
    errors: ['RuleViolated', 'DeadlineExceeded'],
    handle: async ({ body: { q, query_parameters: parameters = {}, ...page } }, { caller, queries }) => {
      const request = { q, parameters, ...page }
      const { plan, index = null, ...rest } = await queries.explain(caller, request)
      const { unit, versions, ehrs = {} } = plan
      const reads = (['compositions', 'statuses', 'folders'] as const).filter((kind) => plan[kind])
      return { unit, reads, versions, index, ehrs, ...rest }
    },
  }),
]
