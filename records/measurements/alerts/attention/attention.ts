import type { AlertRules } from '../../../../schemas/events/alert-rules.ts'
import type { EventRecord } from '../../../../schemas/events/event.ts'

const MINUTE_MS = 60_000

/** Whom an alert waits for, and until when. */
export type Attention = Pick<EventRecord, 'assignedTo' | 'assignedAt' | 'mutedUntil' | 'attentionAt'>

/**
 * Applies the rules of a plan to an alert that nobody has taken. Calling it again at any time gives the same.
 * @param candidates the users of the escalation who may write the plan now
 */
export function attentionOf(
  { assignedTo, assignedAt, data }: EventRecord,
  rules: AlertRules,
  candidates: readonly string[],
  now: Date,
): Attention {
  const mutedUntil = endOfMute(rules, data?.kind, now)
  if (mutedUntil !== undefined) return { mutedUntil, attentionAt: mutedUntil }
  const place = assignedTo === undefined ? -1 : candidates.indexOf(assignedTo)
  const { afterMinutes = 0 } = rules.escalation ?? {}
  const later = (time: string | undefined) =>
    new Date(Date.parse(time ?? '') + afterMinutes * MINUTE_MS).toISOString()
  const isLast = place === candidates.length - 1
  if (assignedTo !== undefined && place >= 0) {
    const stays = { assignedTo, ...(assignedAt && { assignedAt }) }
    if (isLast) return stays
    const due = later(assignedAt)
    if (Date.parse(due) > now.getTime()) return { ...stays, attentionAt: due }
  }
  const next = candidates[place + 1]
  if (next === undefined) return {}
  const at = now.toISOString()
  return {
    assignedTo: next,
    assignedAt: at,
    ...(place + 2 < candidates.length && { attentionAt: later(at) }),
  }
}

/** The end of the mutes that apply to a kind of measurement now; undefined if none does. */
function endOfMute({ mutes = [] }: AlertRules, kind: unknown, now: Date): string | undefined {
  const ends = mutes
    .filter((mute) => mute.kind === undefined || mute.kind === kind)
    .map(({ until }) => Date.parse(until))
    .filter((until) => until > now.getTime())
  return ends.length === 0 ? undefined : new Date(Math.max(...ends)).toISOString()
}
