import type { TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import type { EhrRecords } from '../ehr-records/ehr-records.ts'
import { findAnonymizedEhrs } from '../ehrs/rights/anonymity.ts'
import type { BatchItem, BatchItemOutcome, MeasurementBatches } from '../measurements/measurement-batches.ts'
import { type Caller, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { Page, PageQuery, PageRequest } from '../store/reading/pages.ts'
import { accessWithoutRecords } from '../store/resource.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { resolveType } from '../types/type-registry.ts'

/** Filters of a list of a user's data. */
export interface DataFilter {
  type?: string | undefined
  from?: string | undefined
  to?: string | undefined
  carePlanId?: string | undefined
  /** The serial number of the measuring device. */
  device?: string | undefined
}

/** The outcome of one measurement, and its EHR. */
export type OutcomeInEhr = BatchItemOutcome & { ehrId: string }

/** Here the fields do not matter. */
type AnyRecords = EhrRecords<TObject, string>

interface UserDataRecords {
  measurements: AnyRecords
  occurrences: AnyRecords
}

/** A user's data, across all EHRs about the user. */
export class UserData {
  readonly #context: StoreContext
  readonly #batches: MeasurementBatches
  readonly #kinds: UserDataRecords

  constructor(context: StoreContext, batches: MeasurementBatches, kinds: UserDataRecords) {
    this.#context = context
    this.#batches = batches
    this.#kinds = kinds
  }

  /**
   * The EHRs about a user that the caller may read, oldest first. Leaves out EHRs that the caller only knows
   * from anonymous plans, because finding them by the user would reveal the subject.
   * @throws NotFound when there is none, unless the user asks
   */
  async findEhrs(caller: Caller, mvUid: string): Promise<string[]> {
    const subjectFilter = { subjectId: mvUid, pending: { $ne: true }, ...permissionFilter('_rperm', caller) }
    const ehrs = documentCollection(this.#context, 'Ehr').find(subjectFilter, { projection: { _id: 1 } })
    const ids = (await ehrs.sort({ _created_at: 1 }).toArray()).map(({ _id }) => _id)
    const visibleIds = caller.userId === mvUid ? ids : await this.#withoutAnonymized(caller, ids)
    if (visibleIds.length === 0 && caller.userId !== mvUid) {
      await this.#recordDenial(caller, mvUid)
      throw new ServiceError('NotFound')
    }
    for (const id of visibleIds) caller.onAccess?.(id)
    return visibleIds
  }

  /** Each EHR about a user tells who wanted the data of that user. */
  async #recordDenial(caller: Caller, mvUid: string): Promise<void> {
    const subjectFilter = { subjectId: mvUid, pending: { $ne: true } }
    const ehrCursor = documentCollection(this.#context, 'Ehr').find(subjectFilter, { projection: { _id: 1 } })
    const ehrs = await ehrCursor.limit(MAX_DENIED_EHRS).toArray()
    const denial = { action: 'read', outcome: 'denied' } as const
    const resource = { collection: 'Ehr', ehr: 'id' } as const
    const entries = ehrs.flatMap(({ _id: id }) => accessWithoutRecords(resource, caller, denial, { id }))
    await this.#context.audit.record(...entries)
  }

  async #withoutAnonymized(caller: Caller, ids: readonly string[]): Promise<string[]> {
    const anonymizedIds = await findAnonymizedEhrs(this.#context, caller)
    return ids.filter((id) => !anonymizedIds.has(id))
  }

  /** Lists the data, newest first. @throws NotFound, also for an unknown event type */
  async list(
    caller: Caller,
    mvUid: string,
    kind: keyof UserDataRecords,
    { type, from, to, carePlanId, device }: DataFilter,
    page: PageRequest,
  ): Promise<Page<SavedRecord<object>>> {
    const ehrs = await this.findEhrs(caller, mvUid)
    if (kind === 'occurrences') await this.#requireEventType(type)
    if (ehrs.length === 0) return { items: [], next: null, prev: null, ...(page.count && { total: 0 }) }
    const { store } = this.#kinds[kind]
    const [only] = ehrs
    const typeFilter = type !== undefined && { [kind === 'measurements' ? 'dataType' : 'eventType']: type }
    const where = {
      ...(ehrs.length === 1 ? { ehrId: only } : carePlanId !== undefined && { ehrId: { in: ehrs } }),
      ...typeFilter,
      carePlanId,
      timestamp: { from, to },
      ...(device !== undefined && { deviceSerial: device }),
    }
    const either =
      ehrs.length === 1 || carePlanId !== undefined ? undefined : ehrs.map((ehrId) => ({ ehrId }))
    const name = carePlanId !== undefined ? 'ofPlan' : type === undefined ? 'ofEhr' : 'ofType'
    return store.list(caller, name, { where, either, ...page } as PageQuery<never>)
  }

  /**
   * Stores measurements, each in the EHR of its care plan.
   * @returns the outcome of each, in the same order
   * @throws NotFound when the caller sees none of the EHRs or none of the plans; Forbidden when they may
   * write to none
   */
  async store(caller: Caller, mvUid: string, items: readonly BatchItem[]): Promise<OutcomeInEhr[]> {
    const ehrs = await this.findEhrs(caller, mvUid)
    const plans = await this.#findEhrsOfPlans(items.map(({ body }) => carePlanIdOf(body)))
    const ehrIdOf = ({ body }: BatchItem): string => {
      const ehrId = plans.get(carePlanIdOf(body))
      return ehrId !== undefined && ehrs.includes(ehrId) ? ehrId : (ehrs[0] ?? '')
    }
    const outcomes = new Map<BatchItem, OutcomeInEhr>()
    const faults: ServiceError[] = []
    const groups = [...new Set(items.map(ehrIdOf))]
    for (const ehrId of groups) {
      const itemsOfEhr = items.filter((one) => ehrIdOf(one) === ehrId)
      const groupOutcomes = await this.#batches.store(caller, ehrId, itemsOfEhr).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || !['NotFound', 'Forbidden'].includes(error.error)) throw error
        faults.push(error)
        return itemsOfEhr.map((): BatchItemOutcome => ({ status: 'refused', error }))
      })
      for (const [i, one] of itemsOfEhr.entries())
        outcomes.set(one, { ...(groupOutcomes[i] as BatchItemOutcome), ehrId })
    }
    if (faults.length === groups.length && faults[0]) throw faults[0]
    return items.map((one) => outcomes.get(one) as OutcomeInEhr)
  }

  /** @throws NotFound, also for an unknown event type; Forbidden; RuleViolated; TooManyRequests */
  async addOccurrence(
    caller: Caller,
    mvUid: string,
    body: { eventType: string },
    id: string,
  ): Promise<SavedRecord<{ ehrId: string }>> {
    const ehrs = await this.findEhrs(caller, mvUid)
    await this.#requireEventType(body.eventType)
    const ehrId = (await this.#findEhrsOfPlans([carePlanIdOf(body)])).get(carePlanIdOf(body))
    const parentIds = { ehrId: ehrId !== undefined && ehrs.includes(ehrId) ? ehrId : (ehrs[0] ?? '') }
    const occurrence = await this.#kinds.occurrences.create(caller, parentIds, body, id)
    return occurrence as unknown as SavedRecord<{ ehrId: string }>
  }

  /** The path names the event type, so an unknown one is not found. @throws NotFound */
  async #requireEventType(name: string | undefined): Promise<void> {
    if (name === undefined || (await resolveType(this.#context, 'event', name))) return
    throw new ServiceError('NotFound', { detail: 'There is no event type with this name.' })
  }

  async #findEhrsOfPlans(ids: readonly string[]): Promise<Map<string, string>> {
    const plans = documentCollection(this.#context, 'CarePlan').find({ _id: { $in: [...new Set(ids)] } })
    const planDocuments = await plans.project<{ _id: string; ehrId: string }>({ ehrId: 1 }).toArray()
    return new Map(planDocuments.map(({ _id, ehrId }) => [_id, ehrId]))
  }
}

/** An account can have an EHR of its own and others, created by others. */
const MAX_DENIED_EHRS = 20

/** The schema guarantees that the body names a plan. */
const carePlanIdOf = (body: object): string => String((body as { carePlanId?: unknown }).carePlanId)
