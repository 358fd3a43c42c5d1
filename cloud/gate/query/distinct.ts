import { loadParseServer } from '../../parse-server/internals.ts'
import type { ParseRequest } from '../request/parse-request.ts'
import type { ListQuery } from './list-query.ts'

/**
 * The unique values of a field among the objects that the caller may read. Parse has it for the master key only;
 * its own query engine, called with the caller's rights, enforces them all the same.
 * Order sorts the values (a leading - descends), limit and skip cut them, count tells how many there are.
 */
export async function distinctValues(
  req: ParseRequest,
  className: string,
  { where = {}, distinct = '', order, limit = 100, skip = 0, count }: ListQuery,
): Promise<{ results: unknown[]; count?: number }> {
  const { rest } = await loadParseServer()
  const { results } = await rest.find(req.config, req.auth, className, where, { distinct }, req.info.context)
  if (order) results.sort(order.startsWith('-') ? (a, b) => compare(b, a) : compare)
  return { results: results.slice(skip, skip + limit), ...(count ? { count: results.length } : {}) }
}

function compare(a: unknown, b: unknown): number {
  const [left, right] = [sortable(a), sortable(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Numbers and texts compare as they are, dates by their time, anything else by its JSON. */
function sortable(value: unknown): number | string {
  if (typeof value === 'number' || typeof value === 'string') return value
  return (value as { iso?: string } | null)?.iso ?? JSON.stringify(value)
}
