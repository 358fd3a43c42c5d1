import type { ClientSession, Collection, Db, IndexDescription } from 'mongodb'
import type { RecordChange } from '../../records/history/changes.ts'
import { ownedIdRange } from '../../records/profiles/storage/owner.ts'
import { idsWithPrefix } from '../../records/store/documents/ids.ts'

/** The position of a subscription in the log of changes, and the number of its events so far. */
export interface SubscriptionProgress {
  _id: string
  /** The position in the log of changes. */
  position: string
  /** The history has nothing new for it before its start. */
  startedAt: Date
  checkedAt: Date
  count: number
}

/** An event of a subscription: a resource was created, changed or deleted. */
export interface StoredSubscriptionEvent {
  /** Subscription and number. */
  _id: string
  ehrId: string
  /** Kind, id and version of the record. */
  change: string
  action: RecordChange['action']
  resourceId: string
  at: Date
  expiresAt: Date
}

export const EVENT_RETENTION_MS = 7 * 86_400_000

/** No Parse class can have a name with a dot, so the class family never reaches the collections. */
export const progressCollection = (db: Db): Collection<SubscriptionProgress> =>
  db.collection<SubscriptionProgress>('fhir.subscription_progress')

export const eventCollection = (db: Db): Collection<StoredSubscriptionEvent> =>
  db.collection<StoredSubscriptionEvent>('fhir.subscription_events')

export const subscriptionEventIndexes = (db: Db): [collection: string, IndexDescription[]][] => [
  [progressCollection(db).collectionName, []],
  [eventCollection(db).collectionName, [{ name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 }]],
]

const DIGITS = 12

export const eventId = (subscriptionId: string, number: number): string =>
  `${subscriptionId}/${String(Math.min(number, 10 ** DIGITS - 1)).padStart(DIGITS, '0')}`

export const eventNumberOf = ({ _id }: StoredSubscriptionEvent): number => Number(_id.slice(-DIGITS))

/** The ids of the events of a subscription. */
export const eventIdRange = (subscriptionId: string): { $gte: string; $lt: string } =>
  idsWithPrefix(`${subscriptionId}/`)

/** Deletes the events of an account that ends. */
export async function forgetSubscriptionEvents(
  db: Db,
  session: ClientSession,
  userId: string,
): Promise<void> {
  await progressCollection(db).deleteMany({ _id: ownedIdRange(userId) }, { session })
  await eventCollection(db).deleteMany({ _id: ownedIdRange(userId) }, { session })
}
