import assert from 'node:assert/strict'
import { type Answer, assertStatus } from '../../harness/clients/path-client.ts'
import { waitUntil } from '../../harness/wait.ts'
import { callFhir, type FhirCaller, type Json } from '../fhir-client.ts'

export const ASYNC = { prefer: 'respond-async', accept: 'application/fhir+json' }

export const pathOf = (url: string | null): string => url?.replace(/^.*\/fhir\/R4\//, '') ?? ''

/** Starts an export. @returns the path of its state */
export async function startExport(who: FhirCaller, path = 'Patient/$export'): Promise<string> {
  const answer = await callFhir(who, 'GET', path, undefined, ASYNC)
  assertStatus(answer, 202)
  return pathOf(answer.headers.get('content-location'))
}

export async function waitForExport(who: FhirCaller, path: string): Promise<Answer> {
  let answer: Answer | undefined
  await waitUntil(async () => {
    answer = await callFhir(who, 'GET', path)
    if (answer.status === 202) assert.match(answer.headers.get('x-progress') ?? '', /^\d+ of \d+ patients$/)
    else assert.ok([200, 429].includes(answer.status), JSON.stringify(answer.body))
    if (answer.status !== 200) assert.equal(answer.headers.get('retry-after'), '2')
    return answer.status === 200
  })
  return answer as Answer
}

/** The lines of the files of an export, by the kind of file and its type. */
export async function readFiles(who: FhirCaller, { output, deleted }: Json) {
  const files = new Map<string, Json[]>()
  for (const { type, url, count } of [...output, ...deleted]) {
    const answer = await callFhir(who, 'GET', pathOf(url))
    assert.match(answer.headers.get('content-type') ?? '', /^application\/fhir\+ndjson/)
    const lines = answer.body
      .split('\n')
      .filter(Boolean)
      .map((line: string) => JSON.parse(line))
    assert.equal(lines.length, count, url)
    files.set(type, lines)
  }
  return files
}

export const idsOf = (lines: Json[] = []): string[] => lines.map(({ id }) => id).sort()
