import type { ClientSession, Collection, Filter, IndexDescription } from 'mongodb'
import { limitOfPage, type ReadLimits, type ReadList, readDocuments } from '../../limits/read-limits.ts'
import type { ParseDocument, ParseFormat, SavedRecord } from '../documents/parse-format.ts'
import { type CursorPosition, decodeCursor, encodeCursor, filterAfter, invalidCursorError } from './cursor.ts'
import { type Alternatives, toMongoFilter, type Where } from './filter.ts'

/** One way to list a resource; its index is built from exactly this. */
export interface ListDefinition<T> {
  /** Fields that every query of the list sets. Empty: the list contains all that the caller may read. */
  requiredFields: ReadonlyArray<keyof SavedRecord<T> & string>
  /** Ties are ordered by id. */
  sort: keyof SavedRecord<T> & string
  order: SortOrder
  /** Stored fields that some queries read alone; the index contains them. */
  values?: readonly string[]
}

export type SortOrder = 'asc' | 'desc'

export interface PageQuery<T> {
  /** Values of the list's `by` fields, and conditions on other fields. */
  where: Where<T> & Alternatives<T>
  /** A record must meet one of these conditions. Each becomes a query of its own, so that the index serves it. */
  either?: readonly Where<T>[] | undefined
  limit: number
  /** Default: the order of the list. A cursor is valid for one order only. */
  order?: SortOrder | undefined
  /** The cursor of the previous page; undefined for the first page. */
  cursor?: string | undefined
  /** The record before the page, in place of a cursor. */
  after?: CursorPosition | undefined
  /** Also count all matching records. */
  count?: boolean | undefined
}

/** The requested part of a list. */
export type PageRequest = Omit<PageQuery<unknown>, 'where' | 'either'>

export interface Page<R> {
  items: R[]
  /** The cursor of the next page; null on the last one. */
  next: string | null
  /** In lists with backward paging: the cursor of the previous page; null on the first one. */
  prev?: string | null
  total?: number
}

/** Creates a page of a list, by its qualified name. One record more than the limit means that a next page exists. */
export function createPage<R>(
  list: string,
  records: readonly R[],
  limit: number,
  positionOf: (last: R) => CursorPosition,
  total: number | undefined,
): Page<R> {
  const items = records.slice(0, limit)
  const last = records.length > limit ? items.at(-1) : undefined
  return {
    items,
    next: last ? encodeCursor(list, positionOf(last)) : null,
    ...(total === undefined ? {} : { total }),
  }
}

/** The index of a list. Without `by` fields it starts with the readers. */
export function indexOfList<T>(
  format: ParseFormat<T>,
  name: string,
  { requiredFields, sort, order, values = [] }: ListDefinition<T>,
): IndexDescription {
  const leading =
    requiredFields.length > 0 ? requiredFields.map((field) => format.field(field).key) : ['_rperm']
  const direction = order === 'asc' ? 1 : -1
  const key = new Map<string, 1 | -1>(leading.map((field) => [field, 1]))
  key.set(format.field(sort).key, direction).set('_id', direction)
  for (const value of values) key.set(value, 1)
  return { name: `list_${name}`, key }
}

/** Fields that only the database needs: they are a third of a list's data. */
const HIDDEN_FIELDS = { _acl: 0, _rperm: 0, _wperm: 0 }

/** Reads one page, in stored form. @throws MalformedRequest for a cursor of another list or order */
export async function readPage<T>(
  documents: Collection<ParseDocument>,
  format: ParseFormat<T>,
  shape: ListDefinition<T> & { name: string },
  readable: Filter<ParseDocument>,
  query: PageQuery<T>,
  { session, limits }: { session?: ClientSession | undefined; limits?: ReadLimits | undefined },
): Promise<Page<ParseDocument>> {
  const { requiredFields, sort } = shape
  const { where, either = [{}], limit, count, order = shape.order } = query
  const name = order === shape.order ? shape.name : `${shape.name}.${order}`
  const filters = either.map((one) => ({ ...where, ...one }))
  const missing = requiredFields.filter((field) =>
    filters.some((one) => one[field as keyof Where<T>] === undefined),
  )
  if (missing.length > 0) throw new TypeError(`The list ${name} needs ${missing.join(', ')}.`)
  const field = format.field(sort)
  const from = query.cursor === undefined ? query.after : decodeListCursor(name, field, query.cursor)
  const direction = (order === 'asc') === !from?.isBackward ? 1 : -1
  const positionFilter = from && filterAfter(field.key, direction, from, field.isOptional)
  const matching = filters.map(
    (one) => ({ ...toMongoFilter(format, one), ...readable }) as Filter<ParseDocument>,
  )
  const options = session ? { session } : {}
  const pages = await Promise.all(
    matching.map((one) => {
      const conditions = positionFilter ? combineConditions(field.key, one, positionFilter) : one
      const matchingDocuments = documents.find(conditions, { ...options, projection: HIDDEN_FIELDS })
      const sorted = matchingDocuments.sort({ [field.key]: direction, _id: direction }).limit(limit + 1)
      return readDocuments(sorted, limits)
    }),
  )
  const pageDocuments = mergePages(pages, field.key, direction)
  const counts = count ? matching.map((one) => documents.countDocuments(one, options)) : []
  const total = count ? (await Promise.all(counts)).reduce((sum, one) => sum + one) : undefined
  return {
    ...createBidirectionalPage(name, field.key, pageDocuments, limitOfPage(limit, pages), from),
    ...(total === undefined ? {} : { total }),
  }
}

/** Creates a page with cursors in both directions. */
function createBidirectionalPage(
  name: string,
  key: string,
  documents: ParseDocument[],
  limit: number,
  from: CursorPosition | undefined,
): Page<ParseDocument> {
  const back = from?.isBackward
  const more = documents.length > limit
  const items = documents.slice(0, limit)
  if (back) items.reverse()
  const first = items[0]
  const last = items.at(-1)
  const positionOf = (one: ParseDocument): CursorPosition => ({
    value: (one[key] ?? null) as CursorPosition['value'],
    id: one._id,
  })
  return {
    items,
    next: last && (back || more) ? encodeCursor(name, positionOf(last)) : null,
    prev:
      first && (back ? more : from) ? encodeCursor(name, { ...positionOf(first), isBackward: true }) : null,
  }
}

/** @throws MalformedRequest also for a position that is impossible in this list */
function decodeListCursor(
  name: string,
  { isDate, isOptional }: { isDate: boolean; isOptional: boolean },
  cursor: string,
): CursorPosition {
  const position = decodeCursor(name, cursor)
  const { value } = position
  if (value === null ? !isOptional : value instanceof Date !== isDate) throw invalidCursorError()
  return position
}

/** Merges both into one flat filter, so that the planner sees the bounds of `key` for the index. */
function combineConditions(
  key: string,
  matching: Filter<ParseDocument>,
  position: Record<string, unknown>,
): Filter<ParseDocument> {
  const queryBounds = matching[key] as { $gte?: unknown } | undefined
  const positionBounds = position[key] as { $gte?: unknown } | undefined
  const bounds = { ...queryBounds, ...positionBounds }
  if (isBefore(positionBounds?.$gte, queryBounds?.$gte)) bounds.$gte = queryBounds?.$gte
  return { ...matching, ...position, ...(key in matching || key in position ? { [key]: bounds } : {}) }
}

/** Merges sorted pages. */
function mergePages(
  lists: readonly ReadList<ParseDocument>[],
  key: string,
  direction: 1 | -1,
): ParseDocument[] {
  const documents = lists.flatMap((list) => list.documents)
  if (lists.length === 1) return documents
  const compare = (a: unknown, b: unknown): number => Number(isBefore(b, a)) - Number(isBefore(a, b))
  return documents.sort((a, b) => direction * (compare(a[key], b[key]) || compare(a._id, b._id)))
}

const isBefore = (a: unknown, b: unknown): boolean => (a as Date) < (b as Date)
