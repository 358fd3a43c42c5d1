import { Agent, type IncomingMessage, request } from 'node:http'
import type { FuzzRequest, FuzzResponse } from '../generator/context/fuzz-request.ts'

/** Silence of this length is a finding. A long response may take longer if it continues. */
const RESPONSE_TIMEOUT_MS = 5_000

/** No response, or an incomplete one. */
class NoResponse extends Error {}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Sends a request unchanged. @throws NoResponse if none arrives in time, or the connection breaks */
export function sendFuzzRequest(
  url: string,
  { method, path, headers, body }: FuzzRequest,
): Promise<FuzzResponse> {
  const { hostname, port } = new URL(url)
  const startTime = performance.now()
  const length = body === undefined ? {} : { 'content-length': String(body.length) }
  return new Promise((resolve, reject) => {
    const clientRequest = request({
      agent,
      hostname,
      port,
      method,
      path: encodePath(path),
      headers: { ...headers, ...length },
    })
    const fail = (error: Error): void =>
      reject(error instanceof NoResponse ? error : new NoResponse(error.message))
    clientRequest.setTimeout(RESPONSE_TIMEOUT_MS, () =>
      clientRequest.destroy(new NoResponse(`silence for ${RESPONSE_TIMEOUT_MS} ms`)),
    )
    clientRequest.on('error', fail).on('response', (answer) => {
      const chunks: Buffer[] = []
      const finish = () => {
        const { statusCode: status = 0, headers } = answer
        const text = Buffer.concat(chunks).toString()
        resolve({ status, headers, text, json: parseJson(text), ms: performance.now() - startTime })
      }
      answer.on('data', (chunk) => {
        chunks.push(chunk)
        if (!isEndless(answer)) return
        finish()
        answer.destroy()
      })
      answer.on('error', fail).on('end', finish)
    })
    clientRequest.end(body)
  })
}

/** Streams never end, so their beginning counts as the response. */
const isEndless = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true

/** Encodes characters that a request line cannot contain. */
const encodePath = (path: string): string =>
  path.replace(/[^\u0021-\u00ff]/gu, (character) => encodeURIComponent(Buffer.from(character).toString()))

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
