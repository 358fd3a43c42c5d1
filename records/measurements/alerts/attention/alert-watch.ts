import type { ClientSession, Collection } from 'mongodb'
import type { AlertRules, ExpectedMeasurement } from '../../../../schemas/events/alert-rules.ts'
import type { EventRecord } from '../../../../schemas/events/event.ts'
import { HOUR_MS } from '../../../../schemas/time/durations.ts'
import type { SendMail } from '../../../accounts/user/mails.ts'
import { lockEhrExclusively } from '../../../ehr-records/parents/exclusive-ehr-lock.ts'
import { reviewAlertsOf } from '../../../ehrs/rights/alert-owners.ts'
import { handlingAfter, handlingOf, withHandling } from '../../../events/alert-handling.ts'
import { Event } from '../../../events/event.ts'
import { ALERT_TYPE } from '../../../events/event-rules.ts'
import { findStandIns } from '../../../handovers/stand-ins.ts'
import { PROFILE_COLLECTIONS } from '../../../profiles/storage/profile-collections.ts'
import { type Caller, serviceCaller } from '../../../store/documents/caller.ts'
import { documentCollection } from '../../../store/documents/database.ts'
import {
  createParseFormat,
  fromStoredPermissions,
  type ParseDocument,
  type SavedRecord,
} from '../../../store/documents/parse-format.ts'
import { DueRecords, runPages } from '../../../store/jobs/due-records.ts'
import { Store } from '../../../store/store.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../../store/writing/transaction.ts'
import type { MeasurementKind } from '../../measurement.ts'
import { alertRulesIn, PlanAlertRules } from '../alert-rules.ts'
import { type AlertFields, missedAlertId, withServiceFields } from '../alerts.ts'
import { type Attention, attentionOf, type Candidate } from './attention.ts'
import { lastEndedPeriod, nextDueTime, type Period } from './period.ts'
import { findPlanWriters } from './plan-writers.ts'

/** History and audit name the service. */
const watchCaller: Caller = { ...serviceCaller, userId: 'service' }

const eventFormat = createParseFormat(Event.schema)

/**
 * Acts when time passes: an alert that nobody takes goes to the next user, and an expected measurement that is missing
 * raises an alert. Each step is one transaction, so a killed service repeats it, and one of several instances does it.
 */
export class AlertWatch {
  readonly #context: StoreContext
  readonly #kinds: ReadonlyMap<string, MeasurementKind>
  readonly #sendMail: SendMail
  readonly #alerts
  readonly #dueRules: DueRecords
  readonly #dueHandovers: DueRecords
  readonly #dueAlerts: DueRecords

  constructor(context: StoreContext, kinds: readonly MeasurementKind[], sendMail: SendMail) {
    this.#context = context
    this.#kinds = new Map(kinds.map((kind) => [kind.path, kind]))
    this.#sendMail = sendMail
    this.#alerts = new Store(context, Event)
    this.#dueRules = new DueRecords(context, PlanAlertRules.collection, 'dueAt')
    this.#dueHandovers = new DueRecords(context, PROFILE_COLLECTIONS.handover, 'changesAt')
    this.#dueAlerts = new DueRecords(context, Event.collection, 'attentionAt')
  }

  /**
   * Takes a page of each queue in turn until nothing is due.
   * @throws AggregateError with the errors of the steps that failed, after all others
   */
  run(ending?: AbortSignal): Promise<void> {
    return runPages(() => this.#runPage(), 'Some alerts could not be handled.', ending)
  }

  async #runPage() {
    const now = this.#context.clock()
    const inTransaction = (step: (tx: Transaction, id: string, now: Date) => Promise<void>) => (id: string) =>
      runStoreTransaction(this.#context, (tx) => step(tx, id, now))
    const pages = [
      await this.#dueRules.runPage(now, inTransaction(this.#checkExpected.bind(this))),
      await this.#dueHandovers.runPage(now, inTransaction(this.#reassignAlerts.bind(this))),
      await this.#dueAlerts.runPage(now, inTransaction(this.#applyRules.bind(this))),
    ]
    return { errors: pages.flatMap(({ errors }) => errors), isFull: pages.some(({ isFull }) => isFull) }
  }

  /** Applies the rules of its plan to an alert. */
  async #applyRules(tx: Transaction, id: string, now: Date): Promise<void> {
    const { session } = tx
    const alerts = documentCollection(this.#context, Event.collection)
    const alertDocument = await alerts.findOne({ _id: id, attentionAt: { $lte: now } }, { session })
    if (!alertDocument) return
    const plan = await this.#findPlan(session, alertDocument.ehrId, alertDocument.carePlanId)
    // A deleted plan may return.
    if (!plan) return setTime(alerts, session, id, 'attentionAt', new Date(now.getTime() + HOUR_MS))
    const rules = alertRulesIn(await this.#rules.findOne({ _id: plan._id }, { session }))
    const candidates = await this.#findCandidates(session, plan._id, rules, now)
    const alert = eventFormat.fromStored(alertDocument)
    const isTaken = alert.alertState === 'TAKEN'
    // Whoever has taken it keeps it as long as they may write the plan.
    if (
      isTaken &&
      (await findPlanWriters(this.#context, session, plan._id, [String(alert.takenBy)])).length > 0
    )
      return setTime(alerts, session, id, 'attentionAt', undefined)
    const next = attentionOf(alert, rules, candidates, now)
    if (!isTaken && ASSIGNMENT_NAMES.every((name) => next[name] === alert[name]))
      return setTime(alerts, session, id, 'attentionAt', next.attentionAt && new Date(next.attentionAt))
    const change = (before: SavedRecord<EventRecord>) => withAttention(withoutTaker(before, now), next)
    await this.#alerts.update(watchCaller, { id }, change, { tx })
    if (next.assignedTo === undefined) return
    const to = { mvUid: next.assignedTo }
    await this.#sendMail({ to, template: 'alert', language: undefined, data: {} }, session)
  }

  /** The users of the escalation who may write the plan, with those of their colleagues who stand in and may, too. */
  async #findCandidates(
    session: ClientSession,
    carePlanId: string,
    { escalation }: AlertRules,
    now: Date,
  ): Promise<Candidate[]> {
    const { participants = [] } = escalation ?? {}
    const standIns = await findStandIns(this.#context, session, participants, now)
    const candidateIds = [...new Set([...participants, ...standIns.values()])]
    const writers = await findPlanWriters(this.#context, session, carePlanId, candidateIds)
    return participants
      .filter((userId) => writers.includes(userId))
      .map((userId) => {
        const standIn = standIns.get(userId)
        return { userId, ...(standIn !== undefined && writers.includes(standIn) && { standIn }) }
      })
  }

  /** Has the waiting alerts of a worklist assigned again when a handover begins or ends. */
  async #reassignAlerts({ session }: Transaction, id: string, now: Date): Promise<void> {
    const handovers = documentCollection(this.#context, PROFILE_COLLECTIONS.handover)
    const handover = await handovers.findOne({ _id: id, changesAt: { $lte: now } }, { session })
    if (!handover) return
    await reviewAlertsOf(this.#context, session, String(handover.by), { at: now })
    const next = [handover.from, handover.until].find((time) => (time as Date) > now) as Date | undefined
    await setTime(handovers, session, id, 'changesAt', next)
  }

  /** Raises an alert for each expected measurement of a plan that is missing in the period that has just ended. */
  async #checkExpected(tx: Transaction, carePlanId: string, now: Date): Promise<void> {
    const { session } = tx
    const rulesDocument = await this.#rules.findOne({ _id: carePlanId, dueAt: { $lte: now } }, { session })
    if (!rulesDocument) return
    // A measurement of that period that is being stored comes first.
    await lockEhrExclusively(this.#context, tx, String(rulesDocument.ehrId))
    const plan = await this.#findPlan(session, rulesDocument.ehrId, carePlanId)
    const rules = alertRulesIn(rulesDocument)
    const isEnded = plan !== null && plan.status !== 'ACTIVE'
    // A deleted plan may return before its next period ends.
    await setTime(this.#rules, session, carePlanId, 'dueAt', isEnded ? undefined : nextDueTime(rules, now))
    if (!plan || isEnded) return
    const alerts = new Map<string, EventRecord>()
    for (const expected of rules.expected ?? []) {
      const kind = this.#kinds.get(expected.kind)
      const period = lastEndedPeriod(expected, rules.timeZone, rulesDocument.dueAt as Date, now)
      if (!kind || !period || (await this.#hasMeasurement(session, kind, carePlanId, period))) continue
      const alert = missedMeasurementAlert(kind, expected, period)
      const event = withServiceFields({ ehrId: String(plan.ehrId), carePlanId, ...alert }, now)
      alerts.set(missedAlertId(carePlanId, expected, period.due), event)
    }
    const ids = [...alerts.keys()]
    const { unfilteredDb: db } = this.#context.jobs
    const existing = await documentCollection({ db }, Event.collection)
      .find({ _id: { $in: ids } }, { session, projection: { _id: 1 } })
      .toArray()
    for (const { _id } of existing) alerts.delete(_id)
    for (const [id, event] of alerts)
      await this.#alerts.create(watchCaller, event, fromStoredPermissions(plan), { tx, id })
  }

  async #hasMeasurement(
    session: ClientSession,
    kind: MeasurementKind,
    carePlanId: string,
    { from, due }: Period,
  ) {
    const inPeriod = { carePlanId, timestamp: { $gt: from, $lte: due } }
    const projection = { projection: { _id: 1 } }
    const measurements = documentCollection(this.#context, kind.collection)
    return (await measurements.findOne(inPeriod, { session, ...projection })) !== null
  }

  /** The plan of a record, unless it or its EHR is deleted. */
  async #findPlan(session: ClientSession, ehrId: unknown, carePlanId: unknown) {
    const plan = await documentCollection(this.#context, 'CarePlan').findOne(
      { _id: String(carePlanId) },
      { session },
    )
    const ehr = await documentCollection(this.#context, 'Ehr').findOne({ _id: String(ehrId) }, { session })
    return ehr ? plan : null
  }

  get #rules(): Collection<ParseDocument> {
    return documentCollection(this.#context, PlanAlertRules.collection)
  }
}

/** Sets the time of the next step, or none. This is nobody's change of the record. */
async function setTime(
  documents: Collection<ParseDocument>,
  session: ClientSession,
  _id: string,
  name: 'attentionAt' | 'dueAt' | 'changesAt',
  time: Date | undefined | '',
): Promise<void> {
  const change = time ? { $set: { [name]: time } } : { $unset: { [name]: '' as const } }
  await documents.updateOne({ _id }, change, { session })
}

/** Releases an alert that somebody has taken. */
function withoutTaker(alert: EventRecord, at: Date): EventRecord {
  const handling = handlingOf(alert)
  return withHandling(alert, handlingAfter(handling, { action: 'RELEASE' }, { userId: 'service', at }), at)
}

const ASSIGNMENT_NAMES = ['assignedTo', 'assignedFor', 'mutedUntil'] as const
const ATTENTION_NAMES: readonly string[] = [...ASSIGNMENT_NAMES, 'assignedAt', 'attentionAt']

function withAttention(alert: EventRecord, next: Attention): EventRecord {
  const otherFields = Object.entries(alert).filter(([name]) => !ATTENTION_NAMES.includes(name))
  return { ...(Object.fromEntries(otherFields) as EventRecord), ...next }
}

function missedMeasurementAlert(
  { path, noun }: MeasurementKind,
  { severity = 'MODERATE' }: ExpectedMeasurement,
  { from, due }: Period,
): AlertFields {
  const missed = { from: from.toISOString(), due: due.toISOString() }
  return {
    type: ALERT_TYPE,
    severity,
    start: missed.due,
    title: `${noun.charAt(0).toUpperCase()}${noun.slice(1)} is missing`,
    data: { kind: path, state: 'OPEN', missed },
  }
}
