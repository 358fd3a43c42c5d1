import { isDeepStrictEqual } from 'node:util'
import type { EventRecord } from '../../../schemas/event.ts'
import type { Band } from '../../../schemas/thresholds.ts'
import { Event } from '../../events/event.ts'
import { ALERT, eventRules } from '../../events/event-rules.ts'
import type { Values } from '../../registered/kind.ts'
import type { Said } from '../../registered/timeline-line.ts'
import { Decisions } from '../../store/decisions.ts'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import { type ParseDocument, parseFormat, type Saved } from '../../store/documents/parse-format.ts'
import type { Companion, Transition } from '../../store/writing/companions.ts'
import {
  type AlertBands,
  alertBands,
  bandOfValues,
  type Thresholded,
  type Thresholds,
} from '../calculations/thresholds.ts'
import { PlanThresholds } from './plan-thresholds.ts'

/** What of a kind of measurement its alerts tell. */
export interface Alerted {
  path: string
  thresholded: Thresholded
  says(record: Values): Said
  /** Its values by name, not rounded. */
  exact(record: Values): Record<string, number>
}

/** A measurement that is being written; its times as ISO texts. */
type Measured = Values & { id: string; ehrId: string; carePlanId: string; timestamp: string }

/** What the measurement says of its alert; whatever else stands in it is people's. */
type Alert = Pick<EventRecord, 'type' | 'title' | 'start' | 'severity' | 'data'>

const format = parseFormat(Event.schema)

/**
 * The alerts of measurements, each of some kind: for each that lies outside of its plan's thresholds an Event, under the
 * measurement's id. It is corrected and removed with it, see docs/decisions/alerts.md.
 */
export function alertsOf(kindOf: (record: Values) => Alerted): Companion {
  const told = (record: Measured | null) => record && [record.timestamp, kindOf(record).exact(record)]
  return {
    rules: PlanThresholds.collection,
    writesFor(caller, transition) {
      const { before, after, permissions } = transition as Transition<Measured>
      const record = after ?? before
      // What a composition holds that is in no plan has no thresholds.
      if (!record || record.carePlanId === undefined) return []
      if (before && after && isDeepStrictEqual(told(before), told(after))) return []
      return [
        {
          collection: Event.collection,
          id: record.id,
          holderId: record.carePlanId,
          isNew: before === null,
          decide(found, rules, at) {
            const alert = after && alertOf(kindOf(after), after, rules)
            return follows(caller, permissions, record, { found, alert, removed: after === null, at })
          },
        },
      ]
    },
  }
}

interface State {
  /** The alert that there is. */
  found: ParseDocument | null
  /** The one that there should be. */
  alert: Alert | null
  /** Whether the measurement itself is gone. */
  removed: boolean
  at: Date
}

/** The write that makes of the alert that there is the one that there should be. */
function follows(
  caller: Caller,
  permissions: Permissions,
  { id, ehrId, carePlanId, timestamp }: Measured,
  { found, alert, removed, at }: State,
) {
  const decisions = new Decisions(Event, format, () => at)
  const key = { id, ehrId }
  if (found && removed) return decisions.removed(caller, key, found, undefined)
  if (!found) {
    if (!alert) return undefined
    const event = withDerived({ ehrId, carePlanId, allDay: false, participants: [], ...alert })
    return decisions.created(caller, [{ ...event, id }], permissions, null)
  }
  const change = (now: Saved<EventRecord>) => withDerived({ ...now, ...(alert ?? corrected(now, timestamp)) })
  return decisions.updated(caller, key, found, change, {
    expected: undefined,
    permissions: undefined,
    action: 'update',
  })
}

/** With what follows from it. */
const withDerived = (event: Omit<EventRecord, 'last' | 'long' | 'participantIds'>): EventRecord => ({
  ...event,
  ...eventRules.derived(event),
})

/** The alert of a measurement whose value was corrected: its contents stay, with the state CORRECTED. */
const corrected = ({ data }: EventRecord, start: string) => ({
  start,
  data: { ...data, state: 'CORRECTED' },
})

/** What a measurement calls for; null when it is within its plan's thresholds, or there are none. */
function alertOf(
  { path, thresholded, says, exact }: Alerted,
  record: Measured,
  rules: ParseDocument | null,
): Alert | null {
  const set = rules && thresholdsIn(thresholded, path, rules)
  if (!set) return null
  const { content, values = [] } = says(record)
  const band = bandOfValues(thresholded, set, exact(record))
  if (!band || band.severity < set.alertFrom) return null
  const { code, label, severity } = band
  return {
    type: ALERT,
    title: `${content}: ${label}`.slice(0, 200),
    start: record.timestamp,
    severity: levelOf(set, band),
    data: {
      ...{ kind: path, measurementId: record.id, state: 'OPEN' },
      ...{ values, band: { code, label }, severity, thresholds: set.name },
    },
  }
}

/** What a plan's thresholds say of a kind of measurement. */
export function thresholdsIn(
  thresholded: Thresholded,
  path: string,
  { json }: { [field: string]: unknown },
): AlertBands | undefined {
  const saved = (JSON.parse(String(json)) as Partial<Record<string, Thresholds>>)[path]
  return saved === undefined ? undefined : alertBands(thresholded, saved)
}

/** From the worst of many conditions down; of one or two the worst is not the end of the scale. */
const LEVELS = ['CRITICAL', 'HIGH', 'MODERATE', 'LOW'] as const

function levelOf({ bands, alertFrom }: AlertBands, { severity }: Band): (typeof LEVELS)[number] {
  const outside = bands.filter((one) => one.severity >= alertFrom)
  const worse = outside.filter((one) => one.severity > severity).length
  return LEVELS[worse + (outside.length < 3 ? 1 : 0)] ?? 'LOW'
}
