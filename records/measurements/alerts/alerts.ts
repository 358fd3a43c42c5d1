import { isDeepStrictEqual } from 'node:util'
import type { AlertHandling } from '../../../schemas/events/alert-handling.ts'
import type { ExpectedMeasurement } from '../../../schemas/events/alert-rules.ts'
import type { EventRecord } from '../../../schemas/events/event.ts'
import type { Band } from '../../../schemas/measurements/thresholds.ts'
import { isConvertible } from '../../../schemas/measurements/units.ts'
import type { Values } from '../../ehr-records/kind.ts'
import { lockEhrExclusively } from '../../ehr-records/parents/exclusive-ehr-lock.ts'
import type { TimelineContent } from '../../ehr-records/timeline-definition.ts'
import { hideContents, showContents } from '../../ehrs/deletion/cascading-deletion.ts'
import { handlingOf, withHandling } from '../../events/alert-handling.ts'
import { Event } from '../../events/event.ts'
import { ALERT_TYPE, eventRules } from '../../events/event-rules.ts'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import { createSeededIdGenerators } from '../../store/documents/ids.ts'
import {
  createParseFormat,
  type ParseDocument,
  type SavedRecord,
} from '../../store/documents/parse-format.ts'
import { WriteDecider } from '../../store/write-decider.ts'
import {
  isCreation,
  type RecordDerivation,
  type RecordTransition,
} from '../../store/writing/derived-records.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import type { DerivedState, DerivedWrite } from '../../store/writing/write-decision.ts'
import {
  type AlertBands,
  type ExactValues,
  findBandOfValues,
  isUsualPreset,
  type Thresholds,
  type ThresholdTarget,
  toAlertBands,
} from '../calculations/thresholds.ts'
import { alertRulesIn, PlanAlertRules } from './alert-rules.ts'
import { missedPeriods } from './attention/period.ts'
import { PlanThresholds } from './plan-thresholds.ts'

/** The facts about a kind of measurement that its alerts need. */
export interface AlertSource {
  path: string
  thresholdTarget: ThresholdTarget
  describe(record: Values): TimelineContent
  exactValues(record: Values): ExactValues
  /** The band of the usual preset, which may depend on more than the values, e.g. on the age. */
  findUsualBand?(record: Values): Band | undefined
}

/** A measurement that is being written; times are ISO texts. */
type MeasurementRecord = Values & { id: string; ehrId: string; carePlanId: string; timestamp: string }

/** The fields of an alert that follow from the measurement; users may edit all the others. */
export type AlertFields = Pick<EventRecord, 'type' | 'title' | 'start' | 'severity' | 'data'>

const eventFormat = createParseFormat(Event.schema)

/** The inputs of the alerts of a measurement, besides the measurement itself. */
export const ALERT_RULES_COLLECTIONS = [PlanThresholds.collection, PlanAlertRules.collection]

/**
 * Derives the alerts of measurements: each measurement outside its plan's thresholds gets an Event with the
 * same id. The Event is corrected and deleted together with the measurement, see docs/decisions/alerts.md.
 */
export function deriveAlerts(kindOf: (record: Values) => AlertSource): RecordDerivation {
  const alertInputs = (record: MeasurementRecord | null) => {
    if (!record) return record
    const { exactValues, findUsualBand } = kindOf(record)
    return [record.timestamp, Object.values(exactValues(record)), findUsualBand?.(record)]
  }
  return {
    rulesCollections: ALERT_RULES_COLLECTIONS,
    deriveWrites(caller, transition) {
      const { before, after, permissions } = transition as RecordTransition<MeasurementRecord>
      const record = after ?? before
      // A measurement from a composition may belong to no plan; then it has no thresholds.
      if (!record || record.carePlanId === undefined) return []
      if (before && after && isDeepStrictEqual(alertInputs(before), alertInputs(after))) return []
      return [
        {
          collection: Event.collection,
          id: record.id,
          parentId: record.carePlanId,
          isNew: isCreation(transition as RecordTransition<SavedRecord<object>>),
          decide(state) {
            const rules = state.rules[PlanThresholds.collection]
            const alert = after && buildAlert(kindOf(after), after, rules)
            return reconcileAlert(caller, permissions, record, { ...state, alert, isDeleted: after === null })
          },
          moveContents: (context, tx, isRemoved) => moveChats(context, tx, caller, record, isRemoved),
        },
        ...(after ? [endMissedAlerts(caller, kindOf(after).path, after)] : []),
      ]
    },
  }
}

/** Hides the chats about an alert that is removed, and shows them when it returns. */
async function moveChats(
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  alert: Pick<MeasurementRecord, 'id' | 'ehrId'>,
  isRemoved: boolean,
): Promise<void> {
  if (!isRemoved) return showContents(context, tx, caller, 'Event', alert)
  await hideContents(context, tx, caller, 'Event', alert)
  // A chat that begins now needs the alert.
  await lockEhrExclusively(context, tx, alert.ehrId)
}

/** A measurement that arrives late ends the alerts about its absence, unless somebody has resolved them. */
const endMissedAlerts = (
  caller: Caller,
  kind: string,
  { ehrId, carePlanId, timestamp }: MeasurementRecord,
): DerivedWrite => ({
  collection: Event.collection,
  id: (rules, now) =>
    missedPeriods(alertRulesIn(rules[PlanAlertRules.collection] ?? null), kind, timestamp, now).map(
      ({ expected, due }) => missedAlertId(carePlanId, expected, due),
    ),
  parentId: carePlanId,
  isNew: false,
  decide({ document, at }) {
    if (!document || document.alertState === 'RESOLVED') return undefined
    const change = (current: SavedRecord<EventRecord>) =>
      withServiceFields({ ...current, data: { ...current.data, state: 'CORRECTED' } }, at, current)
    return new WriteDecider(Event, eventFormat, () => at).decideUpdate(
      caller,
      { id: document._id, ehrId },
      document,
      change,
    )
  },
})

/** The id of the alert about a measurement that is missing, by which a late one finds it. */
export const missedAlertId = (
  carePlanId: string,
  { kind, from, everyDays }: ExpectedMeasurement,
  due: Date,
): string =>
  createSeededIdGenerators(
    Buffer.from(JSON.stringify([carePlanId, kind, from, everyDays, due.toISOString()])),
  ).newId()

interface AlertState extends DerivedState {
  /** The alert that follows from the measurement now. */
  alert: AlertFields | null
  /** Whether the measurement itself was deleted. */
  isDeleted: boolean
}

/** The write that turns the stored alert into the one that follows from the measurement. */
function reconcileAlert(
  caller: Caller,
  permissions: Permissions,
  { id, ehrId, carePlanId, timestamp }: MeasurementRecord,
  { document, alert, isDeleted, at, first }: AlertState,
) {
  const decisions = new WriteDecider(Event, eventFormat, () => at)
  const key = { id, ehrId }
  if (document && isDeleted) return decisions.decideRemoval(caller, key, document)
  if (!document) {
    if (!alert) return undefined
    const former = first.deleted && eventFormat.fromStored(first.deleted)
    const event = withServiceFields({ ehrId, carePlanId, ...alert }, at, former)
    return decisions.decideCreate(caller, [{ ...event, id }], permissions, null, first)
  }
  const change = (current: SavedRecord<EventRecord>) =>
    withServiceFields({ ...current, ...(alert ?? toCorrectedAlert(current, timestamp)) }, at, current)
  return decisions.decideUpdate(caller, key, document, change)
}

/** Adds the fields that the service sets. What people have done about an alert outlives its corrections. */
export const withServiceFields = (
  alert: Partial<EventRecord> & AlertFields & Pick<EventRecord, 'ehrId'>,
  at: Date,
  handling: AlertHandling = {},
): EventRecord => {
  const event = { allDay: false, participants: [], ...alert }
  return withHandling({ ...event, ...eventRules.derived(event) }, handlingOf(handling), at)
}

/** The alert of a corrected measurement: it keeps its contents and gets the state CORRECTED. */
const toCorrectedAlert = ({ data }: EventRecord, start: string) => ({
  start,
  data: { ...data, state: 'CORRECTED' },
})

/** Builds the alert of a measurement; null if it is within its plan's thresholds, or the plan has none. */
function buildAlert(
  { path, thresholdTarget, describe, exactValues, findUsualBand }: AlertSource,
  record: MeasurementRecord,
  rules: ParseDocument | null | undefined,
): AlertFields | null {
  const set = rules && findAlertBands(thresholdTarget, path, rules)
  if (!set) return null
  const { content, values = [] } = describe(record)
  const band =
    findUsualBand && isUsualPreset(thresholdTarget, set)
      ? findUsualBand(record)
      : findBandOfValues(thresholdTarget, set, exactValues(record))
  if (!band || band.severity < set.alertFrom) return null
  const { code, label, severity } = band
  return {
    type: ALERT_TYPE,
    title: `${content}: ${label}`.slice(0, 200),
    start: record.timestamp,
    severity: alertLevelOf(set, band),
    data: {
      kind: path,
      measurementId: record.id,
      state: 'OPEN',
      values,
      band: { code, label },
      severity,
      thresholds: set.name,
    },
  }
}

/**
 * The alert bands that a plan's thresholds set for a kind of measurement. Earlier releases left them behind when a data
 * type was deleted; it may have another unit since it was added again.
 */
export function findAlertBands(
  thresholdTarget: ThresholdTarget,
  path: string,
  { json }: { [field: string]: unknown },
): AlertBands | undefined {
  const thresholds = (JSON.parse(String(json)) as Partial<Record<string, Thresholds>>)[path]
  const set = thresholds === undefined ? undefined : toAlertBands(thresholdTarget, thresholds)
  return set && isConvertible(set.unit, thresholdTarget.unit) ? set : undefined
}

/** Levels from the worst band down, because the worst of only one or two bands need not be critical. */
const ALERT_LEVELS = ['CRITICAL', 'HIGH', 'MODERATE', 'LOW'] as const

function alertLevelOf({ bands, alertFrom }: AlertBands, { severity }: Band): (typeof ALERT_LEVELS)[number] {
  const outside = bands.filter((one) => one.severity >= alertFrom)
  const worse = outside.filter((one) => one.severity > severity).length
  return ALERT_LEVELS[worse + (outside.length < 3 ? 1 : 0)] ?? 'LOW'
}
