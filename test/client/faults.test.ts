import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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

function createAbort(reason?: Error) {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort(reason) }
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  for (let round = 0; round < 5; round++) {
    collect()
    await new Promise(setImmediate)
  }
}

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

  it('waits for the response of an attempt that still runs', async () => {
    let requestCount = 0
    const inUse = { title: 'It runs', code: 'idempotency-key-in-use' }
    const fetch: Send = async (url, init) => {
      requestCount += 1
      if (requestCount === 1) throw new TypeError('fetch failed')
      return requestCount < 4 ? Response.json(inUse, { status: 409 }) : globalThis.fetch(url, init)
    }
    await createClientOf(patient, { fetch }).bodyWeight.add(patient.ehrId, weightOf(72))
    assert.equal(requestCount, 4)
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

  it('applies an update once, though the response to its PUT was lost', async () => {
    const id = await createWeight(patient, carePlanId, 67)
    const proxy = await createLossyProxy()
    const client = createClientOf(patient, { url: proxy.url })
    const addOne = (current: { weight: number; weightUnit: string }) => ({
      ...current,
      weight: current.weight + 1,
    })
    const updated = await client.bodyWeight.update(patient.ehrId, id, (current) => {
      proxy.loseResponses(1)
      return addOne(current) as typeof current
    })
    assert.deepEqual([updated.weight, updated.version], [68, 2])

    const theirs = createClientOf(patient)
    const unclear = client.bodyWeight.update(patient.ehrId, id, async (current) => {
      await theirs.bodyWeight.update(patient.ehrId, id, (same) => ({ ...same, comment: 'theirs' }))
      proxy.loseResponses(1)
      return addOne(current) as typeof current
    })
    await assert.rejects(unclear, (problem) => isProblem(problem, 'network-error'))
    assert.equal((await theirs.bodyWeight.get(patient.ehrId, id)).weight, 68)
  })

  it('does not call a change refused that it may have made', async () => {
    const compositionId = await createWeight(patient, carePlanId, 69)
    const proxy = await createLossyProxy()
    const client = createClientOf(patient, { url: proxy.url })
    const params = { path: { ehrId: patient.ehrId, compositionId } }
    for (const [method, version] of [
      ['PUT', 1],
      ['DELETE', 2],
    ] as const) {
      proxy.loseResponses(1)
      const init = { params, headers: { 'if-match': `"${version}"` } }
      const call =
        method === 'PUT' ? client.PUT(ITEM, { ...init, body: weightOf(70) }) : client.DELETE(ITEM, init)
      await assert.rejects(call, (problem) => isProblem(problem, 'network-error'))
    }
    const reading = createClientOf(patient).GET(ITEM, { params })
    await assert.rejects(reading, (problem) => isProblem(problem, 'not-found'))
  })

  it('ends a call at its deadline, and at the signal of the caller', async () => {
    const never: Send = (_, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const impatientClient = createClientOf(patient, { fetch: never, timeoutMs: 50 })
    await assert.rejects(impatientClient.GET('/ehr'), (problem) => isProblem(problem, 'timeout'))
    const signal = AbortSignal.timeout(50)
    const params = { path: { ehrId: patient.ehrId } }
    const call = createClientOf(patient, { fetch: never }).GET(LIST, { params, signal })
    await assert.rejects(call, { name: 'TimeoutError' })
  })

  it('ends a call in time while it waits for other tokens', async () => {
    const reason = new Error('no longer needed')
    const { signal, abort } = createAbort(reason)
    const fetch: Send = async (url) =>
      url.endsWith('/auth/login/token') ? new Promise<Response>(() => {}) : refuse(401, '0')
    const client = createClientOf(patient, { fetch, timeoutMs: 100 })
    await assert.rejects(client.GET('/ehr'), (problem) => isProblem(problem, 'timeout'))
    const call = createClientOf(patient, { fetch }).GET('/ehr', { signal })
    setTimeout(abort, 50)
    await assert.rejects(call, reason)
    assert.equal(getEventListeners(signal, 'abort').length, 0, 'nothing of a call stays at the signal')
  })

  it('ends a stream at the signal after a garbage collection', async () => {
    const { signal, abort } = createAbort()
    let starts = 0
    const changes = createClientOf(patient).follow('/ehr/{ehrId}/changes', {
      params: { path: { ehrId: patient.ehrId } },
      signal,
      onStart: () => starts++,
    })
    const end = changes.next()
    await waitUntil(() => starts === 1)
    await collectGarbage()
    abort()
    await createWeight(patient, carePlanId, 71)
    assert.deepEqual(await end, { done: true, value: undefined })
  })

  it('gives no change to a caller who has aborted', async () => {
    const { signal, abort } = createAbort()
    const event = (id: number) => `id: ${id}\nevent: change\ndata: {}\n\n`
    const fetch: Send = async () => new Response(event(1) + event(2))
    const params = { path: { ehrId: patient.ehrId } }
    const changes = createClientOf(patient, { fetch }).follow('/ehr/{ehrId}/changes', { params, signal })
    assert.equal((await changes.next()).done, false)
    abort()
    assert.equal((await changes.next()).done, true)
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
    const firstChange = await nextChange
    assert.ok(firstChange.value?.event === 'change' && firstChange.value.change.type === 'BodyWeight')
    proxy.cut()
    const id = await createWeight(patient, carePlanId, 66)
    const ids: string[] = [firstChange.value.change.id]
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

  it('names what it cannot send', async () => {
    for (const url of ['', 'not a url'])
      await assert.rejects(createClient({ url }).GET('/ehr'), (problem) =>
        isProblem(problem, 'invalid-input'),
      )
    const params = { path: { ehrId: '..' } }
    const changes = createClientOf(patient).follow('/ehr/{ehrId}/changes', { params })
    await assert.rejects(changes.next(), (problem) => isProblem(problem, 'invalid-input'))
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
