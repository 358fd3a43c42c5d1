import assert from 'node:assert/strict'
import { type ClientOptions, createClient, isProblem, type Problem } from 'health-record-client'
import { createPatient, createPlan, createWeight, type Patient } from '../harness/care/patients.ts'
import { waitUntil } from '../harness/wait.ts'
import { createClientOf } from './harness/client-of.ts'
import { createLossyProxy } from './harness/lossy-proxy.ts'

const LIST = '/ehr/{ehrId}/procedure/bodyweight'
const ITEM = '/ehr/{ehrId}/procedure/bodyweight/{compositionId}'
type Send = NonNullable<ClientOptions['fetch']>

const refuse = (status: number, retryAfter: string): Response =>
  Response.json({ title: 'Not now', code: 'unavailable' }, { status, headers: { 'retry-after': retryAfter } })

/** Refuses the first requests, and lets the others through. */
function refuseFirst(times: number, retryAfter: string): { fetch: Send; requestCount: () => number } {
  let requestCount = 0
  return {
    fetch: async (url, init) => (++requestCount <= times ? refuse(503, retryAfter) : fetch(url, init)),
    requestCount: () => requestCount,
  }
}

const weightsOf = async (patient: Patient): Promise<number[]> =>
  (await patient.call('GET', 'procedure/bodyweight')).body.items.map(
    ({ weight }: { weight: number }) => weight,
  )

describe('the client, when something fails', () => {
  let patient: Patient
  let carePlanId: string
  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
  })
  const weightOf = (weight: number) =>
    ({ carePlanId, timestamp: '2026-03-01T08:30:00Z', weight, weightUnit: 'kg' }) as const

  it('sends again what is refused twice', async () => {
    const { fetch, requestCount } = refuseFirst(2, '0')
    const waits: string[] = []
    const client = createClientOf(patient, { fetch, retry: { onWait: ({ code }) => waits.push(code) } })
    await client.bodyWeight.add(patient.ehrId, weightOf(61))
    assert.deepEqual([requestCount(), waits], [3, ['unavailable', 'unavailable']])
    assert.equal((await weightsOf(patient)).filter((weight) => weight === 61).length, 1)
  })

  it('gives up after three attempts, and at once if the wait is too long', async () => {
    for (const [retryAfter, attempts] of [
      ['0', 3],
      ['31', 1],
    ] as const) {
      const { fetch, requestCount } = refuseFirst(9, retryAfter)
      await assert.rejects(createClientOf(patient, { fetch }).GET('/ehr'), (problem: Problem) => {
        assert.deepEqual([problem.status, problem.retryAfter], [503, Number(retryAfter)])
        return isProblem(problem)
      })
      assert.equal(requestCount(), attempts)
    }
  })

  it('stores once what it sends again because the response was lost', async () => {
    const proxy = await createLossyProxy()
    const client = createClientOf(patient, { url: proxy.url })
    proxy.loseResponses(2)
    await client.bodyWeight.add(patient.ehrId, weightOf(62))
    assert.equal((await weightsOf(patient)).filter((weight) => weight === 62).length, 1)
  })

  it('reads a page again that was cut off', async () => {
    const proxy = await createLossyProxy()
    proxy.loseResponses(1, 600)
    const list = createClientOf(patient, { url: proxy.url }).bodyWeight.list(patient.ehrId)
    const weights = []
    for await (const { weight } of list) weights.push(weight)
    assert.deepEqual(weights, await weightsOf(patient))
  })

  it('does not repeat a PUT without If-Match', async () => {
    const compositionId = await createWeight(patient, carePlanId, 63)
    let requestCount = 0
    const fetch: Send = async () => {
      requestCount += 1
      throw new TypeError('fetch failed')
    }
    const params = { path: { ehrId: patient.ehrId, compositionId } }
    const body = { ...weightOf(64) }
    const client = createClientOf(patient, { fetch })
    await assert.rejects(client.PUT(ITEM, { params, body }), (problem) => isProblem(problem, 'network-error'))
    assert.equal(requestCount, 1)
    const headers = { 'if-match': '"1"' }
    await assert.rejects(client.PUT(ITEM, { params, body, headers }), (problem) =>
      isProblem(problem, 'network-error'),
    )
    assert.equal(requestCount, 4)
  })

  it('ends a call at its deadline, and at the signal of the caller', async () => {
    const never: Send = (_, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const late = createClientOf(patient, { fetch: never, timeoutMs: 50 })
    await assert.rejects(late.GET('/ehr'), (problem) => isProblem(problem, 'timeout'))
    const signal = AbortSignal.timeout(50)
    const params = { path: { ehrId: patient.ehrId } }
    const call = createClientOf(patient, { fetch: never }).GET(LIST, { params, signal })
    await assert.rejects(call, { name: 'TimeoutError' })
  })

  it('resumes a stream of changes that was cut', async () => {
    const proxy = await createLossyProxy()
    const closing = new AbortController()
    const interruptions: string[] = []
    let starts = 0
    const changes = createClientOf(patient, { url: proxy.url }).follow('/ehr/{ehrId}/changes', {
      params: { path: { ehrId: patient.ehrId } },
      signal: closing.signal,
      onStart: () => starts++,
      onInterruption: ({ code }) => interruptions.push(code),
    })
    const nextChange = changes.next()
    await waitUntil(() => starts === 1)
    await createWeight(patient, carePlanId, 65)
    const first = await nextChange
    assert.ok(first.value?.event === 'change' && first.value.change.type === 'BodyWeight')
    proxy.cut()
    const id = await createWeight(patient, carePlanId, 66)
    const ids: string[] = [first.value.change.id]
    while (ids.at(-1) !== id) {
      const { value } = await changes.next()
      assert.equal(value?.event, 'change')
      ids.push(value.change.id)
    }
    assert.equal(new Set(ids).size, ids.length, 'no change comes twice')
    assert.deepEqual(interruptions, ['network-error'])
    assert.equal(starts, 1, 'a stream that resumes has missed nothing')
    const end = changes.next()
    closing.abort()
    assert.equal((await end).done, true)
  })

  it('ends a stream that the caller may not read', async () => {
    const params = { path: { ehrId: 'unknown' } }
    const changes = createClientOf(patient).follow('/ehr/{ehrId}/changes', { params })
    await assert.rejects(changes.next(), (problem) => isProblem(problem, 'not-found'))
  })

  it('says that a server is something else', async () => {
    const fetch: Send = async () => new Response('<h1>Hello</h1>', { status: 418 })
    await assert.rejects(
      createClient({ url: 'http://127.0.0.1:1', fetch }).GET('/ehr'),
      (problem: Problem) => {
        assert.deepEqual([problem.status, problem.code], [418, 'http-418'])
        return true
      },
    )
  })
})
