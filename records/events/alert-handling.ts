import { isDeepStrictEqual } from 'node:util'
import { SeverityEnum } from '../../schemas/enums.ts'
import {
  type AlertHandling,
  type AlertStep,
  alertHandlingFields,
} from '../../schemas/events/alert-handling.ts'
import type { EventRecord } from '../../schemas/events/event.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import { severityRank } from '../ehr-records/timeline-definition.ts'

/** The user who takes a step, and the time. */
interface Actor {
  userId: string
  at: Date
  /** Users whose worklists this one has taken over. */
  standsInFor?: readonly string[]
}

const HANDLING_NAMES = Object.keys(alertHandlingFields)

/** The handling of an alert. One that nobody has handled, or that is older than these fields, is new. */
export const handlingOf = (alert: AlertHandling): AlertHandling => ({
  alertState: 'NEW',
  ...Object.fromEntries(Object.entries(alert).filter(([name]) => HANDLING_NAMES.includes(name))),
})

const SERVICE_NAMES = [...HANDLING_NAMES, 'urgency', 'attentionAt']

/**
 * Replaces the handling of an alert. A resolved or corrected alert needs no action any more; one that nobody has
 * taken waits for the rules of its plan.
 */
export function withHandling<E extends EventRecord>(alert: E, handling: AlertHandling, at: Date): E {
  const others = Object.entries(alert).filter(([name]) => !SERVICE_NAMES.includes(name))
  const isOpen = handling.alertState !== 'RESOLVED' && alert.data?.state !== 'CORRECTED'
  const isWaiting = isOpen && handling.alertState !== 'TAKEN'
  return {
    ...(Object.fromEntries(others) as E),
    ...handling,
    ...(isOpen && { urgency: urgencyOf(alert) }),
    ...(isWaiting && { attentionAt: alert.attentionAt ?? at.toISOString() }),
  }
}

/** Exceeds the milliseconds of any time, and four times it is still an exact number. */
const MS_BELOW_SEVERITY = 1e15

/** A number for sorting: the worst alerts first, and of these the oldest. */
export const urgencyOf = ({ severity, start }: Pick<EventRecord, 'severity' | 'start'>): number =>
  (severityRank(SeverityEnum.enum, severity) ?? 0) * MS_BELOW_SEVERITY - Date.parse(start)

/**
 * The handling of an alert after a step. A step that somebody repeats changes nothing.
 * @throws RuleViolated
 */
export function handlingAfter(now: AlertHandling, step: AlertStep, actor: Actor): AlertHandling {
  const next = STEPS[step.action](now, actor, step.note)
  const isRepeated = isSame(now, next)
  requireNoViolations([...noteViolations(step), ...(isRepeated ? [] : stateViolations(now, step, actor))])
  return isRepeated ? now : next
}

type TakeStep = (now: AlertHandling, actor: Actor, note: string | undefined) => AlertHandling

const STEPS: Record<AlertStep['action'], TakeStep> = {
  SEE: (now, actor) => (now.alertState === 'NEW' ? { ...now, ...seenBy(actor), alertState: 'SEEN' } : now),
  TAKE: (now, actor) => ({ ...takenBy(now, actor), alertState: 'TAKEN' }),
  RELEASE(now) {
    const { takenBy: _, takenAt: __, ...rest } = now
    return now.alertState === 'TAKEN' ? { ...rest, alertState: 'SEEN' } : now
  },
  RESOLVE: (now, actor, resolution) => ({
    ...takenBy(now, actor),
    alertState: 'RESOLVED',
    resolvedAt: actor.at.toISOString(),
    ...(resolution && { resolution }),
  }),
}

const seenBy = ({ userId, at }: Actor) => ({ seenBy: userId, seenAt: at.toISOString() })

/** Who takes an alert has seen it. */
const takenBy = (now: AlertHandling, actor: Actor): AlertHandling => ({
  ...seenBy(actor),
  ...now,
  ...(now.takenBy !== actor.userId && { takenBy: actor.userId, takenAt: actor.at.toISOString() }),
})

/** Apart from the time at which it was resolved. */
const isSame = (now: AlertHandling, { resolvedAt: _, ...next }: AlertHandling): boolean =>
  isDeepStrictEqual(now, now.resolvedAt === undefined ? next : { ...next, resolvedAt: now.resolvedAt })

function noteViolations({ action, note }: AlertStep): Violation[] {
  if ((action === 'RESOLVE') === (note !== undefined)) return []
  return action === 'RESOLVE'
    ? [{ path: 'note', code: 'required', message: 'is required to resolve an alert' }]
    : [{ path: 'note', code: 'unexpected', message: 'is only possible with the action RESOLVE' }]
}

function stateViolations(now: AlertHandling, { action }: AlertStep, actor: Actor): Violation[] {
  if (now.alertState === 'RESOLVED')
    return [{ path: 'action', code: 'resolved', message: 'is not possible because the alert is resolved' }]
  const own = [actor.userId, ...(actor.standsInFor ?? [])]
  const isOthers = now.alertState === 'TAKEN' && !own.includes(now.takenBy ?? '')
  return isOthers && action !== 'RELEASE' ? [takenViolation] : []
}

const takenViolation: Violation = {
  path: 'action',
  code: 'taken',
  message: 'is not possible because another user has taken the alert. Release it first',
}
