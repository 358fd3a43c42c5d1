import type { Static } from '@sinclair/typebox'
import type { participation } from '../../../schemas/participation.ts'
import type { Violation } from '../../../schemas/violation.ts'

type Participation = Static<typeof participation>

interface Times {
  start: Date
  end: Date | undefined
  status: unknown
}

/** Of the form that the families see. */
export const timesIn = ({ start, end, status }: Pick<Participation, 'start' | 'end' | 'status'>): Times => ({
  start: new Date(start),
  end: end === undefined ? undefined : new Date(end),
  status,
})

/** Of the stored form. */
export const timesOf = ({ start, end, status }: Record<string, unknown>): Times => ({
  start: start as Date,
  end: end as Date | undefined,
  status,
})

const hasEnded = ({ end }: Times, now: Date): boolean => end !== undefined && end <= now

/** Gives access, or will. */
export const lasts = (times: Times, now: Date): boolean => times.status === 'ACTIVE' && !hasEnded(times, now)

export const givesAccess = (times: Times, now: Date): boolean => lasts(times, now) && times.start <= now

/** When access begins or ends by itself; undefined: never again. */
export function nextChange({ start, end, status }: Times, now: Date): Date | undefined {
  if (status !== 'ACTIVE') return undefined
  if (start > now) return start
  return end !== undefined && end > now ? end : undefined
}

export const timeViolations = ({ start, end }: Pick<Participation, 'start' | 'end'>): Violation[] =>
  end !== undefined && new Date(end) <= new Date(start)
    ? [{ path: 'end', code: 'order', message: 'must be later than start' }]
    : []
