import assert from 'node:assert/strict'
import { type Admission, AdmissionControl } from '../../../records/limits/admission/admission-control.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { type Request, simulate } from './simulated-service.ts'

const quantile = (values: number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN

const latencies = (requests: readonly Request[]): number[] =>
  requests.flatMap(({ arrivedAtMs, endedAtMs }) => (endedAtMs === undefined ? [] : [endedAtMs - arrivedAtMs]))

/** Requests of several accounts at even intervals. */
const arrivals = (
  { seconds, perSecond, accounts, workMs }: Record<'seconds' | 'perSecond' | 'accounts' | 'workMs', number>,
  name = 'account',
): Request[] =>
  Array.from({ length: seconds * perSecond }, (_, i) => ({
    account: `${name} ${i % accounts}`,
    arrivedAtMs: (i * 1000) / perSecond,
    workMs,
  }))

/** A clock on which each wait passes at once. */
const createSkippingClock = () => ({
  nowMs: 0,
  now() {
    return this.nowMs
  },
  wakeAfter(ms: number, work: () => void) {
    this.nowMs += ms
    work()
  },
})

describe('admission control', () => {
  it('admits everything at once on a service that has time', async () => {
    const requests = await simulate(arrivals({ seconds: 10, perSecond: 100, accounts: 5, workMs: 5 }))
    assert.ok(requests.every(({ refusal }) => refusal === undefined))
    assert.ok(Math.max(...latencies(requests)) < 10)
  })

  it('lets a burst wait, and refuses nothing', async () => {
    const burst = Array.from({ length: 400 }, () => ({ account: 'one', arrivedAtMs: 0, workMs: 10 }))
    const requests = await simulate(burst)
    assert.ok(requests.every(({ refusal }) => refusal === undefined))
    assert.ok(Math.abs(Math.max(...latencies(requests)) - 4_000) < 100)
  })

  for (const percent of [150, 300])
    it(`keeps the wait short at ${percent} %, and refuses the others at once with the time of a retry`, async () => {
      const workMs = 2
      const perSecond = (1000 / workMs) * (percent / 100)
      const requests = await simulate(arrivals({ seconds: 30, perSecond, accounts: 50, workMs }))
      const lateRequests = requests.filter(({ arrivedAtMs }) => arrivedAtMs > 10_000)
      assert.ok(quantile(latencies(lateRequests), 0.99) < 1_000, `${quantile(latencies(lateRequests), 0.99)}`)
      const answeredCount = lateRequests.filter(({ endedAtMs }) => endedAtMs !== undefined).length
      assert.ok(answeredCount > 0.95 * (20_000 / workMs), `${answeredCount}`)
      const refusals = lateRequests.flatMap(({ refusal }) => refusal ?? [])
      assert.equal(refusals.length + answeredCount, lateRequests.length)
      for (const { error, retryAfter = 0 } of refusals)
        assert.ok(error === 'Unavailable' && retryAfter >= 1, `${error} ${retryAfter}`)
      const immediately = lateRequests.every(
        ({ refusal, refusedAtMs, arrivedAtMs }) => refusal === undefined || refusedAtMs === arrivedAtMs,
      )
      assert.ok(immediately)
    })

  it('refuses the requests of an account that has too many itself with 429, and serves others', async () => {
    const flood = arrivals({ seconds: 30, perSecond: 400, accounts: 1, workMs: 5 }, 'flood')
    const otherArrivals = arrivals({ seconds: 30, perSecond: 20, accounts: 4, workMs: 5 }, 'other')
    const requests = await simulate([...flood, ...otherArrivals])
    const ofFlood = requests.filter(({ account }) => account.startsWith('flood'))
    const ofOthers = requests.filter(({ account }) => account.startsWith('other'))
    assert.deepEqual(
      new Set(ofFlood.flatMap(({ refusal }) => refusal?.error ?? [])),
      new Set(['TooManyRequests']),
    )
    assert.ok(ofOthers.every(({ refusal }) => refusal === undefined))
    assert.ok(quantile(latencies(ofOthers), 0.5) < 150, `${quantile(latencies(ofOthers), 0.5)}`)
    assert.ok(latencies(ofFlood).length > 0.8 * (30_000 / 5 - otherArrivals.length))
  })

  it('runs many requests at once that wait for something else', async () => {
    const workload = arrivals({ seconds: 20, perSecond: 400, accounts: 2, workMs: 0.5 })
    const requests = await simulate(workload.map((one) => ({ ...one, idleMs: 150 })))
    assert.ok(requests.every(({ refusal }) => refusal === undefined))
    const lateRequests = requests.filter(({ arrivedAtMs }) => arrivedAtMs > 10_000)
    assert.ok(quantile(latencies(lateRequests), 0.9) < 200, `${quantile(latencies(lateRequests), 0.9)}`)
  })

  it('begins the requests of those who have used the least', async () => {
    const heavy = Array.from({ length: 40 }, () => ({ account: 'heavy', arrivedAtMs: 0, workMs: 100 }))
    const light = Array.from({ length: 20 }, (_, i) => ({
      account: 'light',
      arrivedAtMs: 200 * i + 1,
      workMs: 2,
    }))
    const requests = await simulate([...heavy, ...light])
    const waits = requests.flatMap(({ account, arrivedAtMs, beganAtMs = 0 }) =>
      account === 'light' ? [beganAtMs - arrivedAtMs] : [],
    )
    assert.ok(quantile(waits, 0.5) < 1, `${waits}`)
  })

  it('forgets requests whose client has gone', async () => {
    let nowMs = 0
    const control = new AdmissionControl({ now: () => nowMs, wakeAfter: () => {} })
    const running: Admission[] = []
    let startedCount = 0
    const settled = Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        control
          .admit('one', () => i >= 20)
          .then((admission) => {
            startedCount += 1
            running.push(admission)
          }),
      ),
    )
    for (let i = 0; i < 60; i++) {
      nowMs += 1_000
      for (const one of running.splice(0)) one.release()
      await new Promise(setImmediate)
    }
    const rejections = (await settled).filter(
      ({ status }) => status === 'rejected',
    ) as PromiseRejectedResult[]
    assert.ok(rejections.every(({ reason }) => reason instanceof ServiceError))
    assert.ok(startedCount <= 20 && startedCount + rejections.length === 40, `${startedCount}`)
    assert.deepEqual([control.running, control.waiting], [0, 0])
  })

  it('lets long work pause for three quarters of its time while others are active, beyond a burst', async () => {
    const clock = createSkippingClock()
    const control = new AdmissionControl(clock)
    const long = await control.admit('long')
    const step = async (): Promise<number> => {
      clock.nowMs += 3
      const begunMs = clock.nowMs
      await long.pause(3)
      return clock.nowMs - begunMs
    }
    /** Works in steps of 3 ms until the time. @returns the work that was done meanwhile */
    const workUntil = async (endMs: number, everyStep: () => Promise<void> = async () => {}) => {
      let worked = 0
      for (; clock.nowMs < endMs; worked += 3) {
        await everyStep()
        await step()
      }
      return worked
    }
    assert.ok((await workUntil(1_000)) >= 1_000)
    const other = async () => (await control.admit('other')).release()
    const sharedWork = await workUntil(3_000, other)
    assert.ok(sharedWork > 450 && sharedWork < 600, `${sharedWork}`)
    clock.nowMs += 1_000
    assert.equal(await step(), 0)
    await other()
    assert.equal(await step(), 0, 'the first 50 ms after a while need no pause')
    long.release()
  })
  it('runs four long requests of an account at once while others are active, and lets the others wait', async () => {
    const control = new AdmissionControl(createSkippingClock())
    const running: Admission[] = []
    const begin = () => control.admit('long').then((admission) => running.push(admission))
    const becomeLong = () => Promise.all(running.map((one) => one.pause(3)))

    for (let i = 0; i < 6; i++) await begin()
    await becomeLong()
    assert.equal(control.waiting, 0, 'nobody else is active')
    const other = await control.admit('other')
    const further = begin()
    assert.equal(control.waiting, 1)
    assert.equal(running.length, 6)
    other.release()
    for (const one of running.splice(0, 3)) one.release()
    await further
    assert.equal(control.waiting, 0)
    for (const one of running) one.release()
    assert.equal(control.running, 0)
  })
})
