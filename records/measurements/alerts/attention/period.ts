import type { AlertRules, ExpectedMeasurement } from '../../../../schemas/events/alert-rules.ts'
import { DAY_MS, MINUTE_MS } from '../../../../schemas/time/durations.ts'
import { createLocalClock, type LocalClock } from '../../../../schemas/time/local-clock.ts'

/** A period in which a measurement is expected, `from` exclusive and `due` inclusive. */
export interface Period {
  from: Date
  due: Date
}

type Schedule = Pick<ExpectedMeasurement, 'from' | 'everyDays' | 'by'>

/** When the next period of an expected measurement ends. */
export function nextDueTime({ expected = [], timeZone = 'UTC' }: AlertRules, now: Date): Date | undefined {
  const clock = createLocalClock(timeZone)
  const dues = expected.map((one) => dueTime(one, clock, firstPeriodAfter(one, clock, now.getTime())))
  return dues.length === 0 ? undefined : new Date(Math.min(...dues))
}

/** The last period that has ended between two times, both inclusive. */
export function lastEndedPeriod(
  expected: Schedule,
  timeZone: string | undefined,
  since: Date,
  now: Date,
): Period | undefined {
  const clock = createLocalClock(timeZone ?? 'UTC')
  const at = firstPeriodAfter(expected, clock, now.getTime()) - 1
  if (at < 0) return undefined
  const due = new Date(dueTime(expected, clock, at))
  return due < since ? undefined : { from: new Date(dueTime(expected, clock, at - 1)), due }
}

/** The end of a period by its number, from 0. */
function dueTime({ from, everyDays, by }: Schedule, clock: LocalClock, period: number): number {
  const [hours = 0, minutes = 0] = by.split(':').map(Number)
  const lastDay = Date.parse(from) + ((period + 1) * everyDays - 1) * DAY_MS
  return clock.toUtc(lastDay + (hours * 60 + minutes) * MINUTE_MS)
}

function firstPeriodAfter(expected: Schedule, clock: LocalClock, time: number): number {
  const passedPeriods = (time - Date.parse(expected.from)) / (expected.everyDays * DAY_MS)
  // A time zone moves the end of a period by less than a day, so by at most one period.
  let period = Math.max(0, Math.floor(passedPeriods) - 2)
  while (dueTime(expected, clock, period) <= time) period += 1
  return period
}

/** The ended periods that a measurement belongs to, of those in which one of its kind is expected. */
export function missedPeriods(
  { expected = [], timeZone = 'UTC' }: AlertRules,
  kind: string,
  timestamp: string,
  now: Date,
): { expected: ExpectedMeasurement; due: Date }[] {
  const time = Date.parse(timestamp)
  const ofKind = expected.filter((one) => one.kind === kind)
  if (ofKind.length === 0) return []
  const clock = createLocalClock(timeZone)
  return ofKind.flatMap((one) => {
    const period = firstPeriodAfter(one, clock, time - 1)
    const due = dueTime(one, clock, period)
    return due <= now.getTime() && time > dueTime(one, clock, period - 1)
      ? [{ expected: one, due: new Date(due) }]
      : []
  })
}
