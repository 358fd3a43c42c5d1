import type { TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { unnamedFor } from '../ehrs/rights/anonymity.ts'
import type { Batches, Outcome, Sent } from '../measurements/batches.ts'
import type { Registered } from '../registered/registered.ts'
import { type Caller, permitted } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf, PageQuery } from '../store/reading/listing.ts'
import type { Records } from '../store/writing/transaction.ts'

/** What a list of a user's data is narrowed by. */
export interface DataFilter {
  type?: string | undefined
  from?: string | undefined
  to?: string | undefined
  carePlanId?: string | undefined
  /** The serial number of the device that measured. */
  device?: string | undefined
}

/** What became of a measurement, and in which EHR. */
export type StoredOutcome = Outcome & { ehrId: string }

/** Their fields do not matter here. */
type AnyRecords = Registered<TObject, string>

interface Kinds {
  measurements: AnyRecords
  occurrences: AnyRecords
}

/** A user's own data, whichever of their EHRs they are in. */
export class UserData {
  readonly #records: Records
  readonly #batches: Batches
  readonly #kinds: Kinds

  constructor(records: Records, batches: Batches, kinds: Kinds) {
    this.#records = records
    this.#batches = batches
    this.#kinds = kinds
  }

  /**
   * The EHRs about a user that the caller may read, the oldest first; a participant of anonymous plans does not find them by
   * the user.
   * @throws NotFound when there is none, unless the user asks
   */
  async ehrsOf(caller: Caller, mvUid: string): Promise<string[]> {
    const about = { subjectId: mvUid, pending: { $ne: true }, ...permitted('_rperm', caller) }
    const found = documentsOf(this.#records, 'Ehr').find(about, { projection: { _id: 1 } })
    const ids = (await found.sort({ _created_at: 1 }).toArray()).map(({ _id }) => _id)
    const named = caller.userId === mvUid ? ids : await this.#named(caller, ids)
    if (named.length === 0 && caller.userId !== mvUid) throw new ServiceError('NotFound')
    for (const id of named) caller.onAccess?.(id)
    return named
  }

  async #named(caller: Caller, ids: readonly string[]): Promise<string[]> {
    const unnamed = await unnamedFor(this.#records, caller)
    return ids.filter((id) => !unnamed.has(id))
  }

  /** Newest first. @throws NotFound */
  async list(
    caller: Caller,
    mvUid: string,
    what: keyof Kinds,
    { type, from, to, carePlanId, device }: DataFilter,
    page: PageOf,
  ): Promise<Page<Saved<object>>> {
    const ehrs = await this.ehrsOf(caller, mvUid)
    if (ehrs.length === 0) return { items: [], next: null, prev: null, ...(page.count && { total: 0 }) }
    const { store } = this.#kinds[what]
    const [only] = ehrs
    const typed = type !== undefined && { [what === 'measurements' ? 'dataType' : 'eventType']: type }
    const where = {
      ...(ehrs.length === 1 ? { ehrId: only } : carePlanId !== undefined && { ehrId: { in: ehrs } }),
      ...{ ...typed, carePlanId, timestamp: { from, to } },
      ...(device !== undefined && { deviceSerial: device }),
    }
    const either =
      ehrs.length === 1 || carePlanId !== undefined ? undefined : ehrs.map((ehrId) => ({ ehrId }))
    const name = carePlanId !== undefined ? 'ofPlan' : type === undefined ? 'ofEhr' : 'ofType'
    return store.list(caller, name, { where, either, ...page } as PageQuery<never>)
  }

  /**
   * Stores measurements, each in the EHR of its care plan.
   * @returns what became of each, in their order
   * @throws NotFound when the caller reaches none of the EHRs, or none of the plans; Forbidden when they may write none
   */
  async store(caller: Caller, mvUid: string, sent: readonly Sent[]): Promise<StoredOutcome[]> {
    const ehrs = await this.ehrsOf(caller, mvUid)
    const plans = await this.#ehrsOfPlans(sent.map(({ body }) => planIn(body)))
    const placeOf = ({ body }: Sent): string => {
      const ehrId = plans.get(planIn(body))
      return ehrId !== undefined && ehrs.includes(ehrId) ? ehrId : (ehrs[0] ?? '')
    }
    const outcomes = new Map<Sent, StoredOutcome>()
    const faults: ServiceError[] = []
    const groups = [...new Set(sent.map(placeOf))]
    for (const ehrId of groups) {
      const those = sent.filter((one) => placeOf(one) === ehrId)
      const stored = await this.#batches.store(caller, ehrId, those).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || !['NotFound', 'Forbidden'].includes(error.error)) throw error
        faults.push(error)
        return those.map((): Outcome => ({ status: 'refused', error }))
      })
      for (const [i, one] of those.entries()) outcomes.set(one, { ...(stored[i] as Outcome), ehrId })
    }
    if (faults.length === groups.length && faults[0]) throw faults[0]
    return sent.map((one) => outcomes.get(one) as StoredOutcome)
  }

  /** @throws NotFound; Forbidden; RuleViolated; TooManyRequests */
  async addOccurrence(
    caller: Caller,
    mvUid: string,
    body: object,
    id: string,
  ): Promise<Saved<{ ehrId: string }>> {
    const ehrs = await this.ehrsOf(caller, mvUid)
    const ehrId = (await this.#ehrsOfPlans([planIn(body)])).get(planIn(body))
    const place = { ehrId: ehrId !== undefined && ehrs.includes(ehrId) ? ehrId : (ehrs[0] ?? '') }
    const stored = await this.#kinds.occurrences.create(caller, place, body, id)
    return stored as unknown as Saved<{ ehrId: string }>
  }

  async #ehrsOfPlans(ids: readonly string[]): Promise<Map<string, string>> {
    const plans = documentsOf(this.#records, 'CarePlan').find({ _id: { $in: [...new Set(ids)] } })
    const found = await plans.project<{ _id: string; ehrId: string }>({ ehrId: 1 }).toArray()
    return new Map(found.map(({ _id, ehrId }) => [_id, ehrId]))
  }
}

/** What fits its schema names one. */
const planIn = (body: object): string => String((body as { carePlanId?: unknown }).carePlanId)
