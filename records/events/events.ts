import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { AlertStep } from '../../schemas/events/alert-handling.ts'
import type { EventRecord } from '../../schemas/events/event.ts'
import { type EhrRecordKey, EhrRecords, type EhrWriteOptions } from '../ehr-records/ehr-records.ts'
import { findOwnersStoodInFor } from '../handovers/stand-ins.ts'
import { authorOf, type Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { handlingAfter, handlingOf, withHandling } from './alert-handling.ts'
import { Event } from './event.ts'
import { ALERT_TYPE, overlapAlternatives } from './event-rules.ts'

export type StoredEvent = SavedRecord<EventRecord>

/** Filters of a list of events, which contains the events that overlap the time between `from` and `to`. */
export interface EventFilter {
  from?: string | undefined
  to?: string | undefined
  type?: string | undefined
  carePlanId?: string | undefined
  /** A participating user. */
  participant?: string | undefined
}

/** The events of the EHRs: the documents of the class Event. */
export class Events extends EhrRecords<typeof Event.schema, keyof typeof Event.lists> {
  readonly #context: StoreContext

  readonly #measurementCollectionOf: (kind: string) => string

  /** @param measurementCollectionOf the collection of the measurements whose alerts name this kind */
  constructor(context: StoreContext, measurementCollectionOf: (kind: string) => string) {
    super(context, Event)
    this.#context = context
    this.#measurementCollectionOf = measurementCollectionOf
  }

  /**
   * Lists the events that the caller may read, by start.
   * @throws NotFound when the caller may not see the EHR or the plan
   */
  override list(
    caller: Caller,
    ehrId: string,
    filter: EventFilter,
    page: PageRequest,
  ): Promise<Page<StoredEvent>> {
    const { from, to, type, carePlanId, participant } = filter
    const where = {
      ehrId,
      type,
      carePlanId,
      participantIds: participant,
      start: { to },
      last: { from },
    }
    const either = overlapAlternatives(from, to)
    return this.store.list(caller, listNameFor(filter), { where, either, ...page })
  }

  /**
   * Takes a step in dealing with an alert. A repeated step gets no version.
   * @throws NotFound, also for an event that is not an alert; Forbidden; PreconditionFailed; RuleViolated
   */
  async handleAlert(
    caller: Caller,
    key: Omit<EhrRecordKey, 'ehrId'> & { ehrId?: string },
    step: AlertStep,
    { expected }: EhrWriteOptions,
  ): Promise<StoredEvent> {
    const { userId } = authorOf(caller)
    const at = this.#context.clock()
    const standsInFor = await findOwnersStoodInFor(this.#context, userId, at)
    const change = (current: StoredEvent) => {
      if (current.type !== ALERT_TYPE) throw new ServiceError('NotFound')
      const before = handlingOf(current)
      const handling = handlingAfter(before, step, { userId, at, standsInFor })
      return handling === before ? current : withHandling(current, handling, at)
    }
    const write = () => this.store.updateUnaudited(caller, key, change, { expected, skipUnchanged: true })
    return (await this.store.auditRefusal(caller, 'update', key, write)).record
  }

  /** An alert returns with its measurement, and alone only while its measurement exists. @throws Conflict */
  protected override async requireReturnable(event: StoredEvent, session: ClientSession): Promise<void> {
    await super.requireReturnable(event, session)
    const { kind, measurementId } = event.data ?? {}
    if (event.type !== ALERT_TYPE || typeof measurementId !== 'string') return
    const measurements = documentCollection(this.#context, this.#measurementCollectionOf(String(kind)))
    if (await measurements.findOne({ _id: measurementId }, { session, projection: { _id: 1 } })) return
    throw new ServiceError('Conflict', {
      detail: `The measurement ${measurementId}, to which this alert belongs, is deleted. Restore the measurement.`,
    })
  }
}

function listNameFor({ type, carePlanId, participant }: EventFilter) {
  if (participant !== undefined) return 'ofParticipant'
  if (carePlanId !== undefined) return 'ofPlan'
  return type === undefined ? 'ofEhr' : 'ofType'
}
