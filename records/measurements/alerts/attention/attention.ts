import type { AlertRules } from '../../../../schemas/events/alert-rules.ts'
import type { EventRecord } from '../../../../schemas/events/event.ts'
import { MINUTE_MS } from '../../../../schemas/time/durations.ts'

/** Rights can come back in many ways: those that this misses are noticed after this time. */
const NO_CANDIDATE_RETRY_MS = 60 * MINUTE_MS

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
  const { afterMinutes = 0, participants = [] } = rules.escalation ?? {}
  if (participants.length > 0 && candidates.length === 0)
    return { attentionAt: new Date(now.getTime() + NO_CANDIDATE_RETRY_MS).toISOString() }
  const later = (time: string | undefined) =>
    new Date(Date.parse(time ?? '') + afterMinutes * MINUTE_MS).toISOString()
  const assign = (index: number, at: string): Attention => {
    const candidate = candidates[index]
    if (candidate === undefined) return {}
    const { userId, standIn } = candidate
    const isLast = index === candidates.length - 1
    return {
      ...(standIn ? { assignedTo: standIn, assignedFor: userId } : { assignedTo: userId }),
      assignedAt: at,
      ...(!isLast && { attentionAt: later(at) }),
    }
  }
  const owner = assignedFor ?? assignedTo ?? ''
  const ownerIndex = candidates.findIndex(({ userId }) => userId === owner)
  // The place stays the same when a list changes hands, and its new holder has the full time.
  const current = assign(ownerIndex, assignedAt ?? now.toISOString())
  if (ownerIndex >= 0 && current.assignedTo !== assignedTo) return assign(ownerIndex, now.toISOString())
  const isOver = current.attentionAt !== undefined && Date.parse(current.attentionAt) <= now.getTime()
  if (ownerIndex >= 0 && !isOver) return current
  // An owner who is no longer a candidate keeps the place in the order: those before them have had their time.
  const isAfter = ({ userId }: Candidate) => participants.indexOf(userId) > participants.indexOf(owner)
  const next = candidates.findIndex(isAfter)
  return assign(next >= 0 ? next : candidates.length - 1, now.toISOString())
}

/** The end of the mutes that apply to a kind of measurement now; undefined if none does. */
function endOfMute({ mutes = [] }: AlertRules, kind: unknown, now: Date): string | undefined {
  const ends = mutes
    .filter((mute) => mute.kind === undefined || mute.kind === kind)
    .map(({ until }) => Date.parse(until))
    .filter((until) => until > now.getTime())
  return ends.length === 0 ? undefined : new Date(Math.max(...ends)).toISOString()
}
