import { setImmediate as others } from 'node:timers/promises'
import type { TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import { holdersIn, into, type PlanPlace, placed } from '../registered/into.ts'
import type { ClassKind } from '../registered/kind.ts'
import { auditingRefusal } from '../registered/refusals/refusals.ts'
import type { Holders, Registered } from '../registered/registered.ts'
import type { Access } from '../store/audit/trail.ts'
import type { Caller } from '../store/documents/caller.ts'
import { attemptOf } from '../store/resource.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { takeAlone } from '../store/writing/turns.ts'

/** One measurement of a batch; its body fits the schema of its kind. */
export interface Sent {
  kind: ClassKind
  body: object
  id: string
}

/** What became of it. `known`: it was stored before, and the id is that of the record then made. */
export type Outcome =
  | { status: 'stored' | 'known'; id: string; warnings: Violation[] }
  | { status: 'refused'; error: ServiceError }

/** One that its rules let pass. */
interface Ready extends Sent {
  record: PlanPlace & { fingerprint: string; warnings: Violation[] }
}

/** Records that were stored before are looked for among this many: nobody stores the same ten times. */
const MOST_KNOWN = 10_000

/** So many are checked before others have their turn: also the batch before, which waits for the database. */
const CHECKED_AT_ONCE = 50

/** Measurements of any kinds that are stored together, each for itself: what refuses one does not touch the others. */
export class Batches {
  readonly #records: Records
  readonly #holders: Holders
  readonly #recordsOf: (kind: ClassKind) => Registered<TObject, string>

  constructor(
    records: Records,
    holders: Holders,
    recordsOf: (kind: ClassKind) => Registered<TObject, string>,
  ) {
    this.#records = records
    this.#holders = holders
    this.#recordsOf = recordsOf
  }

  /**
   * Stores them in one transaction with their history and one audit entry for each kind.
   * @returns what became of each, in their order
   * @throws NotFound when the caller reaches none of the plans, or not the EHR; Forbidden when they may write none
   */
  async store(caller: Caller, ehrId: string, sent: readonly Sent[]): Promise<Outcome[]> {
    const checked: (Ready | Outcome)[] = []
    for (let i = 0; i < sent.length; i += CHECKED_AT_ONCE) {
      const some = sent.slice(i, i + CHECKED_AT_ONCE)
      checked.push(...(await Promise.all(some.map((one) => this.#checked(ehrId, one)))))
      await others()
    }
    const ready = checked.flatMap((one) => ('record' in one ? [one] : []))
    const attempts = sent.flatMap((one, i) =>
      'status' in (checked[i] ?? {}) ? attempt(caller, ehrId, one, 'refused') : [],
    )
    const first = ready[0]
    if (!first) {
      await this.#holders.ehr(caller, ehrId)
      await this.#records.audit.record(...attempts)
      return checked as Outcome[]
    }
    const stored = await auditingRefusal(this.#records, caller, first.kind.collection, ehrId, () =>
      inTransaction(
        this.#records,
        (tx) => {
          tx.accesses.push(...attempts)
          return this.#storeIn(tx, caller, ehrId, ready)
        },
        { inLineFor: [ehrId] },
      ),
    )
    return checked.map((one) => ('record' in one ? (stored.get(one) as Outcome) : one))
  }

  async #checked(ehrId: string, one: Sent): Promise<Ready | Outcome> {
    try {
      const record = await this.#recordsOf(one.kind).newRecord({ ehrId }, one.body)
      return { ...one, record: record as object as Ready['record'] }
    } catch (error) {
      return refusal(error)
    }
  }

  /** Rights are checked, and plans read, once for each plan. */
  async #storeIn(
    tx: Transaction,
    caller: Caller,
    ehrId: string,
    ready: readonly Ready[],
  ): Promise<Map<Ready, Outcome>> {
    const outcomes = new Map<Ready, Outcome>()
    const barred: ServiceError[] = []
    const plans = grouped(ready, ({ record }) => record.carePlanId)
    for (const [carePlanId, ofPlan] of plans) {
      const error = await this.#fault(tx, caller, { ehrId, carePlanId })
      if (error) for (const one of ofPlan) outcomes.set(one, { status: 'refused', error })
      else await this.#storeInPlan(tx, caller, { ehrId, carePlanId }, ofPlan, outcomes)
      if (!error) continue
      const outcome = error.error === 'NotFound' ? 'denied' : 'refused'
      for (const one of ofPlan) tx.accesses.push(...attempt(caller, ehrId, one, outcome))
      if (error.error !== 'RuleViolated') barred.push(error)
    }
    if (barred.length === plans.size) throw barred.find(({ error }) => error === 'Forbidden') ?? barred[0]
    caller.onAccess?.(ehrId)
    return outcomes
  }

  /** What forbids to register anything in a plan. */
  async #fault(tx: Transaction, caller: Caller, place: PlanPlace): Promise<ServiceError | undefined> {
    const find = holdersIn(this.#records, tx.session)
    const ofEhr = { permissions: () => ({ read: [], write: [] }) }
    return placed(find, caller, ofEhr, '', place).then(
      () => undefined,
      (error) => refusal(error).error,
    )
  }

  async #storeInPlan(
    tx: Transaction,
    caller: Caller,
    place: PlanPlace,
    ready: readonly Ready[],
    outcomes: Map<Ready, Outcome>,
  ): Promise<void> {
    // Nobody adds what is looked for while it is looked for.
    await takeAlone(this.#records, tx, [place.ehrId])
    for (const [kind, ofKind] of grouped(ready, ({ kind }) => kind)) {
      const { store } = this.#recordsOf(kind)
      const same = {
        ehrId: place.ehrId,
        fingerprint: { in: ofKind.map(({ record }) => record.fingerprint) },
      }
      const found = await store.list(caller, 'same', { where: same, limit: MOST_KNOWN } as never, { tx })
      const known = new Map((found.items as unknown as Known[]).map((one) => [one.fingerprint, one.id]))
      const fresh: Ready[] = []
      for (const one of ofKind) {
        const { fingerprint, warnings } = one.record
        const before = known.get(fingerprint)
        // An earlier attempt of the same request may have stored it.
        const status = before === undefined || before === one.id ? 'stored' : 'known'
        outcomes.set(one, { status, id: before ?? one.id, warnings })
        if (before !== undefined) continue
        fresh.push(one)
        known.set(fingerprint, one.id)
      }
      const admitted = await this.#admitted(tx, kind, fresh, outcomes)
      const inputs = admitted.map(({ record, id }) => ({ ...record, id }))
      await store.createAll(caller, inputs as never[], into(kind, '', place), { tx })
    }
  }

  /** Those of which there are not enough yet. */
  async #admitted(
    tx: Transaction,
    kind: ClassKind,
    fresh: Ready[],
    outcomes: Map<Ready, Outcome>,
  ): Promise<Ready[]> {
    if (!kind.admission) return fresh
    const values = fresh.map(({ record, id }) => ({ ...record, id }))
    const refusals = await kind.admission(this.#records, values, tx.session)
    return fresh.filter((one, i) => {
      const error = refusals[i]
      if (error) outcomes.set(one, { status: 'refused', error })
      return error === undefined
    })
  }
}

interface Known {
  id: string
  fingerprint: string
}

/** @throws what is no refusal */
function refusal(error: unknown): { status: 'refused'; error: ServiceError } {
  if (error instanceof ServiceError) return { status: 'refused', error }
  throw error
}

const attempt = (
  caller: Caller,
  ehrId: string,
  { kind: { collection } }: Sent,
  outcome: 'denied' | 'refused',
): Access[] => attemptOf({ collection, ehr: 'ehrId' }, caller, { action: 'create', outcome }, { ehrId })

function grouped<T, K>(all: readonly T[], keyOf: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const one of all) {
    const group = groups.get(keyOf(one))
    if (group) group.push(one)
    else groups.set(keyOf(one), [one])
  }
  return groups
}
