import { parseUnambiguousJson } from './repeated-names.ts'

/** A JSON file supplied by the operator. */
export interface JsonFile {
  /** File name, for error messages. */
  name: string
  content?: unknown
  /** Reason why the content cannot be read. */
  fault?: string
}

/**
 * Parses a UTF-8 file, with or without byte order mark.
 * @throws SyntaxError, also for several values of one name
 */
export const parseJsonFile = (file: Uint8Array): unknown =>
  parseUnambiguousJson(decodeUtf8(file), MAX_SEARCHED_NAMES)

/** A file has more names than a request. */
const MAX_SEARCHED_NAMES = 1_000_000

function decodeUtf8(file: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file)
  } catch {
    throw new SyntaxError('it is not UTF-8')
  }
}
