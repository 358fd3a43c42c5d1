import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import type { Queries, QueryRequest, Result } from '../../records/openehr/aql/queries.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { AqlExplanation, AqlQuery, fetch, linkedAql, offset, queryParametersText } from '../../schemas/aql.ts'
import { answer } from '../answer/answer.ts'
import { InvalidInput, placedIn } from '../answer/invalid-input.ts'
import { raw } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, Medical data'
const ours = 'Operations of our own: queries'

const limits = { bytes: 2 * 1024 * 1024 }
export const rows = raw('application/json', 'text/csv')

export const DEADLINE_MS = 31_000

const description =
  'Archetype Query Language over the compositions and the EHRs that the caller may read; of an account with the role ' +
  '`analyst` over all. JSON: `q`, `columns` (each with its `name`, `#i` without one, and its `path`), `rows` and `meta`, ' +
  'which has `next_offset` when there are more rows. CSV is sent while the query works. A query that takes longer than 30 s, ' +
  'or has to keep too much at once, ends with 408.'

interface Context {
  caller: Caller
  queries: Queries
  accepted: string
  isAbandoned(): boolean
}

/** The rows of a query in the form that the client likes best. */
export async function answered(request: QueryRequest, { caller, queries, accepted, isAbandoned }: Context) {
  const result = queries.ask(caller, request, isAbandoned)
  const headers = { 'content-type': accepted, vary: 'Accept' }
  if (accepted === 'text/csv') return answer(await csv(result), { headers })
  const found: string[] = []
  for await (const some of result.rows()) for (const cells of some) found.push(`[${cells.join(',')}]`)
  return answer(resultSet(request.q, result, found), { headers })
}

function resultSet(q: string, { columns, window, hasMore }: Result, found: readonly string[]): string {
  const meta = {
    _type: 'RESULTSET',
    _schema_version: '1.0.3',
    _created: new Date().toISOString(),
    _executed_aql: q,
    resultsize: found.length,
    ...(hasMore() && { next_offset: window.offset + found.length }),
  }
  const [head, foot] = [JSON.stringify({ q, columns }), JSON.stringify({ meta })]
  return `${head.slice(0, -1)},"rows":[${found.join(',\n')}],${foot.slice(1)}`
}

/** A field as RFC 4180 has it. */
const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const fieldOf = (cell: string): string => {
  const value: unknown = JSON.parse(cell)
  return value === null ? '' : quoted(typeof value === 'string' ? value : cell)
}

const line = (fields: readonly string[]): string => `${fields.join(',')}\r\n`

/** Begins with the first rows, so that what is wrong is still told as such. */
async function csv({ columns, rows }: Result): Promise<Readable> {
  const found = rows()
  const first = await found.next()
  return Readable.from(
    (async function* () {
      yield line(columns.map(({ name }) => quoted(name)))
      if (!first.done) yield first.value.map((cells) => line(cells.map(fieldOf))).join('')
      for await (const some of found) yield some.map((cells) => line(cells.map(fieldOf))).join('')
    })(),
  )
}

/** @throws InvalidInput */
export function parametersIn(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // As what is no object.
  }
  const violation = { path: 'query_parameters', code: 'type', message: 'must be a JSON object' }
  throw new InvalidInput([placedIn('query')(violation)])
}

export const aql = [
  operation({
    id: 'queryAql',
    method: 'post',
    path: '/med/aql',
    summary: 'Query compositions and EHRs in AQL',
    description,
    source,
    access: 'user',
    body: AqlQuery,
    limits,
    reply: [200, rows],
    errors: ['RuleViolated', 'DeadlineExceeded'],
    handle: ({ body: { q, query_parameters: parameters = {}, ...page } }, context) =>
      answered({ q, parameters, ...page }, context),
  }),
  operation({
    id: 'linkAql',
    method: 'get',
    path: '/med/aql',
    query: {
      q: linkedAql,
      query_parameters: Type.Optional(queryParametersText),
      offset: Type.Optional(offset),
      fetch: Type.Optional(fetch),
    },
    summary: 'Query compositions and EHRs in AQL, as a link',
    description,
    source: ours,
    extra: true,
    access: 'user',
    reply: [200, rows],
    errors: ['RuleViolated'],
    deadlineMs: DEADLINE_MS,
    handle: ({ query: { q, query_parameters, ...page } }, context) =>
      answered({ q, parameters: parametersIn(query_parameters), ...page }, context),
  }),
  operation({
    id: 'explainAql',
    method: 'post',
    path: '/med/aql/explain',
    summary: 'Tell how a query would be answered',
    description:
      'By which indexes compositions and measurements are found, how many would be read, and what is then done with them.',
    source: ours,
    extra: true,
    access: 'user',
    body: AqlQuery,
    limits,
    reply: [200, AqlExplanation],
    errors: ['RuleViolated', 'DeadlineExceeded'],
    handle: async ({ body: { q, query_parameters: parameters = {}, ...page } }, { caller, queries }) => {
      const request = { q, parameters, ...page }
      const { plan, index = null, ...rest } = await queries.explain(caller, request)
      const { unit, versions, ehrs = {} } = plan
      const reads = (['compositions', 'statuses'] as const).filter((what) => plan[what])
      return { unit, reads, versions, index, ehrs, ...rest }
    },
  }),
]
