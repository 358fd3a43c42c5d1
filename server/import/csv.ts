import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import type { Entry } from './entry.ts'
import type { RowMap } from './mapping.ts'

/** A row that is longer is none: a quote was not closed. */
const LONGEST_ROW = 1_000_000

interface Read {
  info: { lines: number; bytes: number; error?: Error }
  record: Record<string, string>
}

/** The rows of a table, one after the other, however many there are. */
export async function* csvEntries(file: string, asksOf: RowMap): AsyncGenerator<Entry> {
  const { size } = await stat(file)
  const parser = parse({
    ...{ bom: true, columns: true, info: true, trim: true, skip_empty_lines: true, relax_column_count: true },
    delimiter: await delimiterOf(file),
    max_record_size: LONGEST_ROW,
  })
  pipeline(createReadStream(file), parser, () => {})
  try {
    for await (const { info, record } of parser as AsyncIterable<Read>) {
      const fault = info.error && { fault: 'has not as many columns as the header' }
      const asks = fault ? [] : asksOf(record)
      const none = !fault && asks.length === 0 && { skipped: 'no measurement' }
      yield { at: `line ${info.lines}`, read: info.bytes / size, asks, ...fault, ...none }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const at = `line ${(error as { lines?: number }).lines ?? parser.info.lines}`
    yield { at, read: 1, asks: [], fault: `${faultOf(error)}; nothing behind it was read` }
  }
}

const faultOf = ({ code, message }: CsvError): string =>
  code === 'CSV_QUOTE_NOT_CLOSED' || code === 'CSV_MAX_RECORD_SIZE' ? 'a quote is never closed' : message

/** What stands most often between the names of the header. */
async function delimiterOf(file: string): Promise<string> {
  const handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536), 0, 65_536, 0)
  await handle.close()
  const header =
    buffer
      .subarray(0, bytesRead)
      .toString()
      .split(/\r?\n/, 1)[0]
      ?.replaceAll(/"[^"]*"/g, '') ?? ''
  const count = (one: string) => header.split(one).length
  return [',', ';', '\t'].reduce((most, one) => (count(one) > count(most) ? one : most))
}
