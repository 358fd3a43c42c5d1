import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { fromPath, namesOf, ofFields } from '../../schemas/forms/fields.ts'
import { isContainer, removeContents, untilRemoved } from '../ehrs/removal/removal.ts'
import { plansOfParticipant } from '../ehrs/rights/readable.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { ListShape, Page, PageOf, PageQuery } from '../store/reading/listing.ts'
import type { Resource } from '../store/resource.ts'
import { type PastChange, Store } from '../store/store.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { holdersIn, inTurn, into, type Place, placed, takeTurn } from './into.ts'
import { type ClassKind, ruledFor } from './kind.ts'
import { auditingRefusal, refuseViolations } from './refusals/refusals.ts'
import { isLimited, requireRoom } from './refusals/room.ts'
import { validChange, validNew } from './rules.ts'

/** The id, and where the path says that it belongs: all must be true. */
export interface Key {
  id: string
  ehrId: string
  carePlanId?: string | undefined
  goalId?: string | undefined
}

/** The versions that the caller accepts to overwrite, and the transaction to take part in. */
export interface Writing {
  /** Whether an earlier attempt of the same request may have done it. */
  again?: boolean
  expected?: Expected
  tx?: Transaction | undefined
}

/** A body in which null stands for what is left out. */
type Body = Record<string, unknown>

/** Only what is set. */
export const set = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], null> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], null>
  }

const defaultsOf = ofFields(
  (fields): Body =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, { default: value }]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
)

/** What is set of a body, and the defaults of what is not. */
const withDefaults = (fields: TProperties, body: object): Body => ({
  ...defaultsOf(fields),
  ...set(fromPath(fields, body)),
})

/** How a new record's status begins, where it has one. */
const beginningOf = ofFields((fields) =>
  Object.fromEntries(namesOf(fields, 'status').map((name) => [name, 'ACTIVE'])),
)

/** Checks that the place whose list is requested exists for the caller. @throws NotFound */
export interface Holders {
  ehr(caller: Caller, ehrId: string): Promise<unknown>
  plan(caller: Caller, key: { id: string; ehrId: string }): Promise<unknown>
}

/** Which records of an EHR are asked for; times and days as the field has them that the list is sorted by. */
export interface Range {
  carePlanId?: string | undefined
  /** Inclusive. */
  from?: string | undefined
  /** Exclusive. */
  to?: string | undefined
  /** By the kind's own filters. */
  [filter: string]: string | undefined
}

/** A kind with what its store needs of it. */
export type RegisteredKind<S extends TObject, L extends string> = Omit<
  ClassKind,
  'schema' | 'lists' | 'ehr'
> &
  Resource<S, L>

/** The records of one kind in the EHRs, in so far as they are like any other kind's. */
export class Registered<S extends TObject, L extends string> {
  readonly kind: RegisteredKind<S, L>
  readonly store: Store<S, L>
  readonly #records: Records
  readonly #holders: Holders

  constructor(records: Records, kind: RegisteredKind<S, L>, holders: Holders) {
    this.#records = records
    this.#holders = holders
    this.kind = kind
    this.store = new Store(records, kind)
  }

  /** The collections and the indexes that they need: server start creates them. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.store.indexes()]
  }

  /** Those that the caller may read, in the kind's order. @throws NotFound when the EHR, or the plan, is none of theirs */
  async list(
    caller: Caller,
    ehrId: string,
    { carePlanId, from, to, ...query }: Range,
    page: PageOf,
  ): Promise<Page<Saved<Static<S>>>> {
    const either = await this.#placesOf(caller, { ehrId, carePlanId })
    const name = (carePlanId === undefined ? 'ofEhr' : 'ofPlan') as L
    const own = Object.entries(this.kind.filters ?? {}).flatMap(([filter, { where }]) => {
      const value = query[filter]
      return value === undefined ? [] : Object.entries(where(value))
    })
    const where = {
      ...{ ehrId, carePlanId, [this.kind.lists[name].sort]: { from, to } },
      ...Object.fromEntries(own),
    }
    return this.listed(caller, { ehrId, carePlanId }, () =>
      this.store.list(caller, name, { where, either, ...page } as PageQuery<Static<S>>),
    )
  }

  /** Where it is looked for, when not in the whole EHR: of a plan, and for who only takes part in plans, by the plans' index. */
  async #placesOf(caller: Caller, { ehrId, carePlanId }: Place): Promise<object[] | undefined> {
    const { lists, outsidePlans } = this.kind
    const byPlan = (lists as Record<string, ListShape<Static<S>>>).ofPlan?.by.join() === 'carePlanId'
    const implied = { ehrId: { checked: ehrId } }
    if (carePlanId !== undefined) return byPlan ? [implied] : undefined
    if (!byPlan || !outsidePlans) return undefined
    const plans = await plansOfParticipant(this.#records, caller, ehrId)
    if (!plans) return undefined
    return [{ ...implied, carePlanId: plans.length === 1 ? plans[0] : { in: plans } }, outsidePlans]
  }

  /** A list, and when nothing is in it whether there is what it is a list of. @throws NotFound */
  async listed<T>(
    caller: Caller,
    { ehrId, carePlanId }: Place,
    list: () => Promise<Page<T>>,
  ): Promise<Page<T>> {
    const found = await list()
    if (found.items.length > 0) return found
    if (carePlanId === undefined) await this.#holders.ehr(caller, ehrId)
    else await this.#holders.plan(caller, { id: carePlanId, ehrId })
    return found
  }

  /** @throws NotFound */
  get(caller: Caller, key: Key): Promise<Saved<Static<S>>> {
    return this.store.get(caller, storeKey(key))
  }

  /**
   * @param place what the request's path says of it
   * @throws NotFound; Forbidden for one who may only read the EHR, or the plan; RuleViolated
   */
  create(caller: Caller, place: Place, body: object, id: string): Promise<Saved<Static<S>>> {
    return unlessMade(
      () =>
        auditingRefusal(this.#records, caller, this.kind.collection, place.ehrId, () =>
          this.createIn(caller, place, body, id),
        ),
      () => this.get(caller, { id, ...place }),
    )
  }

  /** The same, perhaps as a part of a transaction, and not audited when it is refused. */
  async createIn(
    caller: Caller,
    place: Place,
    body: object,
    id: string,
    tx?: Transaction,
  ): Promise<Saved<Static<S>>> {
    const kind = this.kind as unknown as ClassKind
    const record = await this.newRecord(place, body)
    if (!isLimited(kind)) return this.store.create(caller, record, into(kind, id, record), { id, tx })
    const work = (tx: Transaction) => this.#createLimited(tx, caller, record, id)
    return tx ? work(tx) : inTransaction(this.#records, work)
  }

  /** What a body makes, with all that follows from it. @throws RuleViolated */
  async newRecord(place: Place, body: object): Promise<Static<S> & Place> {
    const { fields } = this.kind
    const input = { ...withDefaults(fields, body), ...beginningOf(fields), ...place }
    const kind = await ruledFor(this.#records, this.kind as unknown as ClassKind, input)
    return validNew(kind, input) as Static<S> & Place
  }

  /** One of those of which there may be only so many: they are counted in their EHR's turn. */
  async #createLimited(
    tx: Transaction,
    caller: Caller,
    record: Static<S> & Place,
    id: string,
  ): Promise<Saved<Static<S>>> {
    const kind = this.kind as unknown as ClassKind
    const find = holdersIn(this.#records, tx.session)
    const { permissions } = await placed(find, caller, kind, id, record)
    // Nobody waits for those who may not.
    await takeTurn(this.#records, tx, record.ehrId)
    await requireRoom(this.#records, kind, { ...record, id }, tx.session)
    return this.store.create(caller, record, permissions, { tx, id })
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(caller: Caller, key: Key, body: object, options: Writing): Promise<Saved<Static<S>>> {
    const given = withDefaults(this.kind.fields, body)
    return this.change(caller, key, (now) => ({ ...this.#staying(now), ...given }), options)
  }

  /** @throws as replace */
  protected async change(
    caller: Caller,
    key: Key,
    change: (now: Saved<Static<S>>) => object,
    { expected, tx }: Writing,
  ): Promise<Saved<Static<S>>> {
    const kind = await this.#ruled(key)
    const next = (now: Saved<Static<S>>) => this.validated(caller, now, change(now), kind)
    return this.store.update(caller, storeKey(key), next, { expected, tx })
  }

  /** The kind with the rules that hold for one of its records; what decides about them stays as it was made. */
  async #ruled({ id }: Key): Promise<ClassKind> {
    const kind = this.kind as unknown as ClassKind
    if (!kind.rulesFor) return kind
    const found = await documentsOf(this.#records, kind.collection).findOne({ _id: id })
    return found ? ruledFor(this.#records, kind, found) : kind
  }

  /** With what hangs on it. @throws NotFound; Forbidden; PreconditionFailed */
  async remove(caller: Caller, key: Key, { expected }: Writing): Promise<void> {
    const { collection } = this.kind
    if (!isContainer(collection)) return this.store.remove(caller, storeKey(key), { expected })
    await inTurn(this.#records, key.ehrId, async (tx) => {
      await this.store.remove(caller, storeKey(key), { expected, tx })
      await removeContents(this.#records, tx, caller, collection, key)
    })
    await untilRemoved(this.#records, collection, key.id)
  }

  /** Who changed it, when and what, newest first. @throws NotFound */
  history(caller: Caller, key: Key, page: PageOf): Promise<Page<PastChange<Static<S>>>> {
    return this.store.history(caller, storeKey(key), page)
  }

  /** Brings back what a former version said. @throws as replace; NotFound for a version that is not known */
  async restore(caller: Caller, key: Key, version: number, { expected }: Writing): Promise<Saved<Static<S>>> {
    const kind = await this.#ruled(key)
    const rule = (now: Saved<Static<S>>, former: Saved<Static<S>>) =>
      this.validated(caller, now, { ...(former as object), ...this.#staying(now) }, kind)
    return this.store.restore(caller, storeKey(key), version, rule, { expected })
  }

  /** What becomes of a record, with what follows from it. @throws RuleViolated */
  protected validated(
    caller: Caller,
    now: Saved<Static<S>>,
    next: object,
    kind = this.kind as unknown as ClassKind,
  ): Static<S> {
    refuseViolations(kind.reserved?.(caller, now as Body, next as Body) ?? [])
    return validChange(kind, now as object, set(next)) as Static<S>
  }

  /** What no replacement has to repeat. */
  #staying(now: Saved<Static<S>>): Body {
    const { place, fields } = this.kind
    const names = [...Object.keys(place), ...namesOf(fields, 'fixed', 'status')]
    return Object.fromEntries(names.map((name) => [name, (now as Body)[name]]))
  }
}

/** The types cannot tell that each kind has the fields of its place. */
const storeKey = (key: Key) => key as never
