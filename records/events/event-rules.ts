import { isDeepStrictEqual } from 'node:util'
import { alertHandlingFields } from '../../schemas/events/alert-handling.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import type { Rules, Values } from '../ehr-records/kind.ts'
import { payloadViolations } from '../ehr-records/refusals/payload-violations.ts'
import { blankViolations } from '../ehr-records/validation/field-violations.ts'
import type { Caller } from '../store/documents/caller.ts'

/** The service creates events of this type, for measurements outside their plan's thresholds. */
export const ALERT_TYPE = 'measurement-alert'

/** The latest time that an ISO text can express. */
const MAX_EVENT_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Longer events are marked. All others that overlap a period begin shortly before it or within it, so an index
 * range finds them, however many events there are.
 */
const LONG_EVENT_MS = 31 * DAY_MS

/** The end is exclusive: an event that ends at noon does not overlap one that begins at noon. */
function lastMomentOf(start: number, end: number | undefined, allDay: boolean): number {
  const over = end ?? (allDay ? start + DAY_MS : start)
  return over > start ? Math.min(over - 1, MAX_EVENT_TIME_MS) : start
}

const parseMoment = (value: unknown): number | undefined =>
  value === undefined || value === null ? undefined : Date.parse(String(value))

const participantIdsOf = (participants: unknown): string[] =>
  Array.isArray(participants) ? participants.map((one) => String(one?.mvUid)) : []

function eventViolations(values: Values, changedFields: readonly string[]): Violation[] {
  const { type, start, end, participants, data } = values
  const begin = parseMoment(start)
  const over = parseMoment(end)
  const violations = ['title', 'type'].flatMap((name) =>
    changedFields.includes(name) ? blankViolations(values, name) : [],
  )
  if (begin !== undefined && over !== undefined && over < begin)
    violations.push({ path: 'end', code: 'order', message: 'must not be earlier than start' })
  const ids = participantIdsOf(participants)
  if (new Set(ids).size < ids.length)
    violations.push({
      path: 'participants',
      code: 'twice',
      message: 'must contain each participant at most once',
    })
  if (type === ALERT_TYPE && changedFields.includes('type'))
    violations.push({
      path: 'type',
      code: 'reserved',
      message: 'is reserved for alerts that the service creates',
    })
  return [...violations, ...(data === undefined ? [] : payloadViolations(data, 'data'))]
}

/** The fields of an alert that the service sets; users may edit all the others. */
const ALERT_FIELDS = ['type', 'title', 'start', 'severity', 'data']

/** These fields of an alert change only with its measurement. */
export function alertChangeViolations(_caller: Caller, current: Values, next: Values): Violation[] {
  if (current.type !== ALERT_TYPE) return []
  const comparableValue = (event: Values, name: string) => {
    const value = event[name] ?? null
    return name === 'start' && typeof value === 'string' ? Date.parse(value) : value
  }
  return ALERT_FIELDS.filter(
    (name) => !isDeepStrictEqual(comparableValue(current, name), comparableValue(next, name)),
  ).map((path) => ({
    path,
    code: 'reserved',
    message: 'cannot be changed in an alert because it follows from the measurement',
  }))
}

/** The derived fields of an event, for the lists by time and by participant. */
function deriveEventFields({ start, end, allDay, participants }: Values) {
  const begin = parseMoment(start) ?? 0
  const last = lastMomentOf(begin, parseMoment(end), allDay === true)
  return {
    last: new Date(last).toISOString(),
    long: last - begin > LONG_EVENT_MS,
    participantIds: participantIdsOf(participants),
  }
}

export const eventRules = {
  dependentFields: ['start', 'end', 'allDay', 'participants'],
  violations: eventViolations,
  derived: deriveEventFields,
  fixedDerived: [...Object.keys(alertHandlingFields), 'urgency', 'attentionAt'],
} satisfies Rules

/**
 * The filters for events that overlap the time from `from` on, each for a query of its own. Of events that
 * are not long the query reads only those that begin shortly before that time or later.
 */
export function overlapAlternatives(
  from: string | undefined,
  to?: string,
): Array<{ long: boolean; start?: object }> {
  const earliest = from && new Date(Date.parse(from) - LONG_EVENT_MS).toISOString()
  return [{ long: false, start: { from: earliest, to } }, { long: true }]
}
