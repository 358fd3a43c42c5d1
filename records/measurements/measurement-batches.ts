import type { TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import type { EhrRecords } from '../ehr-records/ehr-records.ts'
import type { ClassKind } from '../ehr-records/kind.ts'
import {
  insertTargetFor,
  type PlanParentIds,
  parentFinderIn,
  requireReadableEhr,
  resolveParent,
} from '../ehr-records/parents/parents.ts'
import { auditRefusedCreation } from '../ehr-records/refusals/refusals.ts'
import { TimeSlice } from '../limits/time-slice.ts'
import type { AuditedAccess } from '../store/audit/audit-log.ts'
import { groupBy } from '../store/batching/group-by.ts'
import type { Caller } from '../store/documents/caller.ts'
import { accessWithoutRecords } from '../store/resource.ts'
import { lockExclusive } from '../store/writing/ehr-locks.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'

/** One measurement of a batch; the body conforms to the schema of its kind. */
export interface BatchItem {
  kind: ClassKind
  body: object
  id: string
}

/** The outcome of one item. `known`: it was already stored, and the id is that of the stored record. */
export type BatchItemOutcome =
  | { status: 'stored' | 'known'; id: string; warnings: Violation[] }
  | { status: 'refused'; error: ServiceError }

/** An item that passed its rules. */
interface ValidBatchItem extends BatchItem {
  record: PlanParentIds & { fingerprint: string; warnings: Violation[] }
}

/** Limit of the query for already stored records; nobody stores the same measurement this often. */
const MAX_STORED_MATCHES = 10_000

/** Long texts may take long for the patterns of their data types. */
const VALIDATION_TIMEOUT_MS = 20_000

/** Stores measurements of any kinds together, each on its own: a refused item does not affect the others. */
export class MeasurementBatches {
  readonly #context: StoreContext
  readonly #recordsOf: (kind: ClassKind) => EhrRecords<TObject, string>

  constructor(context: StoreContext, recordsOf: (kind: ClassKind) => EhrRecords<TObject, string>) {
    this.#context = context
    this.#recordsOf = recordsOf
  }

  /**
   * Stores the items in one transaction, with their history and one audit entry for each kind.
   * @returns the outcome of each item, in the same order
   * @throws NotFound when the caller sees none of the plans, or not the EHR; Forbidden when they may write to
   * none; DeadlineExceeded when it takes too long to check them, before any is stored
   */
  async store(caller: Caller, ehrId: string, items: readonly BatchItem[]): Promise<BatchItemOutcome[]> {
    const slice = new TimeSlice({ admission: caller.admission, timeoutMs: VALIDATION_TIMEOUT_MS })
    const checkedItems: (ValidBatchItem | BatchItemOutcome)[] = []
    for (const one of items) {
      checkedItems.push(await this.#validate(ehrId, one))
      if (slice.isOver()) await slice.yieldToOthers()
    }
    const ready = checkedItems.flatMap((one) => ('record' in one ? [one] : []))
    const attempts = items.flatMap((one, i) =>
      'status' in (checkedItems[i] ?? {}) ? refusedAttempt(caller, ehrId, one, 'refused') : [],
    )
    const first = ready[0]
    if (!first) {
      await auditRefusedCreation(this.#context, caller, 'Ehr', ehrId, () =>
        requireReadableEhr(this.#context, caller, ehrId),
      )
      await this.#context.audit.record(...attempts)
      return checkedItems as BatchItemOutcome[]
    }
    const outcomes = await auditRefusedCreation(this.#context, caller, first.kind.collection, ehrId, () =>
      runStoreTransaction(
        this.#context,
        (tx) => {
          tx.accesses.push(...attempts)
          return this.#storeIn(tx, caller, ehrId, ready)
        },
        { queueFor: [ehrId], admission: caller.admission },
      ),
    )
    return checkedItems.map((one) => ('record' in one ? (outcomes.get(one) as BatchItemOutcome) : one))
  }

  async #validate(ehrId: string, one: BatchItem): Promise<ValidBatchItem | BatchItemOutcome> {
    try {
      const record = await this.#recordsOf(one.kind).buildRecord({ ehrId }, one.body)
      return { ...one, record: record as object as ValidBatchItem['record'] }
    } catch (error) {
      return toRefusal(error)
    }
  }

  /** Checks rights and loads the plan once for each plan, not for each item. */
  async #storeIn(
    tx: Transaction,
    caller: Caller,
    ehrId: string,
    ready: readonly ValidBatchItem[],
  ): Promise<Map<ValidBatchItem, BatchItemOutcome>> {
    const outcomes = new Map<ValidBatchItem, BatchItemOutcome>()
    const accessErrors: ServiceError[] = []
    const plans = groupBy(ready, ({ record }) => record.carePlanId)
    for (const [carePlanId, ofPlan] of plans) {
      const error = await this.#findPlanFault(tx, caller, { ehrId, carePlanId })
      if (error) for (const one of ofPlan) outcomes.set(one, { status: 'refused', error })
      else await this.#storeInPlan(tx, caller, { ehrId, carePlanId }, ofPlan, outcomes)
      if (!error) continue
      const outcome = error.error === 'NotFound' ? 'denied' : 'refused'
      for (const one of ofPlan) tx.accesses.push(...refusedAttempt(caller, ehrId, one, outcome))
      if (error.error !== 'RuleViolated') accessErrors.push(error)
    }
    if (accessErrors.length === plans.size)
      throw accessErrors.find(({ error }) => error === 'Forbidden') ?? accessErrors[0]
    caller.onAccess?.(ehrId)
    return outcomes
  }

  /** The error that forbids adding records to a plan, if any. */
  async #findPlanFault(
    tx: Transaction,
    caller: Caller,
    parentIds: PlanParentIds,
  ): Promise<ServiceError | undefined> {
    const find = parentFinderIn(this.#context, tx.session)
    const ofEhr = { permissions: () => ({ read: [], write: [] }) }
    return resolveParent(find, caller, ofEhr, '', parentIds).then(
      () => undefined,
      (error) => toRefusal(error).error,
    )
  }

  async #storeInPlan(
    tx: Transaction,
    caller: Caller,
    parentIds: PlanParentIds,
    ready: readonly ValidBatchItem[],
    outcomes: Map<ValidBatchItem, BatchItemOutcome>,
  ): Promise<void> {
    // The lock keeps others from adding the same measurements between the lookup and the insert.
    await lockExclusive(this.#context, tx, [parentIds.ehrId])
    for (const [kind, ofKind] of groupBy(ready, ({ kind }) => kind)) {
      const { store } = this.#recordsOf(kind)
      const same = {
        ehrId: parentIds.ehrId,
        fingerprint: { in: ofKind.map(({ record }) => record.fingerprint) },
      }
      const matches = await store.list(caller, 'same', { where: same, limit: MAX_STORED_MATCHES } as never, {
        tx,
      })
      const idsByFingerprint = new Map(
        (matches.items as unknown as StoredFingerprint[]).map((one) => [one.fingerprint, one.id]),
      )
      const fresh: ValidBatchItem[] = []
      for (const one of ofKind) {
        const { fingerprint, warnings } = one.record
        const before = idsByFingerprint.get(fingerprint)
        // An earlier attempt of the same request may have stored this item.
        const status = before === undefined || before === one.id ? 'stored' : 'known'
        outcomes.set(one, { status, id: before ?? one.id, warnings })
        if (before !== undefined) continue
        fresh.push(one)
        idsByFingerprint.set(fingerprint, one.id)
      }
      const admittedItems = await this.#applyQuota(tx, kind, fresh, outcomes)
      const inputs = admittedItems.map(({ record, id }) => ({ ...record, id }))
      await store.createAll(caller, inputs as never[], insertTargetFor(kind, '', parentIds), { tx })
    }
  }

  /** The items that the daily quota still permits. */
  async #applyQuota(
    tx: Transaction,
    kind: ClassKind,
    fresh: ValidBatchItem[],
    outcomes: Map<ValidBatchItem, BatchItemOutcome>,
  ): Promise<ValidBatchItem[]> {
    if (!kind.quota) return fresh
    const values = fresh.map(({ record, id }) => ({ ...record, id }))
    const refusals = await kind.quota.refuse(this.#context, values, tx.session)
    return fresh.filter((one, i) => {
      const error = refusals[i]
      if (error) outcomes.set(one, { status: 'refused', error })
      return error === undefined
    })
  }
}

interface StoredFingerprint {
  id: string
  fingerprint: string
}

/** @throws any error that is not a refusal */
function toRefusal(error: unknown): { status: 'refused'; error: ServiceError } {
  if (error instanceof ServiceError) return { status: 'refused', error }
  throw error
}

const refusedAttempt = (
  caller: Caller,
  ehrId: string,
  { kind: { collection } }: BatchItem,
  outcome: 'denied' | 'refused',
): AuditedAccess[] =>
  accessWithoutRecords({ collection, ehr: 'ehrId' }, caller, { action: 'create', outcome }, { ehrId })
