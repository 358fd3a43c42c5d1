import type { ClosingRequest } from '../../schemas/care-plans/care-plan-resource.ts'
import type { TaskReplacement } from '../../schemas/care-plans/task.ts'
import { closeOrFindClosed } from '../ehr-records/closable-records.ts'
import type { EhrRecordKey, EhrWriteOptions } from '../ehr-records/ehr-records.ts'
import type { ParentIds } from '../ehr-records/parents/parents.ts'
import type { Caller } from '../store/documents/caller.ts'
import { decodeCursor, qualifiedListName } from '../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../store/reading/pages.ts'
import { type AuditedReads, runAuditedReads, type StoreContext } from '../store/writing/transaction.ts'
import type { PlanStores, StoredTask } from './contents/plan-stores.ts'

/** Filters of a list of open tasks. */
export interface TodoFilter {
  assignee?: string | undefined
  carePlanId?: string | undefined
  /** YYYY-MM-DD, exclusive; leaves out tasks without a due date. */
  dueBefore?: string | undefined
}

const TODO_LIST = 'byDueDate'
const TODO_CURSOR_LIST = qualifiedListName('Task', TODO_LIST)
const EARLIEST_DATE = '0001-01-01'

export class Tasks {
  readonly #context: StoreContext
  readonly #tasks: PlanStores['tasks']

  constructor(context: StoreContext, { tasks }: PlanStores) {
    this.#context = context
    this.#tasks = tasks
  }

  /**
   * Lists the open tasks of an EHR that the caller may read: longest overdue first, those without a due date
   * last.
   * @throws NotFound when the caller may not read the EHR
   */
  listTodo(caller: Caller, ehrId: string, filter: TodoFilter, page: PageRequest): Promise<Page<StoredTask>> {
    return runAuditedReads(this.#context, (tx) => this.#listTodo(caller, ehrId, filter, page, tx))
  }

  async #listTodo(
    caller: Caller,
    ehrId: string,
    { dueBefore, ...filter }: TodoFilter,
    { limit, cursor, count }: PageRequest,
    tx: AuditedReads,
  ): Promise<Page<StoredTask>> {
    const where = { ehrId, status: 'ACTIVE', ...filter } as const
    const list = (dueDate: { from: string; to: string | undefined } | null, from: string | undefined) =>
      this.#tasks.store.list(caller, TODO_LIST, { where: { ...where, dueDate }, limit, cursor: from }, { tx })
    const dates = { from: EARLIEST_DATE, to: dueBefore }
    const amongUndated = cursor !== undefined && decodeCursor(TODO_CURSOR_LIST, cursor).value === null
    const datedPage = amongUndated ? EMPTY_PAGE : await list(dates, cursor)
    const more = datedPage.next === null && dueBefore === undefined
    const undatedPage = more ? await list(null, amongUndated ? cursor : undefined) : EMPTY_PAGE
    const todoPage = joinPages(datedPage, undatedPage, limit)
    if (count) {
      const dueThen = { ...where, ...(dueBefore && { dueDate: dates }) }
      const { total } = await this.#tasks.store.list(
        caller,
        TODO_LIST,
        { where: dueThen, limit: 1, count },
        { tx },
      )
      if (total !== undefined) todoPage.total = total
    }
    return todoPage
  }

  /** @throws NotFound */
  get(caller: Caller, key: EhrRecordKey): Promise<StoredTask> {
    return this.#tasks.get(caller, key)
  }

  /** @throws NotFound; Forbidden; RuleViolated, also when plan or goal is closed or the goal is full */
  create(caller: Caller, parentIds: ParentIds, body: object, id: string): Promise<StoredTask> {
    return this.#tasks.create(caller, parentIds, body, id)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(
    caller: Caller,
    key: EhrRecordKey,
    body: Omit<TaskReplacement, 'id'>,
    options: EhrWriteOptions,
  ): Promise<StoredTask> {
    return this.#tasks.replace(caller, key, body, options)
  }

  /** @throws as replace; RuleViolated when it is closed already */
  close(
    caller: Caller,
    key: EhrRecordKey,
    closing: ClosingRequest,
    options: EhrWriteOptions,
  ): Promise<StoredTask> {
    return closeOrFindClosed(
      options,
      closing,
      () => this.get(caller, key),
      () => this.#tasks.close(caller, key, closing, options),
    )
  }

  history(caller: Caller, key: EhrRecordKey, page: PageRequest) {
    return this.#tasks.history(caller, key, page)
  }

  /** @throws as replace; NotFound for an unknown version */
  restore(caller: Caller, key: EhrRecordKey, version: number, options: EhrWriteOptions): Promise<StoredTask> {
    return this.#tasks.restore(caller, key, version, options)
  }
}

const EMPTY_PAGE: Page<StoredTask> = { items: [], next: null }

/** Joins the end of the first list and the beginning of the second to one page. */
function joinPages(
  datedPage: Page<StoredTask>,
  undatedPage: Page<StoredTask>,
  limit: number,
): Page<StoredTask> {
  const positionOf = ({ id, dueDate }: StoredTask) => ({ value: null, id: dueDate === undefined ? id : '' })
  const page = createPage(
    TODO_CURSOR_LIST,
    [...datedPage.items, ...undatedPage.items],
    limit,
    positionOf,
    undefined,
  )
  return { ...page, next: page.next ?? datedPage.next ?? undatedPage.next }
}
