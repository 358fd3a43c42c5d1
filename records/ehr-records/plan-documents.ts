import { type Static, Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { Store } from '../store/store.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import type { EhrWriteOptions } from './ehr-records.ts'
import type { Kind } from './kind.ts'
import { lockEhrExclusively } from './parents/exclusive-ehr-lock.ts'
import { type PlanParentIds, requireWritablePlan } from './parents/parents.ts'
import { auditRefusedCreation } from './refusals/refusals.ts'

/** The document is stored as JSON text, so that no query or database interprets its property names. */
const planDocumentSchema = Type.Object({
  ehrId: Type.String(),
  carePlanId: Type.String(),
  json: Type.String(),
  /** Time at which the service has to act on the document. */
  dueAt: Type.Optional(Type.String({ format: 'date-time' })),
})

/**
 * Defines a kind of which each care plan has one document, under the plan's id.
 * @param collection a name with a dot, which no Parse class can have: the class family never reaches it
 */
export const definePlanDocument = (
  collection: string,
  words: Kind['words'],
  indexes: readonly IndexDescription[] = [],
) =>
  ({
    collection,
    schema: planDocumentSchema,
    words,
    fhir: { absent: 'Its form is that of one application' },
    ehr: 'ehrId',
    parentType: 'plan',
    lists: { ofPlan: { requiredFields: ['carePlanId'], sort: 'createdAt', order: 'asc' } },
    indexes: [{ key: { ehrId: 1 } }, ...indexes],
  }) as const

export type StoredPlanDocument = Static<typeof planDocumentSchema>

/** Version 0: the document was never saved. */
interface PlanDocument<T> {
  value: T
  version: number
}

/** Documents of care plans: one JSON object per plan, saved as a whole. */
export class PlanDocuments<T extends object> {
  readonly #context: StoreContext
  readonly #kind: ReturnType<typeof definePlanDocument>
  readonly #store

  constructor(context: StoreContext, kind: ReturnType<typeof definePlanDocument>) {
    this.#context = context
    this.#kind = kind
    this.#store = new Store(context, kind)
  }

  indexes(): [collection: string, IndexDescription[]] {
    return this.#store.indexes()
  }

  /** The parents of a care plan's document, for callers who know only the plan. It checks no access. */
  async parentIdsOf(carePlanId: string): Promise<PlanParentIds> {
    const ehr = { projection: { ehrId: 1 } }
    const plan = await documentCollection(this.#context, 'CarePlan').findOne({ _id: carePlanId }, ehr)
    return { ehrId: String(plan?.ehrId ?? ''), carePlanId }
  }

  /** Returns an empty object when none was saved. @throws NotFound */
  async get(caller: Caller, { ehrId, carePlanId }: PlanParentIds): Promise<PlanDocument<T>> {
    const where = { ehrId, carePlanId }
    const { items } = await this.#store.list(caller, 'ofPlan', { where, limit: 1 })
    return items[0]
      ? { value: JSON.parse(items[0].json), version: items[0].version }
      : { value: {} as T, version: 0 }
  }

  /** @throws NotFound; Forbidden without write access to the plan; PreconditionFailed */
  save(
    caller: Caller,
    { ehrId, carePlanId }: PlanParentIds,
    value: T,
    { expected }: EhrWriteOptions,
  ): Promise<PlanDocument<T>> {
    const parentIds = { ehrId, carePlanId }
    return auditRefusedCreation(this.#context, caller, this.#kind.collection, ehrId, () =>
      runStoreTransaction(this.#context, async (tx) => {
        const permissions = await requireWritablePlan(this.#context, tx, caller, parentIds)
        await lockEhrExclusively(this.#context, tx, ehrId)
        const { items } = await this.#store.list(caller, 'ofPlan', { where: parentIds, limit: 1 }, { tx })
        const id = items[0]?.id
        if (id === undefined && Array.isArray(expected) && !expected.includes(0)) {
          throw new ServiceError('PreconditionFailed', { version: 0 })
        }
        const dueAt = this.dueTimeOf(value, items[0])?.toISOString()
        const fields = { ...parentIds, json: JSON.stringify(value), ...(dueAt && { dueAt }) }
        const { version } =
          id === undefined
            ? await this.#store.create(caller, fields, permissions, { tx, id: carePlanId })
            : (
                await this.#store.updateUnaudited(caller, { id, ...parentIds }, () => fields, {
                  tx,
                  expected,
                })
              ).record
        await this.afterSave(tx, parentIds, value)
        return { value, version }
      }),
    )
  }

  /** When the service has to act on a document that is saved now, in place of the stored one. */
  protected dueTimeOf(_value: T, _stored: StoredPlanDocument | undefined): Date | undefined {
    return undefined
  }

  /** Completes the transaction that has saved a document. */
  protected async afterSave(_tx: Transaction, _place: PlanParentIds, _value: T): Promise<void> {}
}
