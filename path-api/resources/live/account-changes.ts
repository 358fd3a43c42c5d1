import type { Static } from '@sinclair/typebox'
import { HELPER_AGREEMENTS, isPartyOf } from '../../../records/accounts/helpers/helper-agreement.ts'
import { isToldToParticipant, Participation } from '../../../records/care-plans/participants/participants.ts'
import { ChatTopic } from '../../../records/chat/chat-kinds.ts'
import type { ChangedRecord, RecordChange } from '../../../records/history/changes.ts'
import type { SubscriptionTopic } from '../../../records/live/subscriptions.ts'
import { PROFILE_COLLECTIONS } from '../../../records/profiles/storage/profile-collections.ts'
import { type Caller, isPermitted } from '../../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { AccountChangeEvent } from '../../../schemas/live/change-events.ts'
import { defineOperation } from '../../operation/operation.ts'
import { EventStreamBody } from '../../reply/event-stream.ts'
import { changesSource, describeStream, streamChanges, streamQuery, toChangeEvent } from './change-streams.ts'

/** Records that concern accounts. Their permissions decide, too: others may read some of them. */
interface AccountRecordKind {
  /** The name that the API has for them. */
  type: string
  /** Decides by the ids, as far as they tell. */
  mayConcern(record: Pick<ChangedRecord, 'id' | 'ehrId'>, mvUid: string): boolean
  /** Decides by the record, where the id does not suffice. */
  concerns?(record: ParseDocument, mvUid: string, participants: RecordChange['participants']): boolean
  /** The path at which the user reads the record. */
  pathOf(record: ParseDocument, mvUid: string): string
}

/** By collection. */
const accountRecordKinds: Readonly<Record<string, AccountRecordKind>> = {
  _User: {
    type: 'Account',
    mayConcern: ({ id }, mvUid) => id === mvUid,
    pathOf: (_, mvUid) => `/auth/account/${mvUid}`,
  },
  [HELPER_AGREEMENTS]: {
    type: 'Helper',
    mayConcern: ({ id }, mvUid) => isPartyOf(id, mvUid),
    pathOf: (agreement, mvUid) =>
      agreement.mvUid === mvUid
        ? `/profile/${mvUid}/helper/${agreement.helperId}`
        : `/profile/${mvUid}/helping/${agreement.mvUid}`,
  },
  [Participation.collection]: {
    type: 'Participation',
    mayConcern: () => true,
    concerns: (participation, mvUid) => participation.mvUid === mvUid,
    pathOf: ({ _id, ehrId, carePlanId }) => `/ehr/${ehrId}/careplan/${carePlanId}/participant/${_id}`,
  },
  CarePlan: {
    type: 'CarePlan',
    mayConcern: () => true,
    concerns: (_, mvUid, participants) => participants?.has(mvUid) === true,
    pathOf: ({ _id, ehrId }) => `/ehr/${ehrId}/careplan/${_id}`,
  },
  // A topic without an EHR belongs to two users; its permissions say to whom.
  [ChatTopic.collection]: {
    type: ChatTopic.collection,
    mayConcern: ({ ehrId }) => ehrId === null,
    pathOf: ({ _id, _wperm = [] }, mvUid) => `/chat/network/${_wperm.find((id) => id !== mvUid)}/${_id}`,
  },
  [PROFILE_COLLECTIONS.worklistViews]: {
    type: 'WorklistViews',
    mayConcern: ({ id }, mvUid) => id === mvUid,
    pathOf: () => '/worklist/views',
  },
}

const accountTopicOf = (mvUid: string): SubscriptionTopic => ({
  concerns: (change) => accountRecordKinds[change.collection]?.mayConcern(change, mvUid) ?? false,
  includes({ collection, before, after, participants }) {
    const record = after ?? before
    const { concerns = () => true } = accountRecordKinds[collection] ?? {}
    return record !== null && concerns(record, mvUid, participants)
  },
  isTold: isToldToParticipant,
  // The stream ends with the session, and so with the account.
  isReachable: async () => true,
})

export const accountChangeOperations = [
  defineOperation({
    id: 'followAccount',
    method: 'get',
    path: '/auth/account/{mvUid}/changes',
    summary: 'Follow the changes that concern an account',
    description: `${describeStream('change that concerns the user')} Such a change is of:

- an agreement in which the user is the person or the helper
- a participation of the user in a care plan, or the deletion or return of the plan
- the account or the saved views of the user
- a conversation with a connected user, but not its messages`,
    source: changesSource,
    extra: true,
    access: 'own',
    query: streamQuery,
    resumes: true,
    reply: [200, new EventStreamBody(AccountChangeEvent)],
    errors: ['TooManyRequests'],
    handle: ({ params: { mvUid }, query }, context) => {
      const toEvent = (change: RecordChange, caller: Caller): Static<typeof AccountChangeEvent> => {
        const { collection, action, after } = change
        const { type = collection, pathOf } = accountRecordKinds[collection] ?? {}
        const isReadable = after && action !== 'delete' && isPermitted(after._rperm, caller)
        const path = isReadable && pathOf?.(after, mvUid)
        return { ...toChangeEvent(change), type, href: path ? context.pathPrefix + path : null }
      }
      return streamChanges(context, accountTopicOf(mvUid), query, toEvent)
    },
  }),
]
