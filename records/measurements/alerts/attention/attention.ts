import type { AlertRules } from '../../../../schemas/events/alert-rules.ts'
import type { EventRecord } from '../../../../schemas/events/event.ts'

const MINUTE_MS = 60_000

/** Whom an alert waits for, and until when. */
export type Attention = Pick<
  EventRecord,
  'assignedTo' | 'assignedFor' | 'assignedAt' | 'mutedUntil' | 'attentionAt'
>

/** A user of the escalation. */
export interface Candidate {
  userId: string
  /** The colleague to whom that user has handed over the worklist. */
  standIn?: string
}

/**
 * Applies the rules of a plan to an alert that nobody has taken. Calling it again at any time gives the same.
 * @param candidates the users of the escalation who may write the plan now
 */
export function attentionOf(
  alert: EventRecord,
  rules: AlertRules,
  candidates: readonly Candidate[],
  now: Date,
): Attention {
  const { assignedTo, assignedFor, assignedAt, data } = alert
  const mutedUntil = endOfMute(rules, data?.kind, now)
  if (mutedUntil !== undefined) return { mutedUntil, attentionAt: mutedUntil }
  const { afterMinutes = 0 } = rules.escalation ?? {}
  const later = (time: string | undefined) =>
    new Date(Date.parse(time ?? '') + afterMinutes * MINUTE_MS).toISOString()
  const assign = (place: number, at: string): Attention => {
    const candidate = candidates[place]
    if (candidate === undefined) return {}
    const { userId, standIn } = candidate
    const isLast = place === candidates.length - 1
    return {
      ...(standIn ? { assignedTo: standIn, assignedFor: userId } : { assignedTo: userId }),
      assignedAt: at,
      ...(!isLast && { attentionAt: later(at) }),
    }
  }
  const place = candidates.findIndex(({ userId }) => userId === (assignedFor ?? assignedTo))
  // The place stays the same when a list changes hands, and its new holder has the full time.
  const current = assign(place, assignedAt ?? now.toISOString())
  if (place >= 0 && current.assignedTo !== assignedTo) return assign(place, now.toISOString())
  const isOver = current.attentionAt !== undefined && Date.parse(current.attentionAt) <= now.getTime()
  return place >= 0 && !isOver ? current : assign(place + 1, now.toISOString())
}

/** The end of the mutes that apply to a kind of measurement now; undefined if none does. */
function endOfMute({ mutes = [] }: AlertRules, kind: unknown, now: Date): string | undefined {
  const ends = mutes
    .filter((mute) => mute.kind === undefined || mute.kind === kind)
    .map(({ until }) => Date.parse(until))
    .filter((until) => until > now.getTime())
  return ends.length === 0 ? undefined : new Date(Math.max(...ends)).toISOString()
}
