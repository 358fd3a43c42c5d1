import { encodeQueryKeys } from '../../parse-server/adapter/query-keys.ts'
import { loadParseServer } from '../../parse-server/internals.ts'
import type { ParseRequest } from '../request/parse-request.ts'
import type { ListQuery } from './list-query.ts'

/**
 * Returns the distinct values of a field among the objects that the caller may read. Parse offers distinct
 * only to the master key. Its query engine, called with the rights of the caller, still enforces permissions.
 * `order` sorts the values (a leading - descends), `skip` and `limit` select a range, and `count` adds the
 * number of values.
 */
export async function findDistinctValues(
  req: ParseRequest,
  className: string,
  { where = {}, distinct = '', order, limit = 100, skip = 0, count }: ListQuery,
): Promise<{ results: unknown[]; count?: number }> {
  const { rest } = await loadParseServer()
  const encodedWhere = encodeQueryKeys(where)
  const { context } = req.info
  const { results } = await rest.find(req.config, req.auth, className, encodedWhere, { distinct }, context)
  if (order) results.sort(order.startsWith('-') ? (a, b) => compareValues(b, a) : compareValues)
  return { results: results.slice(skip, skip + limit), ...(count ? { count: results.length } : {}) }
}

function compareValues(a: unknown, b: unknown): number {
  const left = sortKeyOf(a)
  const right = sortKeyOf(b)
  if (left < right) return -1
  return left > right ? 1 : 0
}

/** Compares numbers and texts directly, dates by time, and other values by their JSON. */
function sortKeyOf(value: unknown): number | string {
  if (typeof value === 'number' || typeof value === 'string') return value
  return (value as { iso?: string } | null)?.iso ?? JSON.stringify(value)
}
