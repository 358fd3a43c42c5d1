import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FuzzRequest } from '../generator/context/fuzz-request.ts'

const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const MAX_LINE_LENGTH = 2_000

/** A shell command that repeats a request. A body that does not fit into a line is written to a file. */
export function formatCurl(url: string, { method, path, headers, body }: FuzzRequest, name: string): string {
  const head = Object.entries(headers).map(([header, value]) =>
    value === '' ? `-H ${quoteForShell(`${header};`)}` : `-H ${quoteForShell(`${header}: ${value}`)}`,
  )
  const data = body === undefined ? [] : [`--data-binary ${formatBody(body, name)}`]
  const verb = method === 'HEAD' ? '-I' : `-X ${method}`
  return ['curl -sS -i -g --path-as-is', verb, ...head, ...data, quoteForShell(url + path)].join(' ')
}

function formatBody(body: Buffer, name: string): string {
  const text = body.toString()
  const isPlain =
    body.length <= MAX_LINE_LENGTH && Buffer.from(text).equals(body) && !/[\0\r\n]|^@/.test(text)
  if (isPlain) return quoteForShell(text)
  const directory = join(tmpdir(), 'fuzz-bodies')
  mkdirSync(directory, { recursive: true })
  const file = join(directory, name)
  writeFileSync(file, body)
  return `@${file}`
}
