import type { AlertRules } from '../../../schemas/events/alert-rules.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { EhrWriteOptions } from '../../ehr-records/ehr-records.ts'
import type { PlanParentIds } from '../../ehr-records/parents/parents.ts'
import {
  definePlanDocument,
  PlanDocuments,
  type StoredPlanDocument,
} from '../../ehr-records/plan-documents.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import { Event, OPEN_ALERTS_FILTER } from '../../events/event.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import { nextDueTime } from './attention/period.ts'
import { findPlanWriters } from './attention/plan-writers.ts'

/** The rules of a care plan for its alerts. */
export const PlanAlertRules = definePlanDocument(
  'plan.alert-rules',
  { en: 'alert rules', nl: 'regels voor meldingen' },
  [{ key: { dueAt: 1 }, sparse: true }],
)

export const alertRulesIn = (document: ParseDocument | StoredPlanDocument | null): AlertRules =>
  document ? (JSON.parse(String(document.json)) as AlertRules) : {}

export class PlanAlertRulesStore extends PlanDocuments<AlertRules> {
  readonly #context: StoreContext
  readonly #kinds: readonly string[]

  /** @param kinds the names of the kinds of measurements in the path family */
  constructor(context: StoreContext, kinds: readonly string[]) {
    super(context, PlanAlertRules)
    this.#context = context
    this.#kinds = kinds
  }

  /** @throws NotFound; Forbidden if the caller may only read the plan; PreconditionFailed; RuleViolated */
  override async save(caller: Caller, parentIds: PlanParentIds, value: AlertRules, options: EhrWriteOptions) {
    const unknown = (field: 'expected' | 'mutes') =>
      (value[field] ?? []).flatMap(({ kind }, i) =>
        kind === undefined || this.#kinds.includes(kind) ? [] : [unknownKind(`${field}.${i}.kind`)],
      )
    const schedules = schedulesIn(value)
    const twice = schedules.flatMap((one, i) =>
      schedules.indexOf(one) === i ? [] : [twiceViolation(`expected.${i}`)],
    )
    requireNoViolations([...unknown('expected'), ...twice, ...unknown('mutes')])
    return super.save(caller, parentIds, value, options)
  }

  /** A period that has ended, but was not checked yet, is still checked if the new rules expect the same. */
  protected override dueTimeOf(rules: AlertRules, stored: StoredPlanDocument | undefined): Date | undefined {
    const now = this.#context.clock()
    const former = stored ? schedulesIn(alertRulesIn(stored)) : []
    const isStillExpected = schedulesIn(rules).some((one) => former.includes(one))
    const uncheckedDue = isStillExpected && stored?.dueAt !== undefined && new Date(stored.dueAt)
    return uncheckedDue && uncheckedDue <= now ? uncheckedDue : nextDueTime(rules, now)
  }

  /** Applies the rules to the alerts that wait, too: those of a new mute, for example, go to nobody. */
  protected override async afterSave(
    tx: Transaction,
    parentIds: PlanParentIds,
    rules: AlertRules,
  ): Promise<void> {
    const { participants = [] } = rules.escalation ?? {}
    const writers = await findPlanWriters(this.#context, tx.session, parentIds.carePlanId, participants)
    requireNoViolations(
      participants.flatMap((userId, i) =>
        writers.includes(userId) ? [] : [notWriterViolation(`escalation.participants.${i}`)],
      ),
    )
    const waiting = {
      carePlanId: parentIds.carePlanId,
      ...OPEN_ALERTS_FILTER,
      alertState: { $in: ['NEW', 'SEEN'] },
    }
    const becomeDue = { $set: { attentionAt: this.#context.clock() } }
    await documentCollection(this.#context, Event.collection).updateMany(waiting, becomeDue, {
      session: tx.session,
    })
  }
}

/** What decides when the periods of the expected measurements end, as texts. */
const schedulesIn = ({ expected = [], timeZone = 'UTC' }: AlertRules): string[] =>
  expected.map(({ kind, from, everyDays, by }) => JSON.stringify([kind, from, everyDays, by, timeZone]))

const twiceViolation = (path: string): Violation => ({
  path,
  code: 'twice',
  message: 'expects the same measurement at the same times as another entry',
})
const unknownKind = (path: string): Violation => ({
  path,
  code: 'unknown',
  message: 'is not a kind of measurement',
})
const notWriterViolation = (path: string): Violation => ({
  path,
  code: 'user',
  message: 'must be a user who may write the care plan',
})
