/** A JSON file that an operator supplies. */
export interface JsonFile {
  /** Of the file, for who has to mend it. */
  name: string
  content?: unknown
  /** Why its content is not known. */
  fault?: string
}

/** What a file holds, which has to be UTF-8; some editors put a byte order mark in front. @throws SyntaxError */
export const jsonIn = (file: Uint8Array): unknown => JSON.parse(utf8In(file))

function utf8In(file: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file)
  } catch {
    throw new SyntaxError('it is not UTF-8')
  }
}
