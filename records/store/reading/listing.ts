import type { ClientSession, Collection, Filter, IndexDescription } from 'mongodb'
import type { ParseDocument, ParseFormat, Saved } from '../documents/parse-format.ts'
import { after, decodeCursor, encodeCursor, foreignCursor, type Position } from './cursor.ts'
import { toQuery, type Where } from './filter.ts'

/** One way to list a resource. Its index is made of exactly this. */
export interface ListShape<T> {
  /** Fields that every query of this list gives a value; empty: all that the caller may see. */
  by: ReadonlyArray<keyof Saved<T> & string>
  /** Ties are ordered by id. */
  sort: keyof Saved<T> & string
  order: Order
  /** Stored fields that are read without the rest of the record: the index holds them, too. */
  values?: readonly string[]
}

export type Order = 'asc' | 'desc'

export interface PageQuery<T> {
  /** The list's `by` fields, and conditions on any other. */
  where: Where<T>
  /** Further conditions, of which one must be met. Each is a query of its own, so that the list's index serves it. */
  either?: readonly Where<T>[] | undefined
  limit: number
  /** By default the list's own; cursors of different orders cannot be mixed. */
  order?: Order | undefined
  /** Where the last page ended; undefined: from the start. */
  cursor?: string | undefined
  /** Whether to count all records that match. */
  count?: boolean | undefined
}

/** Which part of a list is asked for. */
export type PageOf = Omit<PageQuery<unknown>, 'where' | 'either'>

export interface Page<R> {
  items: R[]
  /** The cursor of the next page; null on the last one. */
  next: string | null
  /** Of a list that can be gone through both ways: the cursor of the page before; null on the first one. */
  prev?: string | null
  total?: number
}

/**
 * The page that what was found makes. When one more was found than a page takes, there is a next one.
 * @param list whose cursors these are
 * @param positionOf where a page ends whose last one this is
 */
export function paged<R>(
  list: string,
  found: readonly R[],
  limit: number,
  positionOf: (last: R) => Position,
  total: number | undefined,
): Page<R> {
  const items = found.slice(0, limit)
  const last = found.length > limit ? items.at(-1) : undefined
  return {
    items,
    next: last ? encodeCursor(list, positionOf(last)) : null,
    ...(total === undefined ? {} : { total }),
  }
}

/** The index that a list needs. Without `by` fields it leads with those who may read. */
export function listIndex<T>(
  format: ParseFormat<T>,
  name: string,
  { by, sort, order, values = [] }: ListShape<T>,
): IndexDescription {
  const leading = by.length > 0 ? by.map((field) => format.field(field).key) : ['_rperm']
  const direction = order === 'asc' ? 1 : -1
  const key = new Map<string, 1 | -1>(leading.map((field) => [field, 1]))
  key.set(format.field(sort).key, direction).set('_id', direction)
  for (const value of values) key.set(value, 1)
  return { name: `list_${name}`, key }
}

/** What the database uses and nobody reads: in a list it is a third of what would be sent. */
const unseen = { _acl: 0, _rperm: 0, _wperm: 0 }

/** One page of a list, in the stored form. @throws MalformedRequest for a cursor of another list, or of another order */
export async function readPage<T>(
  documents: Collection<ParseDocument>,
  format: ParseFormat<T>,
  shape: ListShape<T> & { name: string },
  readable: Filter<ParseDocument>,
  query: PageQuery<T>,
  session?: ClientSession,
): Promise<Page<ParseDocument>> {
  const { by, sort } = shape
  const { where, either = [{}], limit, count, order = shape.order } = query
  const name = order === shape.order ? shape.name : `${shape.name}.${order}`
  const filters = either.map((one) => ({ ...where, ...one }))
  const missing = by.filter((field) => filters.some((one) => one[field as keyof Where<T>] === undefined))
  if (missing.length > 0) throw new TypeError(`The list ${name} is asked by ${missing.join(', ')}.`)
  const field = format.field(sort)
  const from = query.cursor === undefined ? undefined : positionIn(name, field, query.cursor)
  const direction = (order === 'asc') === !from?.back ? 1 : -1
  const reached = from && after(field.key, direction, from, field.mayMiss)
  const matching = filters.map((one) => ({ ...toQuery(format, one), ...readable }) as Filter<ParseDocument>)
  const options = session ? { session } : {}
  const pages = matching.map((one) =>
    documents
      .find(reached ? both(field.key, one, reached) : one, { ...options, projection: unseen })
      .sort({ [field.key]: direction, _id: direction })
      .limit(limit + 1)
      .toArray(),
  )
  const found = merged(await Promise.all(pages), field.key, direction)
  const counts = count ? matching.map((one) => documents.countDocuments(one, options)) : []
  const total = count ? (await Promise.all(counts)).reduce((sum, one) => sum + one) : undefined
  return { ...turned(name, field.key, found, limit, from), ...(total === undefined ? {} : { total }) }
}

/** What was found from a position on as a page that says what lies on either side of it. */
function turned(
  name: string,
  key: string,
  found: ParseDocument[],
  limit: number,
  from: Position | undefined,
): Page<ParseDocument> {
  const [back, more] = [from?.back, found.length > limit]
  const items = found.slice(0, limit)
  if (back) items.reverse()
  const [first, last] = [items[0], items.at(-1)]
  const positionOf = (one: ParseDocument): Position => ({
    value: (one[key] ?? null) as Position['value'],
    id: one._id,
  })
  return {
    items,
    next: last && (back || more) ? encodeCursor(name, positionOf(last)) : null,
    prev: first && (back ? more : from) ? encodeCursor(name, { ...positionOf(first), back: true }) : null,
  }
}

/** @throws MalformedRequest also for a position that no record of the list can have */
function positionIn(
  name: string,
  { isDate, mayMiss }: { isDate: boolean; mayMiss: boolean },
  cursor: string,
): Position {
  const position = decodeCursor(name, cursor)
  const { value } = position
  if (value === null ? !mayMiss : value instanceof Date !== isDate) throw foreignCursor()
  return position
}

/** Both conditions in one flat query, on whose bounds of `key` a planner can see the index. */
function both(
  key: string,
  matching: Filter<ParseDocument>,
  position: Record<string, unknown>,
): Filter<ParseDocument> {
  const wanted = matching[key] as { $gte?: unknown } | undefined
  const reached = position[key] as { $gte?: unknown } | undefined
  const bounds = { ...wanted, ...reached }
  if (isBefore(reached?.$gte, wanted?.$gte)) bounds.$gte = wanted?.$gte
  return { ...matching, ...position, ...(key in matching || key in position ? { [key]: bounds } : {}) }
}

/** The one list that several in the same order make. */
function merged(pages: ParseDocument[][], key: string, direction: 1 | -1): ParseDocument[] {
  if (pages.length === 1) return pages[0] as ParseDocument[]
  const compare = (a: ParseDocument, b: ParseDocument): number => {
    for (const field of [key, '_id']) {
      if (isBefore(a[field], b[field])) return -direction
      if (isBefore(b[field], a[field])) return direction
    }
    return 0
  }
  return pages.flat().sort(compare)
}

const isBefore = (a: unknown, b: unknown): boolean => (a as Date) < (b as Date)
