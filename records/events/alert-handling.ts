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
 * Replaces the handling of an alert. A resolved or corrected alert needs no action any more. The rules of its plan apply
 * to one that nobody has taken, and to one that returns.
 */
export function withHandling<E extends EventRecord>(alert: E, handling: AlertHandling, at: Date): E {
  const otherFields = Object.entries(alert).filter(([name]) => !SERVICE_NAMES.includes(name))
  const isOpen = handling.alertState !== 'RESOLVED' && alert.data?.state !== 'CORRECTED'
  // Whoever has taken an alert that returns may have left meanwhile.
  const isDue = isOpen && (handling.alertState !== 'TAKEN' || alert.urgency === undefined)
  return {
    ...(Object.fromEntries(otherFields) as E),
    ...handling,
    ...(isOpen && { urgency: urgencyOf(alert) }),
    ...(isDue && { attentionAt: alert.attentionAt ?? at.toISOString() }),
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
export function handlingAfter(current: AlertHandling, step: AlertStep, actor: Actor): AlertHandling {
  const next = STEPS[step.action](current, actor, step.note)
  const isRepeated = isSame(current, next)
  requireNoViolations([...noteViolations(step), ...(isRepeated ? [] : stateViolations(current, step, actor))])
  return isRepeated ? current : next
}

type TakeStep = (current: AlertHandling, actor: Actor, note: string | undefined) => AlertHandling

const STEPS: Record<AlertStep['action'], TakeStep> = {
  SEE: (current, actor) =>
    current.alertState === 'NEW' ? { ...current, ...seenBy(actor), alertState: 'SEEN' } : current,
  TAKE: (current, actor) => ({ ...takenBy(current, actor), alertState: 'TAKEN' }),
  RELEASE(current) {
    const { takenBy: _, takenAt: __, ...rest } = current
    return current.alertState === 'TAKEN' ? { ...rest, alertState: 'SEEN' } : current
  },
  RESOLVE: (current, actor, resolution) => ({
    ...takenBy(current, actor),
    alertState: 'RESOLVED',
    resolvedAt: actor.at.toISOString(),
    ...(resolution && { resolution }),
  }),
}

const seenBy = ({ userId, at }: Actor) => ({ seenBy: userId, seenAt: at.toISOString() })

/** Who takes an alert has seen it. */
const takenBy = (current: AlertHandling, actor: Actor): AlertHandling => ({
  ...seenBy(actor),
  ...current,
  ...(current.takenBy !== actor.userId && { takenBy: actor.userId, takenAt: actor.at.toISOString() }),
})

/** Apart from the time at which it was resolved. */
const isSame = (current: AlertHandling, { resolvedAt: _, ...next }: AlertHandling): boolean =>
  isDeepStrictEqual(
    current,
    current.resolvedAt === undefined ? next : { ...next, resolvedAt: current.resolvedAt },
  )

function noteViolations({ action, note }: AlertStep): Violation[] {
  if ((action === 'RESOLVE') === (note !== undefined)) return []
  return action === 'RESOLVE'
    ? [{ path: 'note', code: 'required', message: 'is required to resolve an alert' }]
    : [{ path: 'note', code: 'unexpected', message: 'is only possible with the action RESOLVE' }]
}

function stateViolations(current: AlertHandling, { action }: AlertStep, actor: Actor): Violation[] {
  if (current.alertState === 'RESOLVED')
    return [{ path: 'action', code: 'resolved', message: 'is not possible because the alert is resolved' }]
  const actingUserIds = [actor.userId, ...(actor.standsInFor ?? [])]
  const isOthers = current.alertState === 'TAKEN' && !actingUserIds.includes(current.takenBy ?? '')
  return isOthers && action !== 'RELEASE' ? [takenViolation] : []
}

const takenViolation: Violation = {
  path: 'action',
  code: 'taken',
  message: 'is not possible because another user has taken the alert. Release it first',
}
