import { ServiceError } from '../../../schemas/errors.ts'

/** The end of a page: the stored value of the sort field and the id of the last record. */
export interface CursorPosition {
  value: string | number | boolean | Date | null
  id: string
  /** The cursor leads backwards: the record is the first one of the following page. */
  isBackward?: true
}

/** The name of a list within cursors; lists of several resources share their plain names. */
export const qualifiedListName = (collection: string, list: string): string => `${collection}.${list}`

/** An opaque, URL-safe cursor, valid for one list only. */
export function encodeCursor(list: string, { value, id, isBackward }: CursorPosition): string {
  const [tag, encodedValue] = value instanceof Date ? ['d', value.getTime()] : ['v', value]
  const parts = [list, tag, encodedValue, id, ...(isBackward ? [BACKWARD_TAG] : [])]
  return encodeCursorParts(parts)
}

const BACKWARD_TAG = 'back'

/** @throws MalformedRequest for anything but a cursor of this list */
export function decodeCursor(list: string, cursor: string): CursorPosition {
  const [listName, tag, encodedValue, id, way] = decodeCursorParts(cursor)
  const value = tag === 'd' && typeof encodedValue === 'number' ? new Date(encodedValue) : encodedValue
  if (listName !== list || typeof id !== 'string' || !isSortableValue(value)) throw invalidCursorError()
  return way === BACKWARD_TAG ? { value, id, isBackward: true } : { value, id }
}

/** Decodes the cursor of a list that is sorted by a time. @throws MalformedRequest */
export function decodeTimeCursor(list: string, cursor: string): CursorPosition & { value: Date } {
  const { value, ...position } = decodeCursor(list, cursor)
  if (!(value instanceof Date)) throw invalidCursorError()
  return { value, ...position }
}

export function invalidCursorError(): ServiceError {
  const message = 'is not valid for this list. Use page.next of the previous page'
  return new ServiceError('MalformedRequest', { violations: [{ path: 'cursor', code: 'cursor', message }] })
}

function isSortableValue(value: unknown): value is CursorPosition['value'] {
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** An opaque cursor, safe in URLs. */
export const encodeCursorParts = (parts: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url')

/** The parts of a cursor, whose types the reader checks; none for another text. */
export function decodeCursorParts(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

/**
 * The filter for all documents after a position in the order of `key`, then `_id`. The bound on `key` stays
 * outside the `$or`, so that an index serves it. A missing value counts as null and sorts first.
 * @param isOptional whether records may lack a value
 */
export function filterAfter(
  key: string,
  direction: 1 | -1,
  { value, id }: CursorPosition,
  isOptional = false,
): Record<string, unknown> {
  const [beyond, upTo] = direction === 1 ? ['$gt', '$gte'] : ['$lt', '$lte']
  const alike = { [key]: value, _id: { [beyond]: id } }
  if (value === null) return { $or: direction === 1 ? [{ [key]: { $ne: null } }, alike] : [alike] }
  if (isOptional && direction === -1) return { $or: [{ [key]: { $lt: value } }, alike, { [key]: null }] }
  return { [key]: { [upTo]: value }, $or: [{ [key]: { [beyond]: value } }, { _id: { [beyond]: id } }] }
}
