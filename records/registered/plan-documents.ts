import { Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Caller } from '../store/documents/caller.ts'
import { Store } from '../store/store.ts'
import { inTransaction, type Records } from '../store/writing/transaction.ts'
import { type PlanPlace, requireWritablePlan, takeTurn } from './into.ts'
import type { Kind } from './kind.ts'
import { auditingRefusal } from './refusals/refusals.ts'
import type { Holders, Writing } from './registered.ts'

/** What is kept of a plan as a whole is kept as text: no query and no database trips over what its properties are called. */
const schema = Type.Object({ ehrId: Type.String(), carePlanId: Type.String(), json: Type.String() })

/**
 * A kind of which each care plan has one, under the plan's own id.
 * @param collection a name that no class can have: the class family never reaches it
 */
export const planDocument = (collection: string, words: Kind['words']) =>
  ({
    collection,
    schema,
    words,
    ehr: 'ehrId',
    registeredIn: 'plan',
    lists: { ofPlan: { by: ['carePlanId'], sort: 'createdAt', order: 'asc' } },
    indexes: [{ key: { ehrId: 1 } }],
  }) as const

/** 0 is the version of what was never saved. */
interface PlanObject<T> {
  value: T
  version: number
}

/** What is kept of care plans: one JSON object of each, saved as a whole. */
export class PlanDocuments<T extends object> {
  readonly #records: Records
  readonly #holders: Pick<Holders, 'plan'>
  readonly #kind: ReturnType<typeof planDocument>
  readonly #store

  constructor(records: Records, holders: Pick<Holders, 'plan'>, kind: ReturnType<typeof planDocument>) {
    this.#records = records
    this.#holders = holders
    this.#kind = kind
    this.#store = new Store(records, kind)
  }

  indexes(): [collection: string, IndexDescription[]] {
    return this.#store.indexes()
  }

  /** Empty when nothing was saved yet. @throws NotFound */
  async get(caller: Caller, { ehrId, carePlanId }: PlanPlace): Promise<PlanObject<T>> {
    const where = { ehrId, carePlanId }
    const { items } = await this.#store.list(caller, 'ofPlan', { where, limit: 1 })
    if (items[0]) return { value: JSON.parse(items[0].json), version: items[0].version }
    await this.#holders.plan(caller, { id: carePlanId, ehrId })
    return { value: {} as T, version: 0 }
  }

  /** @throws NotFound; Forbidden for one who may only read the plan; PreconditionFailed */
  save(
    caller: Caller,
    { ehrId, carePlanId }: PlanPlace,
    value: T,
    { expected }: Writing,
  ): Promise<PlanObject<T>> {
    const place = { ehrId, carePlanId }
    const saved = { ...place, json: JSON.stringify(value) }
    return auditingRefusal(this.#records, caller, this.#kind.collection, ehrId, () =>
      inTransaction(this.#records, async (tx) => {
        const permissions = await requireWritablePlan(this.#records, tx, caller, place)
        await takeTurn(this.#records, tx, ehrId)
        const { items } = await this.#store.list(caller, 'ofPlan', { where: place, limit: 1 }, { tx })
        const id = items[0]?.id
        if (id === undefined && Array.isArray(expected) && !expected.includes(0)) {
          throw new ServiceError('PreconditionFailed', { version: 0 })
        }
        const { version } =
          id === undefined
            ? await this.#store.create(caller, saved, permissions, { tx, id: carePlanId })
            : await this.#store.update(caller, { id, ...place }, () => saved, { tx, expected })
        return { value, version }
      }),
    )
  }
}
