import { CarePlan, Task } from '../care-plans/contents/plan-kinds.ts'
import { Participation } from '../care-plans/participants/participants.ts'
import { ChatMessage, ChatTopic } from '../chat/chat-kinds.ts'
import { Event } from '../events/event.ts'
import { ALERT_TYPE } from '../events/event-rules.ts'
import type { ChangedRecord, RecordChange } from '../history/changes.ts'
import { PROFILE_COLLECTIONS } from '../profiles/storage/profile-collections.ts'

const COLLECTIONS: readonly string[] = [
  ...[Event, CarePlan, Task, ChatTopic, ChatMessage, Participation].map(({ collection }) => collection),
  PROFILE_COLLECTIONS.handover,
]

/** Whether a change may concern a worklist, as far as its ids tell. */
export const concernsWorklist = ({ collection }: ChangedRecord): boolean => COLLECTIONS.includes(collection)

/** Of the events only alerts are in worklists, and of the changes of care plans their deletions and returns matter. */
export function isWorklistChange({ collection, before, after, participants }: RecordChange): boolean {
  if (collection === CarePlan.collection) return participants !== undefined
  return collection !== Event.collection || (after ?? before)?.type === ALERT_TYPE
}
