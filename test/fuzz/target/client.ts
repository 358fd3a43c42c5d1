import { Agent, type IncomingMessage, request } from 'node:http'
import type { Answer, Ask } from '../generator/world/ask.ts'

/** Silence of this length is a finding; a long answer may take longer, as long as it goes on. */
const patienceMs = 5_000

/** No answer, or half of one. */
class NoAnswer extends Error {}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Sends a request as it is. @throws NoAnswer when none comes in time, or the connection breaks */
export function send(url: string, { method, path, headers, body }: Ask): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const begun = performance.now()
  const length = body === undefined ? {} : { 'content-length': String(body.length) }
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      hostname,
      port,
      method,
      path: onTheWire(path),
      headers: { ...headers, ...length },
    })
    const fail = (error: Error): void =>
      reject(error instanceof NoAnswer ? error : new NoAnswer(error.message))
    sent.setTimeout(patienceMs, () => sent.destroy(new NoAnswer(`silence for ${patienceMs} ms`)))
    sent.on('error', fail).on('response', (answer) => {
      const chunks: Buffer[] = []
      const told = () => {
        const { statusCode: status = 0, headers } = answer
        const text = Buffer.concat(chunks).toString()
        resolve({ status, headers, text, json: parsed(text), ms: performance.now() - begun })
      }
      answer.on('data', (chunk) => {
        chunks.push(chunk)
        if (!isEndless(answer)) return
        told()
        answer.destroy()
      })
      answer.on('error', fail).on('end', told)
    })
    sent.end(body)
  })
}

/** What has begun has answered. */
const isEndless = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true

/** What cannot stand in a request line at all is encoded. */
const onTheWire = (path: string): string =>
  path.replace(/[^\u0021-\u00ff]/gu, (character) => encodeURIComponent(Buffer.from(character).toString()))

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
