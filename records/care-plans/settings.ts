import { Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { type PlanPlace, requireWritablePlan, takeTurn } from '../registered/into.ts'
import { auditingRefusal } from '../registered/refusals.ts'
import type { Writing } from '../registered/registered.ts'
import type { Caller } from '../store/documents/caller.ts'
import { Store } from '../store/store.ts'
import { inTransaction, type Records } from '../store/writing/transaction.ts'
import type { PlanRecords } from './contents/stores.ts'

/** The settings are kept as text: whatever their properties are called, no query and no database trips over them. */
const schema = Type.Object({ ehrId: Type.String(), carePlanId: Type.String(), json: Type.String() })

export type SettingsObject = Record<string, unknown>

/** 0 is the version of settings that were never saved. */
interface Settings {
  settings: SettingsObject
  version: number
}

/** A name that no class can have: the class family never reaches it. */
export const PlanSettings = {
  collection: 'plan.settings',
  schema,
  ehr: 'ehrId',
  registeredIn: 'plan',
  words: { en: 'settings', nl: 'instellingen' },
  lists: { ofPlan: { by: ['carePlanId'], sort: 'createdAt', order: 'asc' } },
  indexes: [{ key: { ehrId: 1 } }],
} as const

/** What clients keep of a care plan as they like: one JSON object, saved as a whole. */
export class SettingsOfPlans {
  readonly #records: Records
  readonly #plans: PlanRecords['plans']
  readonly #store

  constructor(records: Records, plans: PlanRecords['plans']) {
    this.#records = records
    this.#plans = plans
    this.#store = new Store(records, PlanSettings)
  }

  indexes(): [collection: string, IndexDescription[]] {
    return this.#store.indexes()
  }

  /** Empty when nothing was saved yet. @throws NotFound */
  async get(caller: Caller, { ehrId, carePlanId }: PlanPlace): Promise<Settings> {
    const where = { ehrId, carePlanId }
    const { items } = await this.#store.list(caller, 'ofPlan', { where, limit: 1 })
    if (items[0]) return { settings: JSON.parse(items[0].json), version: items[0].version }
    await this.#plans.get(caller, { id: carePlanId, ehrId })
    return { settings: {}, version: 0 }
  }

  /** @throws NotFound; Forbidden for one who may only read the plan; PreconditionFailed */
  save(
    caller: Caller,
    { ehrId, carePlanId }: PlanPlace,
    settings: SettingsObject,
    { expected }: Writing,
  ): Promise<Settings> {
    const place = { ehrId, carePlanId }
    const saved = { ...place, json: JSON.stringify(settings) }
    return auditingRefusal(this.#records, caller, PlanSettings.collection, ehrId, () =>
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
        return { settings, version }
      }),
    )
  }
}
