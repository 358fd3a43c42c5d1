import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ask } from '../generator/world/ask.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const longest = 2_000

/** A line for the shell that sends a request again; a body that no line can hold goes into a file. */
export function curlLine(url: string, { method, path, headers, body }: Ask, name: string): string {
  const head = Object.entries(headers).map(([header, value]) =>
    value === '' ? `-H ${quoted(`${header};`)}` : `-H ${quoted(`${header}: ${value}`)}`,
  )
  const data = body === undefined ? [] : [`--data-binary ${dataOf(body, name)}`]
  const verb = method === 'HEAD' ? '-I' : `-X ${method}`
  return ['curl -sS -i -g --path-as-is', verb, ...head, ...data, quoted(url + path)].join(' ')
}

function dataOf(body: Buffer, name: string): string {
  const text = body.toString()
  const isPlain = body.length <= longest && Buffer.from(text).equals(body) && !/[\0\r\n]|^@/.test(text)
  if (isPlain) return quoted(text)
  const directory = join(tmpdir(), 'fuzz-bodies')
  mkdirSync(directory, { recursive: true })
  const file = join(directory, name)
  writeFileSync(file, body)
  return `@${file}`
}
