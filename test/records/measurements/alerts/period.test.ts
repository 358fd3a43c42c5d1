import assert from 'node:assert/strict'
import fc from 'fast-check'
import { lastEndedPeriod, nextDueTime } from '../../../../records/measurements/alerts/attention/period.ts'
import { DAY_MS } from '../../../../schemas/time/durations.ts'

const ZONES = ['UTC', 'Europe/Amsterdam', 'America/St_Johns', 'Pacific/Auckland', 'Pacific/Honolulu']

const schedules = fc.record({
  day: fc.integer({ min: 0, max: 20_000 }),
  everyDays: fc.integer({ min: 1, max: 366 }),
  by: fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':')),
  timeZone: fc.constantFrom(...ZONES),
  now: fc.integer({ min: 0, max: 25_000 * DAY_MS }),
})

const localTime = (time: Date, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(
    time,
  )

describe('the periods of an expected measurement', () => {
  it('follow each other without a gap, and end at the local time', () => {
    fc.assert(
      fc.property(schedules, ({ day, everyDays, by, timeZone, now: time }) => {
        const from = new Date(day * DAY_MS).toISOString().slice(0, 10)
        const now = new Date(time)
        const one = { kind: 'bloodpressure', from, everyDays, by }
        const next = nextDueTime({ expected: [one], timeZone }, now)
        assert.ok(next && next > now)
        const last = lastEndedPeriod(one, timeZone, new Date(0), next)
        assert.deepEqual(last?.due, next)
        const before = lastEndedPeriod(one, timeZone, new Date(-100 * DAY_MS), new Date(next.getTime() - 1))
        if (before) assert.deepEqual(before.due, last?.from)
        const length = next.getTime() - (last?.from.getTime() ?? 0)
        assert.ok(Math.abs(length - everyDays * DAY_MS) <= 2 * DAY_MS)
        // A change of the clocks may skip the local time.
        const timeOfDay = localTime(next, timeZone)
        assert.ok(
          timeOfDay === by || Math.abs(minutesOf(timeOfDay) - minutesOf(by)) <= 60,
          `${timeOfDay} instead of ${by}`,
        )
      }),
    )
  })

  it('end when the first of several measurements is due', () => {
    const one = { kind: 'bmi', from: '2026-03-01', everyDays: 7, by: '20:00' }
    const expected = [one, { ...one, everyDays: 2 }]
    const next = nextDueTime({ expected, timeZone: 'Europe/Amsterdam' }, new Date('2026-03-01T12:00:00Z'))
    assert.equal(next?.toISOString(), '2026-03-02T19:00:00.000Z')
    assert.equal(nextDueTime({}, new Date()), undefined)
  })

  it('do not count if they ended before the rules were saved', () => {
    const one = { from: '2026-03-01', everyDays: 1, by: '20:00' }
    const since = new Date('2026-03-03T20:00:00.001Z')
    assert.equal(lastEndedPeriod(one, undefined, since, new Date('2026-03-04T19:00:00Z')), undefined)
    const ended = lastEndedPeriod(one, undefined, since, new Date('2026-03-05T21:00:00Z'))
    assert.equal(ended?.due.toISOString(), '2026-03-05T20:00:00.000Z')
    const due = ended?.due ?? since
    assert.deepEqual(lastEndedPeriod(one, undefined, due, due), ended)
  })
})

const minutesOf = (text: string): number => {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return hours * 60 + minutes
}
