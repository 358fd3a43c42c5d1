import { queryOptions } from '@tanstack/react-query'
import { isProblem, type Problem } from 'health-record-client'
import { api } from '../../session/user-session.ts'

export interface AqlRequest {
  q: string
  query_parameters: Record<string, unknown>
  offset?: number
  fetch?: number
}

export interface AqlResult {
  columns: { name: string; path?: string }[]
  rows: unknown[][]
  meta: { next_offset?: number }
}

const ROWS_PER_PAGE = 100

/** A query with its own LIMIT accepts no page parameters, and has only one page. */
const hasOwnLimit = (error: unknown): boolean =>
  isProblem(error) && error.errors.some(({ code }) => code === 'limit')

async function runQuery(request: AqlRequest, offset: number): Promise<AqlResult> {
  const send = async (body: AqlRequest) => (await api.POST('/med/aql', { body })).data as unknown as AqlResult
  try {
    return await send({ ...request, offset, fetch: ROWS_PER_PAGE })
  } catch (error) {
    if (!hasOwnLimit(error)) throw error
    return { ...(await send(request)), meta: {} }
  }
}

/** All pages of a query have this key first. */
export const aqlKey = (request: AqlRequest) => ['aql', request] as const

/** A page of the rows. A query may be slow, so only a person repeats it. */
export const aqlQuery = (request: AqlRequest, offset = 0) =>
  queryOptions({
    queryKey: [...aqlKey(request), offset],
    queryFn: () => runQuery(request, offset),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** All rows for spreadsheets. */
export const readCsv = async (body: AqlRequest): Promise<Blob> =>
  (await api.POST('/med/aql', { body, headers: { accept: 'text/csv' }, parseAs: 'blob' })).data

/** Where a query has a fault. */
export interface QueryFault {
  line: number
  column: number
  /** In English. */
  reason: string
}

export function faultOf(problem: Problem | undefined): QueryFault | undefined {
  for (const { line, column, message } of problem?.errors ?? [])
    if (line !== undefined && column !== undefined)
      return { line, column, reason: message.replace(/^.*?, column \d+: /, '') }
  return undefined
}

/** The position of a fault in the text, and the length of what is wrong there. */
export function placeOf(text: string, { line, column }: QueryFault): { start: number; end: number } {
  const before = text.split('\n').slice(0, line - 1)
  const start = before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1
  const [wrong = ''] = /^(\w+|\S)?/.exec(text.slice(start)) ?? []
  return { start, end: start + wrong.length }
}
