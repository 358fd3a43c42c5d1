import { type Static, Type } from '@sinclair/typebox'
import { PROFILE_COLLECTIONS } from '../../records/profiles/storage/profile-collections.ts'
import type { SavedRecord } from '../../records/store/documents/parse-format.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'

/** The criteria and the channel of a subscription. */
const subscriptionRecord = Type.Object({
  userId: Type.String(),
  /** The grant of the app that created it; empty: the user has logged in. */
  admission: Type.String(),
  status: Type.String(),
  reason: Type.String(),
  /** The canonical URI of its topic; without one, its criteria are a search as in R4. */
  topic: Type.Optional(Type.String()),
  /** The search whose results it is about; a topic may do without. */
  criteria: Type.Optional(Type.String()),
  end: Type.String(),
})

export type SubscriptionFields = Static<typeof subscriptionRecord>
export type StoredSubscription = SavedRecord<SubscriptionFields>

/** Its data belong to the user: they are exported and erased with the account. */
export const SUBSCRIPTION = {
  collection: PROFILE_COLLECTIONS.subscription,
  schema: subscriptionRecord,
  lists: { own: { requiredFields: ['userId', 'admission'], sort: 'createdAt', order: 'desc' } },
} as const

export const MAX_SUBSCRIPTION_DAYS = 30
export const latestEnd = (now: Date): Date => new Date(now.getTime() + MAX_SUBSCRIPTION_DAYS * DAY_MS)

export const isActive = ({ status, end }: Pick<SubscriptionFields, 'status' | 'end'>, now: Date): boolean =>
  status === 'active' && end > now.toISOString()
