import type { Static } from '@sinclair/typebox'
import type { participationRecord } from '../../../schemas/care-plans/participation.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'

type Participation = Static<typeof participationRecord>

interface ParticipationTimes {
  start: Date
  end: Date | undefined
  status: unknown
}

/** The times of a participation in the form of the API. */
export const timesFromApi = ({
  start,
  end,
  status,
}: Pick<Participation, 'start' | 'end' | 'status'>): ParticipationTimes => ({
  start: new Date(start),
  end: end === undefined ? undefined : new Date(end),
  status,
})

/** The times of a stored participation. */
export const timesFromStored = ({ start, end, status }: Record<string, unknown>): ParticipationTimes => ({
  start: start as Date,
  end: end as Date | undefined,
  status,
})

const hasEnded = ({ end }: ParticipationTimes, now: Date): boolean => end !== undefined && end <= now

/** Whether a participation gives access now, or will. */
export const isActiveOrUpcoming = (times: ParticipationTimes, now: Date): boolean =>
  times.status === 'ACTIVE' && !hasEnded(times, now)

export const isInEffect = (times: ParticipationTimes, now: Date): boolean =>
  isActiveOrUpcoming(times, now) && times.start <= now

/** When access begins or ends next; undefined if it never changes again. */
export function nextAccessChange({ start, end, status }: ParticipationTimes, now: Date): Date | undefined {
  if (status !== 'ACTIVE') return undefined
  if (start > now) return start
  return end !== undefined && end > now ? end : undefined
}

export const participationTimeViolations = ({
  start,
  end,
}: Pick<Participation, 'start' | 'end'>): Violation[] =>
  end !== undefined && new Date(end) <= new Date(start)
    ? [{ path: 'end', code: 'order', message: 'must be later than start' }]
    : []
