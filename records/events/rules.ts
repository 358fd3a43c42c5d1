import type { Violation } from '../../schemas/violation.ts'
import type { ClassRules, Values } from '../registered/class-rule.ts'
import { payloadViolations } from '../registered/payload.ts'

const DAY_MS = 86_400_000
/** Later than this no time can be told. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

interface Facts {
  start: Date
  end: Date | undefined
  allDay: boolean
  participantIds: string[]
}

/** What follows from an event, for the lists by time and by participant. */
export function derivedOf({ start, end, allDay, participantIds }: Facts) {
  const last = lastMoment(start, end, allDay)
  return { last, long: last.getTime() - start.getTime() > LONG_MS, participantIds }
}

/**
 * What takes longer is kept apart: then all others that overlap a time begin shortly before it or in it, and however
 * many there are, only those are looked at.
 */
export const LONG_MS = 31 * DAY_MS

/** An event that is over at noon does not reach into what begins at noon. */
function lastMoment(start: Date, end: Date | undefined, allDay: boolean): Date {
  const over = end ?? (allDay ? new Date(start.getTime() + DAY_MS) : start)
  return over > start ? new Date(Math.min(over.getTime() - 1, LAST_MS)) : start
}

const momentOf = (value: unknown): Date | undefined =>
  value === undefined ? undefined : new Date(String((value as { iso?: unknown } | null)?.iso))

const idsOf = (participants: unknown): string[] =>
  Array.isArray(participants) ? participants.map((one) => String(one?.mvUid)) : []

function violationsOf({ start, end, participants, data }: Values): Violation[] {
  const times = { start: momentOf(start), end: momentOf(end) }
  const found: Violation[] = []
  if (times.start && times.end && times.end < times.start)
    found.push({ path: 'end', code: 'order', message: 'must not be earlier than start' })
  const ids = idsOf(participants)
  if (new Set(ids).size < ids.length)
    found.push({ path: 'participants', code: 'twice', message: 'must name each participant once' })
  return [...found, ...(data === undefined ? [] : payloadViolations(data, 'data'))]
}

export const eventRules: ClassRules = {
  together: ['start', 'end', 'allDay', 'participants'],
  violations: violationsOf,
  derived: ({ start, end, allDay, participants }) =>
    derivedOf({
      start: momentOf(start) ?? new Date(0),
      end: momentOf(end),
      allDay: allDay === true,
      participantIds: idsOf(participants),
    }),
}
