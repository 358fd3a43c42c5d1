import assert from 'node:assert/strict'
import { service } from '../service/service.ts'

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was answered
  body: any
}

/** Calls the path family as anyone. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = /[/+]json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text }
}

/** Asserts a problem document. @returns the codes of its violations */
export function refused({ status, body }: Answer, expected: number, code: string): string[] {
  assert.equal(status, expected, JSON.stringify(body))
  assert.equal(body.code, code, JSON.stringify(body))
  return body.errors.map((violation: { code: string }) => violation.code).sort()
}

/** The places that a problem document names. */
export const placesIn = ({ body }: Answer): string[] => body.errors.map(({ path }: { path: string }) => path)

/** Asserts the status and gives the body. */
export function ok({ status, body }: Answer, expected = 200) {
  assert.equal(status, expected, JSON.stringify(body))
  return body
}

export const etagOf = ({ headers }: Answer): string => headers.get('etag') ?? ''
