import type { Filter } from 'mongodb'
import type { WorklistEntry, WorklistFilter } from '../../schemas/worklist/worklist-entry.ts'
import { Task } from '../care-plans/contents/plan-kinds.ts'
import { ChatTopic } from '../chat/chat-kinds.ts'
import type { ReadMarks } from '../chat/read-marks.ts'
import { findSearchedEhrs, queryAccesses } from '../ehrs/rights/query-accesses.ts'
import { Event, OPEN_ALERTS_FILTER } from '../events/event.ts'
import { findOwnersStoodInFor } from '../handovers/stand-ins.ts'
import { type Caller, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { decodeCursor, encodeCursor, invalidCursorError } from '../store/reading/cursor.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import type { PatientCards } from './patient-cards.ts'
import { compareRanks, type RankedEntry, rankOf, WorklistCounts } from './worklist-counts.ts'

/** Maximum number of alerts and of tasks that a worklist counts, the most urgent ones. */
const MAX_RECORDS = 1000
/** Maximum number of topics in which it looks for unread messages, the latest ones. */
const MAX_TOPICS = 200

const CURSOR_LIST = 'worklist'

/** The patients who need action from a professional. It is calculated when somebody asks for it. */
export class Worklists {
  readonly #context: StoreContext
  readonly #marks: ReadMarks
  readonly #patients: PatientCards

  constructor(context: StoreContext, { marks }: { marks: ReadMarks }, patients: PatientCards) {
    this.#context = context
    this.#marks = marks
    this.#patients = patients
  }

  /**
   * Lists the EHRs of others that need action from the caller, the most urgent first. With `all`, the others follow.
   * @throws MalformedRequest for a cursor of another list
   */
  async list(
    caller: Caller,
    filter: WorklistFilter,
    { limit, cursor, count }: PageRequest,
  ): Promise<Page<WorklistEntry>> {
    const from = cursor === undefined ? undefined : decodeRank(cursor)
    const ownEhrs = await this.#findOwnEhrs(caller)
    const { searched } = await findSearchedEhrs(this.#context, caller, {})
    const patients = searched.filter((ehrId) => !ownEhrs.includes(ehrId))
    const rankedEntries = await this.#rank(caller, ownEhrs, filter, patients)
    const rest = from ? rankedEntries.filter((one) => compareRanks(one.rank, from) > 0) : rankedEntries
    const page = rest.slice(0, limit)
    const query = { type: Event.collection, asked: 'worklist' }
    const ehrs = { searched: patients, denied: [] }
    const shownRecords = new Map(
      page.map(({ entry: { ehrId, openAlerts } }) => [ehrId, openAlerts.map(({ id }) => id)]),
    )
    const entries = await queryAccesses(this.#context.audit, caller, query, ehrs, shownRecords)
    await this.#context.audit.record(...entries)
    const items = await this.#patients.addNames(
      caller,
      page.map(({ entry }) => entry),
    )
    const last = rest.length > limit ? page.at(-1) : undefined
    return {
      items,
      next: last
        ? encodeCursor(CURSOR_LIST, { value: JSON.stringify(last.rank), id: last.entry.ehrId })
        : null,
      ...(count && { total: rankedEntries.length }),
    }
  }

  async #rank(
    caller: Caller,
    ownEhrs: readonly string[],
    filter: WorklistFilter,
    patients: readonly string[],
  ): Promise<RankedEntry[]> {
    const ownersStoodInFor = await findOwnersStoodInFor(this.#context, caller.userId, this.#context.clock())
    const owners = [caller.userId, ...ownersStoodInFor]
    const [alerts, tasks, unread] = await Promise.all([
      this.#findAlerts(caller, ownEhrs, owners, filter),
      this.#findOverdueTasks(caller, ownEhrs),
      this.#countUnread(caller, ownEhrs),
    ])
    const counts = new WorklistCounts({ caller, owners, filter })
    if (filter.all) for (const ehrId of patients) counts.entryOf(ehrId)
    for (const alert of alerts) counts.addAlert(alert)
    for (const { ehrId } of tasks) counts.entryOf(ehrId).overdueTasks += 1
    for (const [ehrId, messages] of unread) counts.entryOf(ehrId).unreadMessages += messages
    return counts
      .entries()
      .map((entry) => ({ entry, rank: rankOf(entry) }))
      .sort((a, b) => compareRanks(a.rank, b.rank))
  }

  /** The alerts in EHRs of others that nobody has taken, without muted ones, and those that an owner of the list has taken. */
  #findAlerts(
    caller: Caller,
    ownEhrs: readonly string[],
    owners: readonly string[],
    { ehrId, takenByOthers }: WorklistFilter,
  ): Promise<ParseDocument[]> {
    const isAwaited = {
      alertState: { $in: ['NEW', 'SEEN'] },
      $or: [{ mutedUntil: null }, { mutedUntil: { $lte: this.#context.clock() } }],
    }
    const isTaken = { alertState: 'TAKEN', ...(!takenByOthers && { takenBy: { $in: [...owners] } }) }
    const ofPatients = { ehrId: { $nin: [...ownEhrs], ...(ehrId !== undefined && { $eq: ehrId }) } }
    return this.#find(
      caller,
      Event.collection,
      { ...OPEN_ALERTS_FILTER, ...ofPatients, $or: [isAwaited, isTaken] },
      { urgency: -1 },
    )
  }

  #findOverdueTasks(caller: Caller, ownEhrs: readonly string[]): Promise<ParseDocument[]> {
    const today = new Date(this.#context.clock().toISOString().slice(0, 10))
    const overdue = { status: 'ACTIVE', dueDate: { $lt: today }, ehrId: { $nin: [...ownEhrs] } }
    return this.#find(caller, Task.collection, overdue, { dueDate: 1 })
  }

  /** Counts the unread messages by EHR. */
  async #countUnread(caller: Caller, ownEhrs: readonly string[]): Promise<[ehrId: unknown, count: number][]> {
    const topics = await this.#find(
      caller,
      ChatTopic.collection,
      { ehrId: { $gt: '', $nin: [...ownEhrs] } },
      { lastMessageAt: -1 },
      MAX_TOPICS,
    )
    const times = topics.map(({ _id, lastMessageAt }) => [_id, lastMessageAt as Date] as const)
    const counts = await this.#marks.countUnread(
      caller.userId,
      await this.#marks.findUnread(caller.userId, times),
    )
    return topics.map(({ _id, ehrId }) => [ehrId, counts.get(_id) ?? 0])
  }

  async #findOwnEhrs({ userId }: Caller): Promise<string[]> {
    const ownEhrs = documentCollection(this.#context, 'Ehr').find(
      { subjectId: userId },
      { projection: { _id: 1 } },
    )
    return (await ownEhrs.toArray()).map(({ _id }) => _id)
  }

  #find(
    caller: Caller,
    collection: string,
    filter: Filter<ParseDocument>,
    sort: Record<string, 1 | -1>,
    limit = MAX_RECORDS,
  ): Promise<ParseDocument[]> {
    const readable = { ...filter, ...permissionFilter('_rperm', caller) }
    const fields = { projection: PROJECTION }
    return documentCollection(this.#context, collection)
      .find(readable, fields)
      .sort(sort)
      .limit(limit)
      .toArray()
  }
}

const PROJECTION = {
  ehrId: 1,
  alertState: 1,
  assignedTo: 1,
  severity: 1,
  start: 1,
  carePlanId: 1,
  title: 1,
  takenBy: 1,
  takenAt: 1,
  _wperm: 1,
  data: 1,
  version: 1,
  lastMessageAt: 1,
}

/** @throws MalformedRequest */
function decodeRank(cursor: string): RankedEntry['rank'] {
  const { value } = decodeCursor(CURSOR_LIST, cursor)
  try {
    const rank: unknown = JSON.parse(String(value))
    if (Array.isArray(rank) && rank.every((part) => ['number', 'string'].includes(typeof part))) return rank
  } catch {
    // Thrown below: the text is not a cursor of this list.
  }
  throw invalidCursorError()
}
