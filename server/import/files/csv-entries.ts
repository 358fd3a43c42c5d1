import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { CsvError } from 'csv-parse'
import { parse } from 'csv-parse/sync'
import type { ImportEntry } from '../import-entry.ts'
import type { MapTable } from './table-mapping.ts'

/** Limit of a row; longer text indicates an unclosed quoted cell. */
const MAX_ROW_LENGTH = 100_000
const MAX_LINES_PER_ROW = 200

interface CsvLine {
  number: number
  text: string
  /** Fraction of the file that has been read, from 0 to 1. */
  read: number
}

/** A row with the number of its first line. */
interface CsvRow {
  line: number
  read: number
  cells: readonly string[]
  fault?: string
}

/**
 * Yields the rows of a table of any length.
 * @throws Error for an invalid or unusable header
 */
export async function* readCsvEntries(file: string, mapOf: MapTable): AsyncGenerator<ImportEntry> {
  const rows = readRows(readLines(file), await detectDelimiter(file))
  const { value: header } = await rows.next()
  if (!header) throw new Error('The file is empty.')
  if (header.fault) throw new Error(`The header of the file ${header.fault}.`)
  const twice = header.cells.find((name, i) => name !== '' && header.cells.indexOf(name) < i)
  if (twice !== undefined) throw new Error(`The header of the file has the column ${twice} twice.`)
  if (header.cells.some(isInvalidUtf8)) throw new Error('The file is not UTF-8. Save it as UTF-8.')
  const asksOf = mapOf(header.cells)
  for await (const { line, read, cells, fault } of rows) {
    const at = { at: `line ${line}`, read }
    if (fault !== undefined) yield { ...at, requests: [], fault }
    else if (cells.some(isInvalidUtf8))
      yield { ...at, requests: [], fault: 'has a character that is not valid UTF-8' }
    else if (cells.length !== header.cells.length)
      yield { ...at, requests: [], fault: 'has another number of columns than the header' }
    else {
      const asks = asksOf(Object.fromEntries(header.cells.map((name, i) => [name, cells[i] as string])))
      yield { ...at, requests: asks, ...(asks.length === 0 && { skipped: 'no measurement' }) }
    }
  }
}

/** The decoder replaces invalid UTF-8 by this character. */
const isInvalidUtf8 = (cell: string): boolean => cell.includes('\ufffd')

/** Parses each row separately, so that a faulty row does not affect others. */
async function* readRows(
  lines: AsyncGenerator<CsvLine>,
  delimiter: string,
): AsyncGenerator<CsvRow, undefined> {
  const ahead: CsvLine[] = []
  for (;;) {
    const first = ahead.shift() ?? (await lines.next()).value
    if (!first) return
    if (first.text.trim() === '') continue
    let text = first.text
    let lineCount = 0
    const alone = parseCells(text, { delimiter, relax_quotes: true })
    let cells = alone
    while (cells === UNCLOSED_QUOTE && lineCount < MAX_LINES_PER_ROW && text.length <= MAX_ROW_LENGTH) {
      ahead[lineCount] ??= (await lines.next()).value
      const next = ahead[lineCount++]
      if (!next) break
      text += `\n${next.text}`
      if (next.text.includes('"')) cells = parseCells(text, { delimiter })
    }
    const { number: line, read } = first
    if (typeof cells !== 'string')
      yield { line, read: ahead.splice(0, lineCount).at(-1)?.read ?? read, cells }
    else yield { line, read, cells: [], fault: String(alone) }
  }
}

const UNCLOSED_QUOTE = 'has a quote that is not closed'

/** Returns the cells of a row, or an error message. */
function parseCells(text: string, how: { delimiter: string; relax_quotes?: boolean }): string[] | string {
  if (text.length > MAX_ROW_LENGTH) return `is longer than ${MAX_ROW_LENGTH} characters`
  if (!text.includes('"')) return text.split(how.delimiter).map((cell) => cell.trim())
  try {
    const [cells = []] = parse(text, { trim: true, ...how }) as string[][]
    return cells
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return error.code === 'CSV_QUOTE_NOT_CLOSED' ? UNCLOSED_QUOTE : `cannot be read: ${error.message}`
  }
}

/** A carriage return at the end of a chunk may be half of a line ending. */
const LINE_ENDING = /\r?\n|\r(?!\n|$)/

/** Yields the lines of a file of any size. A line above the limit is cut just beyond it. */
async function* readLines(file: string): AsyncGenerator<CsvLine, undefined> {
  const { size } = await stat(file)
  const stream = createReadStream(file, 'utf8')
  let rest = ''
  let number = 0
  const line = (text: string) => ({ number: ++number, text, read: stream.bytesRead / size })
  for await (const piece of stream) {
    const texts = (rest + (number === 0 && rest === '' ? piece.replace(/^\ufeff/, '') : piece)).split(
      LINE_ENDING,
    )
    rest = (texts.pop() as string).slice(0, MAX_ROW_LENGTH + 1)
    for (const text of texts) yield line(text)
  }
  if (rest !== '') yield line(rest.replace(/\r$/, ''))
}

/** Detects the most frequent separator in the header. */
async function detectDelimiter(file: string): Promise<string> {
  const handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536), 0, 65_536, 0)
  await handle.close()
  const header =
    buffer
      .subarray(0, bytesRead)
      .toString()
      .trimStart()
      .split(/\r|\n/, 1)[0]
      ?.replaceAll(/"[^"]*"/g, '') ?? ''
  const count = (one: string) => header.split(one).length
  return [',', ';', '\t'].reduce((most, one) => (count(one) > count(most) ? one : most))
}
