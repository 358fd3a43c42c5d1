import type { ClientSession, Collection, Filter, IndexDescription } from 'mongodb'
import { after, decodeCursor, encodeCursor, type Position } from './cursor.ts'
import { toQuery, type Where } from './filter.ts'
import type { ParseDocument, ParseFormat, Saved } from './parse-format.ts'

/** One way to list a resource. Its index is made of exactly this. */
export interface ListShape<T> {
  /** Fields that every query of this list gives a value; empty: all that the caller may see. */
  by: ReadonlyArray<keyof Saved<T> & string>
  /** Ties are ordered by id. Descending, the field must be a required one. */
  sort: keyof Saved<T> & string
  order: 'asc' | 'desc'
}

export interface PageQuery<T> {
  /** The list's `by` fields, and conditions on any other. */
  where: Where<T>
  limit: number
  /** Where the last page ended; undefined: from the start. */
  cursor?: string | undefined
  /** Whether to count all records that match. */
  count?: boolean | undefined
}

export interface Page<R> {
  items: R[]
  /** The cursor of the next page; null on the last one. */
  next: string | null
  total?: number
}

/** The index that a list needs. Without `by` fields it leads with those who may read. */
export function listIndex<T>(
  format: ParseFormat<T>,
  name: string,
  { by, sort, order }: ListShape<T>,
): IndexDescription {
  const leading = by.length > 0 ? by.map((field) => format.field(field).key) : ['_rperm']
  const direction = order === 'asc' ? 1 : -1
  const key = new Map<string, 1 | -1>(leading.map((field) => [field, 1]))
  return { name: `list_${name}`, key: key.set(format.field(sort).key, direction).set('_id', direction) }
}

/** What the database uses and nobody reads: in a list it is a third of what would be sent. */
const unseen = { _acl: 0, _rperm: 0, _wperm: 0 }

/** One page of a list, in the stored form. @throws MalformedRequest for a cursor of another list */
export async function readPage<T>(
  documents: Collection<ParseDocument>,
  format: ParseFormat<T>,
  { name, by, sort, order }: ListShape<T> & { name: string },
  readable: Filter<ParseDocument>,
  { where, limit, cursor, count }: PageQuery<T>,
  session?: ClientSession,
): Promise<Page<ParseDocument>> {
  const missing = by.filter((field) => where[field as keyof Where<T>] === undefined)
  if (missing.length > 0) throw new TypeError(`The list ${name} is asked by ${missing.join(', ')}.`)
  const { key } = format.field(sort)
  const direction = order === 'asc' ? 1 : -1
  const matching = { ...toQuery(format, where), ...readable } as Filter<ParseDocument>
  const filter =
    cursor === undefined ? matching : both(key, matching, after(key, direction, decodeCursor(name, cursor)))
  const options = session ? { session } : {}
  const found = await documents
    .find(filter, { ...options, projection: unseen })
    .sort({ [key]: direction, _id: direction })
    .limit(limit + 1)
    .toArray()
  const total = count ? await documents.countDocuments(matching, options) : undefined
  const items = found.slice(0, limit)
  const last = found.length > limit ? items.at(-1) : undefined
  const position = last && { value: (last[key] ?? null) as Position['value'], id: last._id }
  return {
    items,
    next: position ? encodeCursor(name, position) : null,
    ...(total === undefined ? {} : { total }),
  }
}

/** Both conditions in one flat query, on whose bounds of `key` a planner can see the index. */
function both(
  key: string,
  matching: Filter<ParseDocument>,
  position: Record<string, unknown>,
): Filter<ParseDocument> {
  const bounds = { ...(matching[key] as object | undefined), ...(position[key] as object | undefined) }
  return { ...matching, ...position, ...(key in matching || key in position ? { [key]: bounds } : {}) }
}
