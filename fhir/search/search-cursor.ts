import type { ServiceError } from '../../schemas/errors.ts'
import { parameterError } from '../outcome/issue.ts'

/** An opaque cursor, safe in addresses. */
export const encodeSearchCursor = (parts: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url')

/** The parts of a cursor, whose types the reader checks; none for another text. */
export function decodeSearchCursor(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

export const isTime = (part: unknown): part is number => typeof part === 'number' && Math.abs(part) <= 8.64e15

export const invalidSearchCursor = (): ServiceError =>
  parameterError('_cursor', 'cursor', 'is not valid. Use the link next of the previous page')
