import type { Closing } from '../../schemas/care-plan-resource.ts'
import type { TaskReplacement } from '../../schemas/task.ts'
import type { Ehrs } from '../ehrs/ehrs.ts'
import { unlessClosed } from '../registered/closable.ts'
import type { Place } from '../registered/into.ts'
import type { Key, Writing } from '../registered/registered.ts'
import type { Caller } from '../store/documents/caller.ts'
import { decodeCursor, listName } from '../store/reading/cursor.ts'
import { type Page, type PageOf, paged } from '../store/reading/listing.ts'
import { type Reading, type Records, readTogether } from '../store/writing/transaction.ts'
import type { PlanRecords, StoredTask } from './contents/stores.ts'

/** What the open tasks can be narrowed by. */
export interface TodoFilter {
  assignee?: string | undefined
  carePlanId?: string | undefined
  /** YYYY-MM-DD, exclusive; tasks without a due date are then left out. */
  dueBefore?: string | undefined
}

const TODO = 'byDueDate'
const TODO_CURSOR = listName('Task', TODO)
const EARLIEST = '0001-01-01'

/** The tasks of the goals. */
export class Tasks {
  readonly #records: Records
  readonly #tasks: PlanRecords['tasks']
  readonly #ehrs: Ehrs

  constructor(records: Records, { tasks }: PlanRecords, ehrs: Ehrs) {
    this.#records = records
    this.#tasks = tasks
    this.#ehrs = ehrs
  }

  /**
   * The open tasks of an EHR that the caller may read: the longest overdue first, those without a due date last.
   * @throws NotFound when the caller may not read the EHR
   */
  todo(caller: Caller, ehrId: string, filter: TodoFilter, page: PageOf): Promise<Page<StoredTask>> {
    return readTogether(this.#records, (tx) => this.#todo(caller, ehrId, filter, page, tx))
  }

  async #todo(
    caller: Caller,
    ehrId: string,
    { dueBefore, ...filter }: TodoFilter,
    { limit, cursor, count }: PageOf,
    tx: Reading,
  ): Promise<Page<StoredTask>> {
    const where = { ehrId, status: 'ACTIVE', ...filter } as const
    const list = (dueDate: { from: string; to: string | undefined } | null, from: string | undefined) =>
      this.#tasks.store.list(caller, TODO, { where: { ...where, dueDate }, limit, cursor: from }, { tx })
    const dates = { from: EARLIEST, to: dueBefore }
    const amongUndated = cursor !== undefined && decodeCursor(TODO_CURSOR, cursor).value === null
    const dated = amongUndated ? NONE : await list(dates, cursor)
    const more = dated.next === null && dueBefore === undefined
    const undated = more ? await list(null, amongUndated ? cursor : undefined) : NONE
    const found = joined(dated, undated, limit)
    if (count) {
      const dueThen = { ...where, ...(dueBefore && { dueDate: dates }) }
      const { total } = await this.#tasks.store.list(
        caller,
        TODO,
        { where: dueThen, limit: 1, count },
        { tx },
      )
      if (total !== undefined) found.total = total
    }
    if (found.items.length === 0) await this.#ehrs.get(caller, ehrId)
    return found
  }

  /** @throws NotFound; Forbidden; RuleViolated, also when plan or goal is closed, or the goal full */
  create(caller: Caller, place: Place, body: object, id: string): Promise<StoredTask> {
    return this.#tasks.create(caller, place, body, id)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(
    caller: Caller,
    key: Key,
    body: Omit<TaskReplacement, 'id'>,
    options: Writing,
  ): Promise<StoredTask> {
    return this.#tasks.replace(caller, key, body, options)
  }

  /** @throws as replace; RuleViolated when it is closed already */
  close(caller: Caller, key: Key, closing: Closing, options: Writing): Promise<StoredTask> {
    return unlessClosed(
      options,
      closing,
      () => this.#tasks.get(caller, key),
      () => this.#tasks.close(caller, key, closing, options),
    )
  }

  history(caller: Caller, key: Key, page: PageOf) {
    return this.#tasks.history(caller, key, page)
  }

  /** @throws as replace; NotFound for a version that is not known */
  restore(caller: Caller, key: Key, version: number, options: Writing): Promise<StoredTask> {
    return this.#tasks.restore(caller, key, version, options)
  }
}

const NONE: Page<StoredTask> = { items: [], next: null }

/** The end of one list and the beginning of the other as one page. */
function joined(dated: Page<StoredTask>, undated: Page<StoredTask>, limit: number): Page<StoredTask> {
  const positionOf = ({ id, dueDate }: StoredTask) => ({ value: null, id: dueDate === undefined ? id : '' })
  const page = paged(TODO_CURSOR, [...dated.items, ...undated.items], limit, positionOf, undefined)
  return { ...page, next: page.next ?? dated.next ?? undated.next }
}
