import { isDeepStrictEqual } from 'node:util'
import type { Violation } from '../../schemas/violation.ts'
import type { Rules, Values } from '../registered/kind.ts'
import { payloadViolations } from '../registered/refusals/payload.ts'
import type { Caller } from '../store/documents/caller.ts'

/** Of the service's own: a measurement outside of its plan's thresholds. */
export const ALERT = 'measurement-alert'

const DAY_MS = 86_400_000
/** The latest time that can be represented. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * What takes longer is kept apart: then all others that overlap a time begin shortly before it or in it, and however
 * many there are, only those are looked at.
 */
const LONG_MS = 31 * DAY_MS

/** An event that is over at noon does not reach into what begins at noon. */
function lastMoment(start: number, end: number | undefined, allDay: boolean): number {
  const over = end ?? (allDay ? start + DAY_MS : start)
  return over > start ? Math.min(over - 1, LAST_MS) : start
}

const momentOf = (value: unknown): number | undefined =>
  value === undefined || value === null ? undefined : Date.parse(String(value))

const idsOf = (participants: unknown): string[] =>
  Array.isArray(participants) ? participants.map((one) => String(one?.mvUid)) : []

function violationsOf(
  { type, start, end, participants, data }: Values,
  changed: readonly string[],
): Violation[] {
  const [begin, over] = [momentOf(start), momentOf(end)]
  const found: Violation[] = []
  if (begin !== undefined && over !== undefined && over < begin)
    found.push({ path: 'end', code: 'order', message: 'must not be earlier than start' })
  const ids = idsOf(participants)
  if (new Set(ids).size < ids.length)
    found.push({ path: 'participants', code: 'twice', message: 'must name each participant once' })
  if (type === ALERT && changed.includes('type'))
    found.push({ path: 'type', code: 'reserved', message: 'is reserved for alerts that the service creates' })
  return [...found, ...(data === undefined ? [] : payloadViolations(data, 'data'))]
}

/** What the service says in an alert; whatever else stands in it is people's. */
const OF_ALERT = ['type', 'title', 'start', 'severity', 'data']

/** Only with its measurement does an alert change. */
export function untouched(_caller: Caller, now: Values, next: Values): Violation[] {
  if (now.type !== ALERT) return []
  const told = (event: Values, name: string) => {
    const value = event[name] ?? null
    return name === 'start' && typeof value === 'string' ? Date.parse(value) : value
  }
  return OF_ALERT.filter((name) => !isDeepStrictEqual(told(now, name), told(next, name))).map((path) => ({
    ...{ path, code: 'reserved' },
    message: 'may not be changed in an alert: it says what its measurement says',
  }))
}

/** What follows from an event, for the lists by time and by participant. */
function derivedOf({ start, end, allDay, participants }: Values) {
  const begin = momentOf(start) ?? 0
  const last = lastMoment(begin, momentOf(end), allDay === true)
  return {
    last: new Date(last).toISOString(),
    long: last - begin > LONG_MS,
    participantIds: idsOf(participants),
  }
}

export const eventRules = {
  together: ['start', 'end', 'allDay', 'participants'],
  violations: violationsOf,
  derived: derivedOf,
} satisfies Rules

/**
 * The alternatives of what reaches into the time from `from` on, each asked by itself: of what is not long only that is
 * looked at which begins shortly before it, or in it.
 */
export function reaching(from: string | undefined, to?: string): Array<{ long: boolean; start?: object }> {
  const earliest = from && new Date(Date.parse(from) - LONG_MS).toISOString()
  return [{ long: false, start: { from: earliest, to } }, { long: true }]
}
