import assert from 'node:assert/strict'
import { assertPlacesNamed } from '../../harness/clients/violation-places.ts'
import { type SampleApi, startSampleApi } from './sample-api.ts'

export const ANNA_HEADERS = { authorization: 'Bearer user-anna' }
export const JSON_HEADERS = { 'content-type': 'application/json' }

/** A sample API for the tests of a file, with clients for it. */
export function createFrameClient() {
  let sample: SampleApi
  before(async () => {
    sample = await startSampleApi()
  })
  // A start that failed leaves none.
  after(() => (sample as SampleApi | undefined)?.close())

  const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) =>
    fetch(sample.url + path, { method, headers, ...(body === undefined ? {} : { body }) })
  return {
    call,
    note: (method: string, body: unknown, headers: Record<string, string> = {}) =>
      call(
        method,
        '/sample/anna/note',
        { ...ANNA_HEADERS, ...JSON_HEADERS, ...headers },
        JSON.stringify(body),
      ),
    /** Asserts a problem document and returns it. */
    refused: async (response: Response, status: number, code: string) => {
      const body = await response.text()
      assert.equal(response.status, status, body)
      assert.match(response.headers.get('content-type') ?? '', /^application\/problem\+json/)
      const problem = JSON.parse(body)
      assert.equal(problem.code, code)
      assert.equal(problem.status, status)
      assertPlacesNamed({ status, body: problem })
      assert.equal(problem.requestId, response.headers.get('x-request-id'))
      return problem
    },
    get sample() {
      return sample
    },
  }
}
