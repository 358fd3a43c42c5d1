import assert from 'node:assert/strict'
import { HOUR_MS } from '../../../schemas/time/durations.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { type EventSource, openEventSource } from '../../harness/clients/event-source.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { service } from '../../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'
import { waitFor } from '../../harness/wait.ts'

const LOADED_FIRST = `--import ${new URL('./shifted-clock.js', import.meta.url)}`

describe('a clock that is set back across a restart', function suite() {
  this.timeout(120_000)
  let patient: Patient
  let planId: string
  const running: ServiceProcess[] = []
  const instances = new Map<number, ReturnType<typeof start>>()
  const streams: EventSource[] = []
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close()
  })
  after(async () => {
    for (const instance of running) await stopProcess(instance)
  })

  /** The instance with this clock, which may run since an earlier test. */
  const instanceOf = (shiftMs: number) => {
    const instance = instances.get(shiftMs) ?? start(shiftMs)
    instances.set(shiftMs, instance)
    return instance
  }
  const stop = async (shiftMs: number): Promise<void> => {
    const { instance } = await instanceOf(shiftMs)
    instances.delete(shiftMs)
    await stopProcess(instance)
  }

  /** Starts an instance whose clock differs from the others, and logs the patient in there. */
  async function start(shiftMs: number) {
    const instance = await startSecondInstance({
      NODE_OPTIONS: LOADED_FIRST,
      CLOCK_SHIFT_MS: String(shiftMs),
      INSTANCES: 'several',
    })
    running.push(instance)
    const post = async (path: string, body: object, headers = {}) => {
      const response = await fetch(instance.url + path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const text = await response.text()
      assert.ok(response.ok, `${path}: ${response.status} ${text}`)
      return JSON.parse(text)
    }
    const { email, password } = patient
    const { authToken } = await post('/auth/login/password', { email, password })
    return {
      instance,
      weigh: async (): Promise<string> => {
        const body = { carePlanId: planId, weight: 70, weightUnit: 'kg', timestamp: '2026-03-01T08:30:00Z' }
        const path = `/ehr/${patient.ehrId}/procedure/bodyweight`
        return (await post(path, body, { authorization: `Bearer ${authToken}` })).id
      },
      follow: async (after?: string) => {
        const path = `/ehr/${patient.ehrId}/changes`
        const { url } = instance
        const stream = await openEventSource({ authToken }, path, {
          url,
          ...(after !== undefined && { after }),
        })
        streams.push(stream)
        return stream
      },
    }
  }
  const takeIds = async (stream: EventSource, count: number): Promise<unknown[]> => {
    await waitFor(
      () => stream.events.length >= count || undefined,
      () => JSON.stringify(stream.events),
    )
    return stream.events.map(({ name, data }) => (name === 'change' ? data.id : name))
  }

  for (const [title, first, second] of [
    ['set back by two hours', 2 * HOUR_MS, 0],
    ['set forward by two hours', 0, 2 * HOUR_MS],
  ] as const)
    it(`neither loses, repeats nor reorders live events: ${title}`, async () => {
      const former = await instanceOf(first)
      const stream = await former.follow()
      const heard = [await former.weigh(), await former.weigh()]
      assert.deepEqual(await takeIds(stream, 2), heard)
      const [resumed = ''] = stream.events.map(({ id }) => id)
      stream.close()
      const missedIds = [await former.weigh(), await former.weigh()]
      await stop(first)

      const latter = await instanceOf(second)
      const fresh = await latter.follow()
      const again = await latter.follow(resumed)
      const writtenIds = [await latter.weigh(), await latter.weigh()]
      assert.deepEqual(await takeIds(fresh, 2), writtenIds)
      assert.deepEqual(await takeIds(again, 5), [heard[1], ...missedIds, ...writtenIds])
      // Before the next empty batch, a search far back finds nothing that was sent before.
      await waitFor(async () => {
        const last = await service.db.collection('changes.log').findOne({}, { sort: { _id: -1 } })
        return last?.changes.length === 0 || undefined
      }, 'an empty batch')
      assert.equal(fresh.events.length, 2)
      assert.equal(again.events.length, 5)
    })

  it('delivers changes of instances whose clocks differ by hours, in one order', async () => {
    const [ahead, behind] = await Promise.all([instanceOf(2 * HOUR_MS), instanceOf(-2 * HOUR_MS)])
    const [one, two] = await Promise.all([ahead.follow(), behind.follow()])
    const writtenIds: string[] = []
    for (let i = 0; i < 3; i++) writtenIds.push(await ahead.weigh(), await behind.weigh())
    assert.deepEqual((await takeIds(one, 6)).sort(), writtenIds.toSorted())
    await takeIds(two, 6)
    assert.deepEqual(
      one.events.map(({ id }) => id),
      two.events.map(({ id }) => id),
    )
  })
})
