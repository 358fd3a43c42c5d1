import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { EventBody, EventReplacement } from '../../schemas/event-resource.ts'
import { storedEvent } from '../../schemas/event-resource.ts'
import type { CarePlans } from '../care-plans/care-plans.ts'
import type { Ehrs } from '../ehrs/ehrs.ts'
import { auditingRefusal, inEhr, inOpenPlan } from '../registered/context.ts'
import { judgeChange, judgeNew } from '../registered/judge.ts'
import { set, type Writing } from '../registered/part.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { Store } from '../store/store.ts'
import { unlessMade } from '../store/writing/once.ts'
import type { Records } from '../store/writing/transaction.ts'
import { derivedOf, LONG_MS } from './rules.ts'

type Event = Static<typeof storedEvent>
/** What is written of an event; the rest follows. */
type Written = Omit<Event, 'last' | 'long' | 'participantIds'>
export type StoredEvent = Saved<Event>

/** What a list of events can be narrowed by. Those that overlap the time between `from` and `to` are in it. */
export interface EventFilter {
  from?: string | undefined
  to?: string | undefined
  type?: string | undefined
  carePlanId?: string | undefined
  /** The user who takes part. */
  participant?: string | undefined
}

interface Key {
  id: string
  ehrId: string
}

/** What the class family writes of an event that does not say it. */
const absent = { allDay: false, participants: [] }

/** The events of the EHRs: the documents of the class Event. */
export class Events {
  readonly #records: Records
  readonly #ehrs: Ehrs
  readonly #plans: CarePlans['stores']['plans']
  readonly #store

  constructor(records: Records, ehrs: Ehrs, { stores: { plans } }: Pick<CarePlans, 'stores'>) {
    this.#records = records
    this.#ehrs = ehrs
    this.#plans = plans
    const byTime = { sort: 'start', order: 'asc' } as const
    this.#store = new Store(records, {
      collection: 'Event',
      schema: storedEvent,
      ehr: 'ehrId',
      lists: {
        ofEhr: { by: ['ehrId', 'long'], ...byTime },
        ofType: { by: ['ehrId', 'type', 'long'], ...byTime },
        ofPlan: { by: ['carePlanId', 'long'], ...byTime },
        ofParticipant: { by: ['ehrId', 'participantIds', 'long'], ...byTime },
      },
    })
  }

  /** The collections and the indexes that they need: server start creates them. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** Those that the caller may read, by their start. @throws NotFound when the EHR, or the plan, is none of his */
  async list(caller: Caller, ehrId: string, filter: EventFilter, page: PageOf): Promise<Page<StoredEvent>> {
    const { from, to, type, carePlanId, participant } = filter
    const where = {
      ...{ ehrId, type, carePlanId, participantIds: participant },
      start: { to },
      last: { from },
    }
    const earliest = from && new Date(Date.parse(from) - LONG_MS).toISOString()
    const either = [{ long: false, start: { from: earliest, to } }, { long: true }]
    const found = await this.#store.list(caller, listFor(filter), { where, either, ...page })
    if (found.items.length > 0) return found
    if (carePlanId === undefined) await this.#ehrs.get(caller, ehrId)
    else await this.#plans.get(caller, { id: carePlanId, ehrId })
    return found
  }

  /** @throws NotFound */
  get(caller: Caller, key: Key): Promise<StoredEvent> {
    return this.#store.get(caller, key)
  }

  /** @throws NotFound; Forbidden for one who may only read the EHR, or the plan; RuleViolated */
  create(caller: Caller, ehrId: string, body: EventBody, id: string): Promise<StoredEvent> {
    const event: Written = { ...absent, ...set(body), ehrId }
    return unlessMade(
      () =>
        auditingRefusal(this.#records, caller, 'Event', ehrId, async () => {
          judgeNew('Event', event)
          return this.#store.create(caller, withDerived(event), holderOf(event), { id })
        }),
      () => this.#store.get(caller, { id, ehrId }),
    )
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(
    caller: Caller,
    key: Key,
    body: Omit<EventReplacement, 'id'>,
    { ifMatch }: Writing,
  ): Promise<StoredEvent> {
    const change = ({ last: _, long: __, participantIds: ___, ...now }: StoredEvent): Event => {
      const { ehrId, carePlanId } = now
      const next: Written = set({ ...absent, ehrId, carePlanId, ...set(body) }) as Written
      return withDerived(judgeChange<Written>('Event', now, next))
    }
    return this.#store.update(caller, key, change, { ifMatch })
  }

  /** @throws NotFound; Forbidden; PreconditionFailed */
  remove(caller: Caller, key: Key, { ifMatch }: Writing): Promise<void> {
    return this.#store.remove(caller, key, { ifMatch })
  }
}

/** An event of a plan is for those who see the plan, one without a plan for those who see the EHR. */
const holderOf = ({ ehrId, carePlanId }: Written) =>
  carePlanId === undefined ? inEhr(ehrId) : inOpenPlan({ ehrId, carePlanId })

function listFor({ type, carePlanId, participant }: EventFilter) {
  if (participant !== undefined) return 'ofParticipant'
  if (carePlanId !== undefined) return 'ofPlan'
  return type === undefined ? 'ofEhr' : 'ofType'
}

/** Only for an event that has been judged: its times exist. */
function withDerived(event: Written): Event {
  const { last, ...derived } = derivedOf({
    start: new Date(event.start),
    end: event.end === undefined ? undefined : new Date(event.end),
    allDay: event.allDay === true,
    participantIds: (event.participants ?? []).map(({ mvUid }) => mvUid),
  })
  return { ...event, ...derived, last: last.toISOString() }
}
