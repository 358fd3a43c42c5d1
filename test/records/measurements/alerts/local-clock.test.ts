import assert from 'node:assert/strict'
import { nextDueTime } from '../../../../records/measurements/alerts/attention/period.ts'
import { HOUR_MS } from '../../../../schemas/time/durations.ts'
import { createLocalClock } from '../../../../schemas/time/local-clock.ts'
import { isFullSize } from '../../../harness/test-size.ts'

describe('a local clock', () => {
  it('returns the first moment with a local time, or the first one after a gap', () => {
    const utcOf = (timeZone: string, local: string) =>
      new Date(createLocalClock(timeZone).toUtc(Date.parse(`${local}Z`))).toISOString().slice(0, 16)
    for (const [timeZone, local, utc] of [
      ['UTC', '2026-03-29T00:00', '2026-03-29T00:00'],
      ['Europe/Amsterdam', '2026-03-29T01:59', '2026-03-29T00:59'],
      ['Europe/Amsterdam', '2026-03-29T02:30', '2026-03-29T01:00'],
      ['Europe/Amsterdam', '2026-03-29T03:00', '2026-03-29T01:00'],
      ['Europe/Amsterdam', '2026-10-25T02:30', '2026-10-25T00:30'],
      ['America/New_York', '2026-03-08T02:30', '2026-03-08T07:00'],
      ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30'],
      ['Atlantic/Azores', '2026-03-29T00:00', '2026-03-29T01:00'],
      ['America/Havana', '2026-03-08T00:00', '2026-03-08T05:00'],
      ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:30'],
      ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T10:00'],
    ] as const)
      assert.equal(utcOf(timeZone, local), utc, `${timeZone} ${local}`)
  })

  /** Every time zone at full size; by default one of those with the same offsets at the first of each month. */
  function zonesBySize(): string[] {
    const zones = Intl.supportedValuesOf('timeZone')
    if (isFullSize) return zones
    const monthlyOffsets = (timeZone: string) => {
      const { offsetAt } = createLocalClock(timeZone)
      return Array.from({ length: 12 }, (_, month) => offsetAt(Date.UTC(2026, month, 1)))
    }
    return [...new Map(zones.map((zone) => [monthlyOffsets(zone).join(), zone])).values()]
  }

  it('cuts time into days without a gap or an overlap, in every time zone', () => {
    const zones = zonesBySize()
    assert.ok(zones.length > 40)
    for (const timeZone of zones) {
      const { offsetAt, toUtc } = createLocalClock(timeZone)
      for (let day = Date.UTC(2026, 0, 1); day < Date.UTC(2027, 0, 1); day += 24 * HOUR_MS) {
        const start = toUtc(day)
        assert.ok(
          start + offsetAt(start) >= day && start - 1 + offsetAt(start - 1) < day,
          `${timeZone} ${day}`,
        )
      }
    }
  })

  it('sets no due time before the local time', () => {
    const due = (timeZone: string, dueTime: string, now: string) =>
      nextDueTime(
        { timeZone, expected: [{ kind: 'bmi', from: '2026-03-01', everyDays: 1, by: dueTime }] },
        new Date(now),
      )?.toISOString()
    assert.equal(due('America/New_York', '02:30', '2026-03-07T12:00Z'), '2026-03-08T07:00:00.000Z')
    assert.equal(due('Atlantic/Azores', '00:00', '2026-03-28T12:00Z'), '2026-03-29T01:00:00.000Z')
  })
})
