import assert from 'node:assert/strict'
import { requireNamed } from '../../harness/clients/named.ts'
import { type Sample, startSample } from './sample.ts'

export const asAnna = { authorization: 'Bearer user-anna' }
export const json = { 'content-type': 'application/json' }

/** A sample of the frame that serves the tests of a file, and what they ask it with. */
export function frameClient() {
  let sample: Sample
  before(async () => {
    sample = await startSample()
  })
  after(() => sample.close())

  const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) =>
    fetch(sample.url + path, { method, headers, ...(body === undefined ? {} : { body }) })
  return {
    call,
    note: (method: string, body: unknown, headers: Record<string, string> = {}) =>
      call(method, '/sample/anna/note', { ...asAnna, ...json, ...headers }, JSON.stringify(body)),
    /** Asserts a problem document and returns it. */
    refused: async (response: Response, status: number, code: string) => {
      const body = await response.text()
      assert.equal(response.status, status, body)
      assert.match(response.headers.get('content-type') ?? '', /^application\/problem\+json/)
      const problem = JSON.parse(body)
      assert.equal(problem.code, code)
      assert.equal(problem.status, status)
      requireNamed({ status, body: problem })
      assert.equal(problem.requestId, response.headers.get('x-request-id'))
      return problem
    },
    get sample() {
      return sample
    },
  }
}
