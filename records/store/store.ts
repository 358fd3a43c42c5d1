import type { Static, TObject } from '@sinclair/typebox'
import type { Collection, IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Access } from './audit/trail.ts'
import { Decisions, type Expected } from './decisions.ts'
import { type Caller, type Permissions, permitted } from './documents/caller.ts'
import { isDuplicate, isDuplicateId } from './documents/database.ts'
import { newId } from './documents/ids.ts'
import { type ParseDocument, type ParseFormat, parseFormat, type Saved } from './documents/parse-format.ts'
import { listName } from './reading/cursor.ts'
import { described, toQuery, type Where } from './reading/filter.ts'
import {
  type ListShape,
  listIndex,
  type Page,
  type PageOf,
  type PageQuery,
  readPage,
} from './reading/listing.ts'
import { accessesOf, attemptOf, type Key, type Resource, recordKeyOf } from './resource.ts'
import { type Change, documentAt, listChanges } from './writing/history.ts'
import type { Reading, Records, Transaction } from './writing/transaction.ts'
import { type Into, type Write, Writer } from './writing/writer.ts'

interface Joined {
  /** The transaction to take part in; without one the operation is a transaction of its own. */
  tx?: Transaction | undefined
}

interface Read {
  /** The transaction, or the other reads, to take part in. */
  tx?: Reading | undefined
}

interface Conditional extends Joined {
  expected?: Expected
}

interface Changing {
  permissions?: Permissions
  /** What the change is for those who look at it: it may leave a version that says that there is nothing any more. */
  action?: 'update' | 'delete'
}

/** A change as the families see it. */
export type PastChange<T> = Omit<Change, '_id' | 'at' | 'before'> & { at: string; before: Saved<T> | null }

/**
 * The records of one resource, in Parse's format, for both families. Reads see what `_rperm` lets the caller see,
 * writes need `_wperm`; what a caller may not see does not exist for them. Every write leaves a history entry, and
 * every access to an EHR's data an audit entry: in the write's transaction, or on disk before a read returns.
 *
 *     const plans = new Store(records, {
 *       collection: 'CarePlan', schema: CarePlan, ehr: 'ehrId',
 *       lists: { newest: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
 *     })
 *     const plan = await plans.create(caller, { ehrId, name }, { read: ['role:ehr-1-read'], write: ['role:ehr-1-write'] })
 *     await plans.get(caller, { id: plan.id, ehrId })
 *     await plans.list(caller, 'newest', { where: { ehrId, status: 'ACTIVE' }, limit: 100 })
 *     await plans.update(caller, { id: plan.id, ehrId }, (now) => ({ ...now, name: 'Other' }), { expected: [1] })
 *     await plans.remove(caller, { id: plan.id, ehrId })
 */
export class Store<S extends TObject, L extends string> {
  readonly #records: Records
  readonly #resource: Resource<S, L>
  readonly #format: ParseFormat<Static<S>>
  readonly #documents: Collection<ParseDocument>
  readonly #decisions: Decisions<S>
  readonly #writer: Writer

  constructor(records: Records, resource: Resource<S, L>) {
    this.#records = records
    this.#resource = resource
    this.#format = parseFormat(resource.schema)
    this.#documents = records.db.collection<ParseDocument>(resource.collection)
    this.#decisions = new Decisions(resource, this.#format, records.clock)
    this.#writer = new Writer(records, this.#documents, resource.companion)
  }

  /** The collection and the indexes that it needs: server start creates them. */
  indexes(): [collection: string, IndexDescription[]] {
    const lists = Object.entries<ListShape<Static<S>>>(this.#resource.lists)
    const ofLists = lists.map(([name, shape]) => listIndex(this.#format, name, shape))
    return [this.#resource.collection, [...ofLists, ...(this.#resource.indexes ?? [])]]
  }

  /**
   * Saves a new record. When `id` is given and there is one with it already, an earlier attempt made it, and that one
   * is returned. @throws Conflict when a unique index holds its value already
   */
  async create(
    caller: Caller,
    input: Static<S>,
    permissions: Permissions | Into,
    { tx, id = newId() }: Joined & { id?: string } = {},
  ): Promise<Saved<Static<S>>> {
    try {
      const [created] = await this.createAll(
        caller,
        [{ ...(input as object), id } as Static<S>],
        permissions,
        { tx },
      )
      return created as Saved<Static<S>>
    } catch (error) {
      if (!tx && isDuplicateId(error)) return this.get(caller, { id } as Key<Static<S>>)
      throw asConflict(error)
    }
  }

  /** Saves new records under the same permissions, together or not at all. An `id` among the input is taken over. */
  async createAll(
    caller: Caller,
    inputs: ReadonlyArray<Static<S> & { id?: string }>,
    permissions: Permissions | Into,
    { tx }: Joined = {},
  ): Promise<Saved<Static<S>>[]> {
    if (inputs.length === 0) return []
    const into = 'permissions' in permissions ? permissions : undefined
    const decide: Write<Saved<Static<S>>[]>['decide'] = (_, holder) =>
      this.#decisions.created(caller, inputs, permissions, holder)
    return this.#writer.write({ id: null, into, decide }, tx)
  }

  /** @throws NotFound, also for what the caller may not read */
  async get(caller: Caller, key: Key<Static<S>>, { tx }: Read = {}): Promise<Saved<Static<S>>> {
    const filter = { ...toQuery(this.#format, key as Where<Static<S>>), ...permitted('_rperm', caller) }
    const document = await this.#documents.findOne(filter, tx?.session ? { session: tx.session } : {})
    if (!document) {
      await this.#report(
        undefined,
        attemptOf(this.#resource, caller, { action: 'read', outcome: 'denied' }, key),
      )
      throw new ServiceError('NotFound')
    }
    const record = this.#format.fromStored(document)
    await this.#report(tx, accessesOf(this.#resource, caller, { action: 'read' }, [record]))
    return record
  }

  /** One page of a list that the resource declares. @throws MalformedRequest for a cursor of another list */
  async list(
    caller: Caller,
    name: L,
    query: PageQuery<Static<S>>,
    { tx }: Read = {},
  ): Promise<Page<Saved<Static<S>>>> {
    const list = { name: listName(this.#resource.collection, name), ...this.#resource.lists[name] }
    const page = await readPage(
      this.#documents,
      this.#format,
      list,
      permitted('_rperm', caller),
      query,
      tx?.session,
    )
    const items = page.items.map((document) => this.#format.fromStored(document))
    const what = { action: 'query', asked: `${name}: ${described(query.where)}` } as const
    const seen = accessesOf(this.#resource, caller, what, items)
    const nothing = attemptOf(this.#resource, caller, { ...what, outcome: 'done' }, query.where)
    await this.#report(tx, items.length > 0 ? seen : nothing)
    return { ...page, items }
  }

  /**
   * Replaces a record by what `change` makes of it; a field that is left out is removed. When another write comes in
   * between, `change` is asked again about what that one left, unless `expected` names versions.
   * @throws NotFound; Forbidden for one who may only read; PreconditionFailed with the current version
   */
  async update(
    caller: Caller,
    key: Key<Static<S>>,
    change: (now: Saved<Static<S>>) => Static<S>,
    { tx, expected, permissions, action = 'update' }: Conditional & Changing = {},
  ): Promise<Saved<Static<S>>> {
    return this.#write(caller, action, key, tx, (found) =>
      this.#decisions.updated(caller, key, found, change, { expected, permissions, action }),
    )
  }

  /** Updates several records as a part of a transaction, with an audit entry for all. @throws as update */
  async updateAll(
    caller: Caller,
    ids: readonly string[],
    change: (now: Saved<Static<S>>) => Static<S>,
    tx: Transaction,
  ): Promise<Saved<Static<S>>[]> {
    const free = { expected: undefined, permissions: undefined, action: 'update' as const }
    const writes = ids.map((id) => ({
      id,
      decide: (found: ParseDocument | null) => ({
        ...this.#decisions.updated(caller, { id } as Key<Static<S>>, found, change, free),
        accesses: [],
      }),
    }))
    const updated = await this.#writer.writeAll(writes, tx)
    tx.accesses.push(...accessesOf(this.#resource, caller, { action: 'update' }, updated))
    return updated
  }

  /** @throws as update */
  async remove(caller: Caller, key: Key<Static<S>>, { tx, expected }: Conditional = {}): Promise<void> {
    await this.#write(caller, 'delete', key, tx, (found) =>
      this.#decisions.removed(caller, key, found, expected),
    )
  }

  /** Who changed the record, when and what, newest first. @throws NotFound; MalformedRequest for a foreign cursor */
  async history(caller: Caller, key: Key<Static<S>>, page: PageOf): Promise<Page<PastChange<Static<S>>>> {
    const record = recordKeyOf(this.#resource, await this.get(caller, key))
    const { items, ...rest } = await listChanges(this.#records.db, record, page)
    return {
      ...rest,
      items: items.map(({ _id, at, before, ...change }) => ({
        ...change,
        at: at.toISOString(),
        before: before && this.#format.fromStored(before),
      })),
    }
  }

  /** A record that was read as a former version had it; undefined: that version is not known. */
  async versionOf(
    caller: Caller,
    now: Saved<Static<S>>,
    version: number,
  ): Promise<Saved<Static<S>> | undefined> {
    const former = await documentAt(this.#records.db, recordKeyOf(this.#resource, now), version)
    if (!former) return undefined
    await this.#report(undefined, accessesOf(this.#resource, caller, { action: 'read' }, [now]))
    return this.#format.fromStored(former)
  }

  /**
   * Makes a former version the newest one. `rule` sees both, and gives what is to be saved.
   * @throws as update; NotFound too when that version is not known
   */
  async restore(
    caller: Caller,
    key: Key<Static<S>>,
    version: number,
    rule: (now: Saved<Static<S>>, former: Saved<Static<S>>) => Static<S>,
    options: Conditional = {},
  ): Promise<Saved<Static<S>>> {
    const record = recordKeyOf(this.#resource, await this.get(caller, key, options))
    const former = await documentAt(this.#records.db, record, version)
    if (!former) throw new ServiceError('NotFound', { detail: `There is no former version ${version}.` })
    return this.update(caller, key, (now) => rule(now, this.#format.fromStored(former)), options)
  }

  /** Does a write, and leaves an audit entry of it also when it is refused. */
  async #write<R>(
    caller: Caller,
    action: 'update' | 'delete',
    key: Key<Static<S>>,
    tx: Transaction | undefined,
    decide: Write<R>['decide'],
  ): Promise<R> {
    try {
      return await this.#writer.write({ id: key.id, decide }, tx)
    } catch (fault) {
      const error = asConflict(fault)
      if (!(error instanceof ServiceError)) throw error
      const outcome = error.error === 'NotFound' ? 'denied' : 'refused'
      await this.#report(undefined, attemptOf(this.#resource, caller, { action, outcome }, key))
      throw error
    }
  }

  async #report(tx: Reading | undefined, accesses: Access[]): Promise<void> {
    if (tx) tx.accesses.push(...accesses)
    else await this.#records.audit.record(...accesses)
  }
}

/** What a unique index holds already is a conflict. */
const asConflict = (fault: unknown): unknown =>
  isDuplicate(fault)
    ? new ServiceError('Conflict', { detail: 'A record with these values already exists.', cause: fault })
    : fault
