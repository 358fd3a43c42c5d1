import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { CsvError } from 'csv-parse'
import { parse } from 'csv-parse/sync'
import type { Entry } from './entry.ts'
import type { TableMap } from './mapping.ts'

/** What is longer is no row of measurements; a cell that goes on over more lines was not closed. */
const LONGEST_ROW = 100_000
const MOST_LINES = 200

interface Line {
  number: number
  text: string
  /** How much of the file has been read, from 0 to 1. */
  read: number
}

/** A row, by the line that it begins in. */
interface Row {
  line: number
  read: number
  cells: readonly string[]
  fault?: string
}

/** The rows of a table, one after the other, however many there are. @throws Error for a header that is none, or says nothing */
export async function* csvEntries(file: string, mapOf: TableMap): AsyncGenerator<Entry> {
  const rows = rowsOf(linesOf(file), await delimiterOf(file))
  const { value: header } = await rows.next()
  if (!header) throw new Error('The file is empty.')
  if (header.fault) throw new Error(`The header of the file ${header.fault}.`)
  const twice = header.cells.find((name, i) => name !== '' && header.cells.indexOf(name) < i)
  if (twice !== undefined) throw new Error(`The header of the file has the column ${twice} twice.`)
  if (header.cells.some(isUnreadable)) throw new Error('The file is not UTF-8: save it as that.')
  const asksOf = mapOf(header.cells)
  for await (const { line, read, cells, fault } of rows) {
    const at = { at: `line ${line}`, read }
    if (fault !== undefined) yield { ...at, asks: [], fault }
    else if (cells.some(isUnreadable))
      yield { ...at, asks: [], fault: 'has a character that cannot be read: the file has to be UTF-8' }
    else if (cells.length !== header.cells.length)
      yield { ...at, asks: [], fault: 'has not as many columns as the header' }
    else {
      const asks = asksOf(Object.fromEntries(header.cells.map((name, i) => [name, cells[i] as string])))
      yield { ...at, asks, ...(asks.length === 0 && { skipped: 'no measurement' }) }
    }
  }
}

/** What is not UTF-8 has this character in its place. */
const isUnreadable = (cell: string): boolean => cell.includes('\ufffd')

/** Each row is read for itself, so that none that is faulty takes others with it. */
async function* rowsOf(lines: AsyncGenerator<Line>, delimiter: string): AsyncGenerator<Row, undefined> {
  const ahead: Line[] = []
  for (;;) {
    const first = ahead.shift() ?? (await lines.next()).value
    if (!first) return
    if (first.text.trim() === '') continue
    let [text, used] = [first.text, 0]
    const alone = cellsIn(text, { delimiter, relax_quotes: true })
    let found = alone
    while (found === OPEN && used < MOST_LINES && text.length <= LONGEST_ROW) {
      ahead[used] ??= (await lines.next()).value
      const next = ahead[used++]
      if (!next) break
      text += `\n${next.text}`
      if (next.text.includes('"')) found = cellsIn(text, { delimiter })
    }
    const { number: line, read } = first
    if (typeof found !== 'string')
      yield { line, read: ahead.splice(0, used).at(-1)?.read ?? read, cells: found }
    else yield { line, read, cells: [], fault: String(alone) }
  }
}

const OPEN = 'has a quote that is never closed'

/** The cells of a row, or what is wrong with it. */
function cellsIn(text: string, how: { delimiter: string; relax_quotes?: boolean }): string[] | string {
  if (text.length > LONGEST_ROW) return `is longer than ${LONGEST_ROW} characters`
  if (!text.includes('"')) return text.split(how.delimiter).map((cell) => cell.trim())
  try {
    const [cells = []] = parse(text, { trim: true, ...how }) as string[][]
    return cells
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return error.code === 'CSV_QUOTE_NOT_CLOSED' ? OPEN : `cannot be read: ${error.message}`
  }
}

/** A carriage return at the end of a piece may be the first half of an ending. */
const ENDING = /\r?\n|\r(?!\n|$)/

/** The lines of a file of any size; of one that is too long as much as shows that. */
async function* linesOf(file: string): AsyncGenerator<Line, undefined> {
  const { size } = await stat(file)
  const stream = createReadStream(file, 'utf8')
  let [rest, number] = ['', 0]
  const line = (text: string) => ({ number: ++number, text, read: stream.bytesRead / size })
  for await (const piece of stream) {
    const texts = (rest + (number === 0 && rest === '' ? piece.replace(/^\ufeff/, '') : piece)).split(ENDING)
    rest = (texts.pop() as string).slice(0, LONGEST_ROW + 1)
    for (const text of texts) yield line(text)
  }
  if (rest !== '') yield line(rest.replace(/\r$/, ''))
}

/** What stands most often between the names of the header. */
async function delimiterOf(file: string): Promise<string> {
  const handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536), 0, 65_536, 0)
  await handle.close()
  const header =
    buffer
      .subarray(0, bytesRead)
      .toString()
      .split(/\r|\n/, 1)[0]
      ?.replaceAll(/"[^"]*"/g, '') ?? ''
  const count = (one: string) => header.split(one).length
  return [',', ';', '\t'].reduce((most, one) => (count(one) > count(most) ? one : most))
}
