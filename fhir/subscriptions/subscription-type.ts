import type { IndexDescription } from 'mongodb'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ownedRecordId } from '../../records/profiles/storage/owner.ts'
import { lockProfile } from '../../records/profiles/storage/profile-lock.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import { Store } from '../../records/store/store.ts'
import { createOrFindExisting } from '../../records/store/writing/create-or-find-existing.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { requireKnownModifier } from '../outcome/issue.ts'
import { droppedElements, refuseFaults } from '../resources/sent-resource.ts'
import { searchInMemory } from '../search/search-in-memory.ts'
import { matchesPeriod } from '../search/search-period.ts'
import type { ResourceSearch, SearchCriterion } from '../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  ResourceSource,
  ResourceType,
  ResourceWrite,
} from '../sources/resource-source.ts'
import { subscriptionEventIndexes } from './stored-events.ts'
import { topicOf } from './subscription-criteria.ts'
import { SubscriptionEvents } from './subscription-events.ts'
import {
  isActive,
  type StoredSubscription,
  SUBSCRIPTION,
  type SubscriptionFields,
} from './subscription-record.ts'
import { readSubscription, SUBSCRIPTION_PROFILE, showSubscription } from './subscription-resource.ts'

/** Subscriptions of a user, or of an app to which the user has given access. */
const MAX_SUBSCRIPTIONS = 20

const BACKPORT_OPERATIONS = 'http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition'

const tooManyError = () =>
  new ServiceError('RuleViolated', {
    violations: [
      {
        path: 'Subscription',
        code: 'too-costly',
        message: `would exceed the limit of ${MAX_SUBSCRIPTIONS} subscriptions. Delete one first`,
      },
    ],
  })

const helperError = () =>
  new ServiceError('Forbidden', { detail: 'You act for another person. Only they can subscribe.' })

/** Whose subscriptions a caller uses: an app has those of its grant. @throws Forbidden for a helper */
function ownerOf({ userId, app, helper }: Caller): Pick<SubscriptionFields, 'userId' | 'admission'> {
  if (helper) throw helperError()
  return { userId, admission: app?.grantId ?? '' }
}

/** A subscription lies in the compartment of no patient; its events do. */
const asOwner = (caller: Caller): Caller => ({ ...caller, compartment: undefined })

/** The subscriptions of users. Nobody else sees them. */
export class FhirSubscriptions implements ResourceSource {
  readonly events: SubscriptionEvents
  readonly #context: StoreContext
  readonly #store

  constructor(types: readonly ResourceType[], services: FhirServices) {
    this.#context = services.context
    this.events = new SubscriptionEvents(types, services)
    this.#store = new Store(services.context, SUBSCRIPTION)
  }

  /** @throws NotFound */
  find(caller: Caller, id: string): Promise<StoredSubscription> {
    return this.#store.get(asOwner(caller), this.#keyOf(caller, id))
  }

  /** Whether there are events to come. An app may have lost its scope meanwhile. */
  async isActive(caller: Caller, id: string): Promise<boolean> {
    const subscription = await this.#store.find(asOwner(caller), this.#keyOf(caller, id))
    return (
      subscription !== undefined &&
      isActive(subscription, this.#context.clock()) &&
      this.events.maySearch(caller, subscription)
    )
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    return this.show(await this.find(caller, id))
  }

  async search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchInMemory((await this.#listOwn(caller)).map(this.show), search, matches)
  }

  async create(
    caller: Caller,
    resource: FhirResource,
    newId: string,
    { tx, onDropped }: ResourceWrite,
  ): Promise<FhirResource> {
    const fields = await this.#check(caller, resource, onDropped)
    const position = await this.events.position()
    const id = ownedRecordId(caller.userId, newId)
    const create = async (within: Transaction) => {
      await this.#requireCapacity(caller, within)
      await this.events.start(within.session, id, position)
      const owners = [caller.userId]
      return this.#store.create(asOwner(caller), fields, { read: owners, write: owners }, { tx: within, id })
    }
    const subscription = tx
      ? await create(tx)
      : await createOrFindExisting(
          () => runStoreTransaction(this.#context, create),
          () => this.find(caller, newId),
        )
    return this.show(subscription)
  }

  async update(
    caller: Caller,
    id: string,
    resource: FhirResource,
    { expected, tx, onDropped }: ResourceWrite,
  ): Promise<FhirResource> {
    const before = await this.find(caller, id)
    const fields = await this.#check(caller, resource, onDropped)
    const position = await this.events.position()
    const update = async (within: Transaction) => {
      const subscription = await this.#store.update(asOwner(caller), this.#keyOf(caller, id), () => fields, {
        tx: within,
        expected,
      })
      // Changes during a pause are not reported.
      if (!isActive(before, this.#context.clock()))
        await this.events.start(within.session, subscription.id, position)
      return subscription
    }
    return this.show(await (tx ? update(tx) : runStoreTransaction(this.#context, update)))
  }

  async remove(caller: Caller, id: string, { expected, tx }: ResourceWrite): Promise<void> {
    const key = this.#keyOf(caller, id)
    const remove = async (within: Transaction) => {
      await this.#store.remove(asOwner(caller), key, { tx: within, expected })
      await this.events.remove(within.session, key.id)
    }
    await (tx ? remove(tx) : runStoreTransaction(this.#context, remove))
  }

  /** @throws RuleViolated; Forbidden for an app without a scope for the search */
  async #check(
    caller: Caller,
    resource: FhirResource,
    onDropped: ResourceWrite['onDropped'],
  ): Promise<SubscriptionFields> {
    const now = this.#context.clock()
    const { fields, violations, criteriaPath } = readSubscription(resource, now)
    const record = { ...fields, ...ownerOf(caller) }
    const faults = [...violations]
    if (!faults.some(({ path }) => path === criteriaPath))
      await this.events.tryCriteria(caller, fields).catch((error) => {
        if (!(error instanceof ServiceError) || error.error !== 'InvalidInput') throw error
        for (const { path, code, message } of error.violations)
          faults.push({ path: criteriaPath, code, message: `is not supported: ${path} ${message}` })
      })
    const storedResource = showSubscription({ ...record, ...NO_METADATA }, now)
    const droppedPaths = droppedElements(resource, storedResource, {
      accepted: { status: ['requested'] },
      profile: SUBSCRIPTION_PROFILE,
    })
    refuseFaults(faults, droppedPaths, onDropped)
    return record
  }

  /** Removes the subscriptions of the user that have ended. @throws RuleViolated if there are too many others */
  async #requireCapacity(caller: Caller, tx: Transaction): Promise<void> {
    const { userId } = caller
    await lockProfile(this.#context, tx, userId)
    const endedSubscriptions = documentCollection(this.#context, SUBSCRIPTION.collection)
      .find({ userId, end: { $lt: this.#context.clock().toISOString() } }, { projection: { _id: 1 } })
      .toArray()
    for (const { _id: id } of await endedSubscriptions) {
      await this.#store.removeUnaudited(asOwner(caller), { id }, { tx })
      await this.events.remove(tx.session, id)
    }
    if ((await this.#listOwn(caller, tx)).length >= MAX_SUBSCRIPTIONS) throw tooManyError()
  }

  async #listOwn(caller: Caller, tx?: Transaction): Promise<StoredSubscription[]> {
    const query = { where: ownerOf(caller), limit: MAX_SUBSCRIPTIONS }
    return (await this.#store.list(asOwner(caller), 'own', query, { tx })).items
  }

  #keyOf(caller: Caller, id: string) {
    return { id: ownedRecordId(caller.userId, id), ...ownerOf(caller) }
  }

  show = (subscription: StoredSubscription): FhirResource =>
    showSubscription(subscription, this.#context.clock())
}

/** Metadata of a subscription that is not stored yet. */
const NO_METADATA = { id: '', version: 1, createdAt: '', updatedAt: '' }

/** @throws InvalidInput */
function matches(subscription: FhirResource, criterion: SearchCriterion): boolean {
  requireKnownModifier(criterion)
  const { name, values } = criterion
  const { lastUpdated } = subscription.meta as { lastUpdated: string }
  return values.some((text) =>
    name === '_lastUpdated'
      ? matchesPeriod(lastUpdated, name, text)
      : name === 'criteria'
        ? String(subscription.criteria).startsWith(text)
        : subscription[name === '_id' ? 'id' : name] === text,
  )
}

/** The collections of subscriptions and their events. */
export const subscriptionIndexes = (context: StoreContext): [collection: string, IndexDescription[]][] => [
  new Store(context, SUBSCRIPTION).indexes(),
  ...subscriptionEventIndexes(context.db),
]

/** Subscriptions to the resources of these types. */
export const subscriptionType = (types: readonly ResourceType[]): ResourceType => ({
  type: 'Subscription',
  plural: 'your subscriptions',
  profiles: [SUBSCRIPTION_PROFILE],
  interactions: ['read', 'search-type', 'create', 'update', 'delete'],
  operations: {
    status: `${BACKPORT_OPERATIONS}/backport-subscription-status`,
    events: `${BACKPORT_OPERATIONS}/backport-subscription-events`,
  },
  readers: 'account',
  topics: types.map(({ type }) => topicOf(type)),
  parameters: {
    _id: { type: 'token', description: 'Id of the subscription' },
    _lastUpdated: { type: 'date', description: 'Time of the last change' },
    status: { type: 'token', description: 'Status: active or off' },
    criteria: { type: 'string', description: 'Beginning of the criteria' },
  },
  sortedBy: undefined,
  open: (services) => new FhirSubscriptions(types, services),
})
