import { ServiceError } from '../../../schemas/errors.ts'

/** Where a page ended: the stored value of the sort field and the id of its last record. */
export interface Position {
  value: string | number | boolean | Date | null
  id: string
  /** Whether the next page is before it: then the record is the first of the page after that. */
  back?: true
}

/** A list in a cursor: those of several resources have the same name. */
export const listName = (collection: string, list: string): string => `${collection}.${list}`

/** An opaque, URL-safe cursor. A list only continues with a cursor of its own name. */
export function encodeCursor(list: string, { value, id, back }: Position): string {
  const isDate = value instanceof Date
  const parts = [list, isDate ? 'd' : 'v', isDate ? value.getTime() : value, id, ...(back ? [BACK] : [])]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

const BACK = 'back'

/** @throws MalformedRequest for anything that encodeCursor did not make for this list. */
export function decodeCursor(list: string, cursor: string): Position {
  const [of, tag, kept, id, way] = parse(cursor)
  const value = tag === 'd' && typeof kept === 'number' ? new Date(kept) : kept
  if (of !== list || typeof id !== 'string' || !isSortable(value)) throw foreignCursor()
  return way === BACK ? { value, id, back: true } : { value, id }
}

export const foreignCursor = () =>
  new ServiceError('MalformedRequest', {
    violations: [{ path: 'cursor', code: 'cursor', message: 'must be one that this list has returned' }],
  })

function isSortable(value: unknown): value is Position['value'] {
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function parse(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

/**
 * The query for what comes after a position in the order of `key`, then `_id`. The bound on `key` alone stands outside
 * the `$or`, where an index can use it. A missing value counts as null and sorts before all others.
 * @param mayMiss whether there may be records without a value
 */
export function after(
  key: string,
  direction: 1 | -1,
  { value, id }: Position,
  mayMiss = false,
): Record<string, unknown> {
  const [beyond, upTo] = direction === 1 ? ['$gt', '$gte'] : ['$lt', '$lte']
  const alike = { [key]: value, _id: { [beyond]: id } }
  if (value === null) return { $or: direction === 1 ? [{ [key]: { $ne: null } }, alike] : [alike] }
  if (mayMiss && direction === -1) return { $or: [{ [key]: { $lt: value } }, alike, { [key]: null }] }
  return { [key]: { [upTo]: value }, $or: [{ [key]: { [beyond]: value } }, { _id: { [beyond]: id } }] }
}
