import type { ClientSession } from 'mongodb'
import { isContainerClass } from '../../records/ehrs/deletion/cascading-deletion.ts'
import { type ContentRecord, findContents } from '../../records/ehrs/deletion/hidden-contents.ts'
import { type ChangedRecord, parseChangeId, type RecordChange } from '../../records/history/changes.ts'
import { hiddenDeletion, listChanges } from '../../records/history/listed-changes.ts'
import { formatPosition, parsePosition } from '../../records/live/change-log.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { runStoreTransaction, type StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { MAX_SEARCHED_PATIENTS, searchedEhrIds } from '../resources/patients-of-caller.ts'
import { mayFind, requireScope } from '../sources/app-limits.ts'
import { limitToApp } from '../sources/limited-source.ts'
import { criterionOf, type SearchCriterion } from '../sources/resource-search.ts'
import type {
  FhirServices,
  ResourceSource,
  ResourceType,
  ResourceVersion,
} from '../sources/resource-source.ts'
import {
  EVENT_RETENTION_MS,
  eventCollection,
  eventId,
  eventIdRange,
  eventNumberOf,
  progressCollection,
  type StoredSubscriptionEvent,
  type SubscriptionProgress,
} from './stored-events.ts'
import { parseCriteria, type SubscriptionCriteria } from './subscription-criteria.ts'
import { isActive, type StoredSubscription, type SubscriptionFields } from './subscription-record.ts'

/** The newest events are kept; a client notices by their numbers that it has missed others. */
const MAX_KEPT_EVENTS = 10_000
/** Changes that are looked up in the history if the log no longer has them. */
const MAX_RECOVERED_CHANGES = 2000
/** The clocks of instances differ at most by this. */
const CLOCK_TOLERANCE_MS = 600_000
/** A position this far behind is renewed even if there was no event: the log keeps batches for an hour. */
const MAX_LAG_BATCHES = 60

/** A change of the record of a resource. */
interface ResourceChange {
  change: ChangedRecord & Pick<RecordChange, 'action' | 'at'>
  resourceId: string
}

interface EhrCollections {
  ehrIds: readonly string[]
  collections: readonly string[]
}

interface SearchedType {
  description: ResourceType
  source: ResourceSource
}

/** The part of an event that a subscriber gets. */
export interface SubscriptionEvent {
  number: number
  at: Date
  /** The resource as it is now; undefined if the subscriber may not read it, or if it is deleted since. */
  focus: ResourceVersion | undefined
}

const changeKey = ({ collection, id, version }: ChangedRecord) => `${collection}/${id}/${version}`

/** A record that is there again, with its container. */
const returnOf = (
  { collection, id, ehrId, document }: ContentRecord,
  change: RecordChange,
): RecordChange => ({
  ...change,
  collection,
  id,
  ehrId,
  version: Number(document.version),
  before: null,
  after: document,
})

const versionOf = (type: string, { change, resourceId }: ResourceChange): ResourceVersion => {
  const { version, action, at } = change
  return { type, id: resourceId, version, action, at: at.toISOString(), resource: undefined }
}

const isDeletion = ({ change }: ResourceChange) => change.action === 'delete'

/**
 * The events of subscriptions. Each read advances the subscription through the change log: changes that then match its
 * criteria, in a search by the caller, become events with the next numbers. So rights, scopes and audit are those of
 * searches, nothing runs while nobody reads, and all instances serve all subscriptions.
 * @see docs/decisions/fhir-subscriptions.md
 */
export class SubscriptionEvents {
  readonly #context: StoreContext
  readonly #changes: FhirServices['feed']
  readonly #types: ReadonlyMap<string, SearchedType>
  readonly #descriptions: readonly ResourceType[]

  constructor(types: readonly ResourceType[], services: FhirServices) {
    this.#context = services.context
    this.#changes = services.feed
    this.#descriptions = types
    this.#types = new Map(
      types.map((description) => [description.type, { description, source: description.open(services) }]),
    )
  }

  /** Searches once, so that every fault of the criteria shows. @throws InvalidInput; Forbidden for an app without a scope */
  async tryCriteria(caller: Caller, fields: Pick<SubscriptionFields, 'topic' | 'criteria'>): Promise<void> {
    const { type, criteria } = parseCriteria(this.#descriptions, fields)
    await this.#search(caller, type, criteria, 1)
  }

  get #feed(): NonNullable<FhirServices['feed']> {
    if (!this.#changes) throw new Error('Exports do not follow changes')
    return this.#changes
  }

  /** The position from which a new subscription begins. @throws Unavailable */
  async position(): Promise<string> {
    return formatPosition(await this.#feed.position())
  }

  /** Starts a subscription, or starts it again after a pause. */
  async start(session: ClientSession, id: string, position: string): Promise<void> {
    const now = this.#context.clock()
    await progressCollection(this.#context.db).updateOne(
      { _id: id },
      { $set: { position, startedAt: now, checkedAt: now }, $setOnInsert: { count: 0 } },
      { upsert: true, session },
    )
  }

  async remove(session: ClientSession, id: string): Promise<void> {
    await progressCollection(this.#context.db).deleteOne({ _id: id }, { session })
    await eventCollection(this.#context.db).deleteMany({ _id: eventIdRange(id) }, { session })
  }

  /**
   * The events with numbers in a range, which begins with the first one that is kept, and the number of all events.
   * @throws as a search
   */
  async list(
    caller: Caller,
    subscription: StoredSubscription,
    { from, to, limit }: { from: number; to: number; limit: number },
  ): Promise<{ count: number; events: SubscriptionEvent[] }> {
    await this.#advance(caller, subscription)
    const { id } = subscription
    const { count } = await this.#progressOf(id)
    const storedEvents = await eventCollection(this.#context.db)
      .find({ _id: { $gte: eventId(id, from), $lte: eventId(id, to) } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray()
    return { count, events: await this.#show(caller, subscription, storedEvents) }
  }

  /** Names the resources that the caller can still read. */
  async #show(
    caller: Caller,
    subscription: StoredSubscription,
    storedEvents: readonly StoredSubscriptionEvent[],
  ): Promise<SubscriptionEvent[]> {
    const { type } = parseCriteria(this.#descriptions, subscription)
    const numberedChanges = storedEvents.map((one) => ({
      number: eventNumberOf(one),
      change: { ...parseChangeId(one.change), ehrId: one.ehrId, action: one.action, at: one.at },
      resourceId: one.resourceId,
    }))
    const readable = new Set(await this.#keepReadable(caller, { type, criteria: [] }, numberedChanges))
    return numberedChanges.map((one) => ({
      number: one.number,
      at: one.change.at,
      focus: readable.has(one) ? versionOf(type, one) : undefined,
    }))
  }

  /** Whether the app of the caller, if there is one, has a scope for the search of a subscription. */
  maySearch(caller: Caller, subscription: StoredSubscription): boolean {
    const { type } = parseCriteria(this.#descriptions, subscription)
    return mayFind(caller, this.#typeOf(type).description)
  }

  /**
   * Creates a check whether a change may become an event of a subscription.
   * @throws InvalidInput for too many patients; Forbidden for an app without a scope
   */
  async watch(
    caller: Caller,
    subscription: StoredSubscription,
  ): Promise<{ ehrCollections: EhrCollections; concerns(change: ChangedRecord): boolean }> {
    const { type, criteria } = parseCriteria(this.#descriptions, subscription)
    const { description, source } = this.#typeOf(type)
    requireScope(caller, description, 'search-type')
    const ehrIds = await searchedEhrIds(this.#context, caller, criteria)
    const { collections = [] } = source
    return {
      ehrCollections: { ehrIds, collections },
      concerns: ({ ehrId, collection }) =>
        ehrId !== null &&
        ehrIds.includes(ehrId) &&
        (collections.includes(collection) || isContainerClass(collection)),
    }
  }

  /** Turns all changes until now into events. Several instances may do this at the same time. */
  async #advance(caller: Caller, subscription: StoredSubscription): Promise<void> {
    if (!isActive(subscription, this.#context.clock())) return
    for (let isBehind = true; isBehind; ) isBehind = !(await this.#advanceOnce(caller, subscription))
  }

  /** @returns false if another instance has advanced the subscription in the meantime */
  async #advanceOnce(caller: Caller, subscription: StoredSubscription): Promise<boolean> {
    const search = parseCriteria(this.#descriptions, subscription)
    const { ehrCollections, concerns } = await this.watch(caller, subscription)
    let progress: SubscriptionProgress | undefined = await this.#progressOf(subscription.id)
    const from = parsePosition(progress.position)
    const to = await this.#feed.position()
    const changeBatches = from && (await this.#feed.changesBetween(from, to, concerns))
    const match = (changes: readonly RecordChange[]) => this.#match(caller, search, changes)
    if (!changeBatches) {
      const recovered = await this.#findInHistory(caller, progress, ehrCollections)
      const matches = await match(recovered.changes)
      return (await this.#append(progress, matches, formatPosition(to), recovered.gap)) !== undefined
    }
    for await (const changes of changeBatches) {
      const { changesWithContents, gap } = await this.#withContents(caller, search, changes)
      progress = await this.#append(
        progress,
        await match(changesWithContents),
        String(changes.at(-1)?.position),
        gap,
      )
      if (!progress) return false
    }
    const isFarBehind = to.batch - from.batch > MAX_LAG_BATCHES
    return !isFarBehind || (await this.#append(progress, [], formatPosition(to))) !== undefined
  }

  /** Adds the records that a deleted container has hidden, and those that have returned with one. */
  async #withContents(
    caller: Caller,
    { type, hasDeletions }: SubscriptionCriteria,
    changes: readonly RecordChange[],
  ): Promise<{ changesWithContents: RecordChange[]; gap: number }> {
    const { collections = [] } = this.#typeOf(type).source
    const changesWithContents: RecordChange[] = []
    let gap = 0
    for (const change of changes) {
      changesWithContents.push(change)
      const isDeleted = change.action === 'delete'
      const isBack = change.action === 'create' && change.version > 1
      if (!isContainerClass(change.collection) || !(isDeleted ? hasDeletions : isBack)) continue
      const container = { className: change.collection, id: change.id, isDeleted }
      const contents = await findContents(
        this.#context,
        caller,
        container,
        collections,
        MAX_RECOVERED_CHANGES,
      )
      if (!contents) gap = 1
      for (const one of contents ?? [])
        changesWithContents.push(isDeleted ? hiddenDeletion(one, change) : returnOf(one, change))
    }
    return { changesWithContents, gap }
  }

  /** Finds the changes that match the criteria now, for each resource that they have changed. */
  async #match(
    caller: Caller,
    search: SubscriptionCriteria,
    changes: readonly RecordChange[],
  ): Promise<ResourceChange[]> {
    const { source } = this.#typeOf(search.type)
    const resourceChanges = changes.flatMap((change) =>
      (source.versionsOf?.(change) ?? []).map(({ id: resourceId, action }): ResourceChange => {
        // An update of a record may delete a part of it.
        return { change: action === 'delete' ? { ...change, action } : change, resourceId }
      }),
    )
    const reportedChanges = resourceChanges.filter((one) => search.hasDeletions || !isDeletion(one))
    return this.#keepReadable(caller, search, reportedChanges)
  }

  /** Keeps the changes of resources that a search by the caller finds: among the deleted ones for deletions. */
  async #keepReadable<C extends ResourceChange>(
    caller: Caller,
    search: Pick<SubscriptionCriteria, 'type' | 'criteria'>,
    resourceChanges: readonly C[],
  ): Promise<C[]> {
    const deletions = resourceChanges.filter(isDeletion)
    const writes = resourceChanges.filter((one) => !isDeletion(one))
    const deletedIds = await this.#findDeleted(caller, search, deletions)
    const readableIds = await this.#findReadable(caller, search, writes)
    return resourceChanges.filter((one) => (isDeletion(one) ? deletedIds : readableIds).has(one.resourceId))
  }

  async #findReadable(
    caller: Caller,
    { type, criteria }: Pick<SubscriptionCriteria, 'type' | 'criteria'>,
    resourceChanges: readonly ResourceChange[],
  ): Promise<Set<string>> {
    const ehrIds = [...new Set(resourceChanges.map(({ change }) => String(change.ehrId)))]
    const readable = new Set<string>()
    for (let i = 0; i < ehrIds.length; i += MAX_SEARCHED_PATIENTS) {
      const batchEhrIds = ehrIds.slice(i, i + MAX_SEARCHED_PATIENTS)
      const batch = resourceChanges.filter(({ change }) => batchEhrIds.includes(String(change.ehrId)))
      const ids = batch.map(({ resourceId }) => resourceId)
      const batchCriteria = [...criteria, criterionOf('patient', batchEhrIds), criterionOf('_id', ids)]
      const matches = await this.#search(caller, type, batchCriteria, ids.length)
      for (const { id } of matches.resources) readable.add(String(id))
    }
    return readable
  }

  async #findDeleted(
    caller: Caller,
    { type, criteria }: Pick<SubscriptionCriteria, 'type' | 'criteria'>,
    deletions: readonly ResourceChange[],
  ): Promise<Set<string>> {
    const { description, source } = this.#typeOf(type)
    if (!source.searchDeleted || deletions.length === 0) return new Set()
    const limited = limitToApp(description, 'search-type', source)
    const records = new Map(deletions.map(({ change }) => [changeKey(change), change]))
    return new Set(await limited.searchDeleted(caller, { criteria }, [...records.values()]))
  }

  #search(caller: Caller, type: string, criteria: readonly SearchCriterion[], count: number) {
    const { description, source } = this.#typeOf(type)
    const search = { criteria, count, order: undefined, after: undefined, total: false }
    return limitToApp(description, 'search-type', source).search(caller, search)
  }

  /** The changes that the log of changes no longer has, since nobody has asked for an hour. */
  async #findInHistory(
    caller: Caller,
    { _id, startedAt, checkedAt }: SubscriptionProgress,
    ehrCollections: EhrCollections,
  ): Promise<{ changes: RecordChange[]; gap: number }> {
    const overlap = new Date(checkedAt.getTime() - CLOCK_TOLERANCE_MS)
    const since = overlap > startedAt ? overlap : startedAt
    const limit = MAX_RECOVERED_CHANGES + 1
    const listedChanges = await listChanges(this.#context.db, caller, {
      ...ehrCollections,
      since,
      from: undefined,
      limit,
    })
    const events = await eventCollection(this.#context.db)
      .find(
        { _id: eventIdRange(_id), at: { $gte: since } },
        { projection: { change: 1, action: 1, resourceId: 1 } },
      )
      .toArray()
    const eventKeys = new Set(
      events.flatMap(({ change, action, resourceId }) =>
        // A part is deleted with its record, or by an update of it.
        (resourceId === parseChangeId(change).id ? [action] : [action, 'update']).map(
          (one) => `${change} ${one}`,
        ),
      ),
    )
    const changes = listedChanges
      .slice(0, MAX_RECOVERED_CHANGES)
      .filter((one) => !eventKeys.has(`${changeKey(one)} ${one.action}`))
    return { changes: changes.reverse(), gap: listedChanges.length > MAX_RECOVERED_CHANGES ? 1 : 0 }
  }

  /**
   * Stores the next events, with the position after them.
   * @param gap numbers to leave out, by which clients notice that changes are missing
   * @returns undefined if another instance has advanced the subscription
   */
  #append(
    before: SubscriptionProgress,
    matches: readonly ResourceChange[],
    position: string,
    gap = 0,
  ): Promise<SubscriptionProgress | undefined> {
    const { db, clock } = this.#context
    const { _id } = before
    const now = clock()
    const first = before.count + gap + 1
    const after = { ...before, position, checkedAt: now, count: before.count + gap + matches.length }
    const events = matches.map(
      ({ change, resourceId }, i): StoredSubscriptionEvent => ({
        _id: eventId(_id, first + i),
        ehrId: String(change.ehrId),
        change: changeKey(change),
        action: change.action,
        resourceId,
        at: change.at,
        expiresAt: new Date(now.getTime() + EVENT_RETENTION_MS),
      }),
    )
    return runStoreTransaction(this.#context, async ({ session }) => {
      const filter = { _id, position: before.position, count: before.count }
      const { matchedCount } = await progressCollection(db).replaceOne(filter, after, { session })
      if (matchedCount === 0) return undefined
      if (events.length === 0) return after
      await eventCollection(db).insertMany(events, { session })
      const oldest = after.count - MAX_KEPT_EVENTS
      if (oldest > 0)
        await eventCollection(db).deleteMany(
          { _id: { $gte: eventId(_id, 0), $lte: eventId(_id, oldest) } },
          { session },
        )
      return after
    })
  }

  async #progressOf(id: string): Promise<SubscriptionProgress> {
    const progress = await progressCollection(this.#context.db).findOne({ _id: id })
    // It has been deleted in the meantime.
    if (!progress) throw new ServiceError('NotFound')
    return progress
  }

  #typeOf = (type: string): SearchedType => this.#types.get(type) as SearchedType
}
