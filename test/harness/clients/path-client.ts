import assert from 'node:assert/strict'
import { type Dispatcher, request } from 'undici'
import { service } from '../service/service.ts'
import { keepFhirResources } from './fhir-resources.ts'
import { assertPlacesNamed, placesOfViolations } from './violation-places.ts'

export interface Answer {
  status: number
  headers: Headers
  etag: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any content
  body: any
}

/** Calls the path family as any caller. A body is sent as JSON; bytes are sent unchanged. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const json = body !== undefined && !Buffer.isBuffer(body)
  const response = await request(service.url + path, {
    method: method as Dispatcher.HttpMethod,
    headers: { ...(json ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : (body as Buffer) }),
  })
  const responseHeaders = new Headers(
    Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
  )
  const type = responseHeaders.get('content-type') ?? ''
  const answer = {
    status: response.statusCode,
    headers: responseHeaders,
    etag: responseHeaders.get('etag') ?? '',
    body: await readBody(response.body, type),
  }
  assertPlacesNamed(answer)
  if (type.startsWith('application/fhir+json')) keepFhirResources(answer.body)
  return answer
}

async function readBody(body: Dispatcher.ResponseData['body'], type: string): Promise<unknown> {
  if (type.startsWith('text/event-stream')) return readBeginning(body)
  if (type.startsWith('image/')) return Buffer.from(await body.arrayBuffer())
  const text = await body.text()
  return /[/+]json/.test(type) ? JSON.parse(text) : text
}

/** The beginning of an endless response. */
async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
  for await (const chunk of body) return String(chunk)
  return ''
}

/** Asserts a problem document. @returns the codes of its violations */
export function assertProblem({ status, body }: Answer, expected: number, code: string): string[] {
  assert.equal(status, expected, JSON.stringify(body))
  assert.equal(body.code, code, JSON.stringify(body))
  return body.errors.map((violation: { code: string }) => violation.code).sort()
}

/** Asserts a problem document. @returns the places of its violations */
export function assertProblemPlaces(answer: Answer, expected: number, code: string): string[] {
  assertProblem(answer, expected, code)
  return placesOfViolations(answer)
}

/** Asserts the status and returns the body. */
export function assertStatus({ status, body }: Answer, expected = 200) {
  assert.equal(status, expected, JSON.stringify(body))
  return body
}
