import type { EventRecord } from '../../schemas/event.ts'
import { type Holders, Registered } from '../registered/registered.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import type { Records } from '../store/writing/transaction.ts'
import { Event } from './event.ts'
import { reaching } from './event-rules.ts'

export type StoredEvent = Saved<EventRecord>

/** What a list of events can be narrowed by. Those that overlap the time between `from` and `to` are in it. */
export interface EventFilter {
  from?: string | undefined
  to?: string | undefined
  type?: string | undefined
  carePlanId?: string | undefined
  /** The user who takes part. */
  participant?: string | undefined
}

/** The events of the EHRs: the documents of the class Event. */
export class Events extends Registered<typeof Event.schema, keyof typeof Event.lists> {
  constructor(records: Records, holders: Holders) {
    super(records, Event, holders)
  }

  /** Those that the caller may read, by their start. @throws NotFound when the EHR, or the plan, is none of theirs */
  override list(
    caller: Caller,
    ehrId: string,
    filter: EventFilter,
    page: PageOf,
  ): Promise<Page<StoredEvent>> {
    const { from, to, type, carePlanId, participant } = filter
    const where = {
      ...{ ehrId, type, carePlanId, participantIds: participant },
      start: { to },
      last: { from },
    }
    const either = reaching(from, to)
    return this.listed(caller, { ehrId, carePlanId }, () =>
      this.store.list(caller, listFor(filter), { where, either, ...page }),
    )
  }
}

function listFor({ type, carePlanId, participant }: EventFilter) {
  if (participant !== undefined) return 'ofParticipant'
  if (carePlanId !== undefined) return 'ofPlan'
  return type === undefined ? 'ofEhr' : 'ofType'
}
