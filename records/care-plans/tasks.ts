import type { Static } from '@sinclair/typebox'
import type { Closing, TaskBody, TaskReplacement } from '../../schemas/care-plan-resource.ts'
import type { Ehrs } from '../ehrs/ehrs.ts'
import { auditingRefusal, type Place, requireOpen, takeTurn } from '../registered/context.ts'
import { judgeNew, refuseViolations } from '../registered/judge.ts'
import { Part, type PartKey, set, unlessClosed, type Writing } from '../registered/part.ts'
import type { Caller } from '../store/documents/caller.ts'
import { decodeCursor, encodeCursor, listName } from '../store/reading/cursor.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Reading, type Records, readTogether } from '../store/writing/transaction.ts'
import { crowding } from './contents/rules.ts'
import type { PlanStores, StoredTask } from './contents/stores.ts'

/** What the open tasks can be narrowed by. */
export interface TodoFilter {
  assignee?: string | undefined
  carePlanId?: string | undefined
  /** YYYY-MM-DD, exclusive; tasks without a due date are then left out. */
  dueBefore?: string | undefined
}

type TaskPlace = Required<Place>

const TODO = 'byDueDate'
const TODO_CURSOR = listName('Task', TODO)
const EARLIEST = '0001-01-01'

/** The tasks of the goals. */
export class Tasks {
  readonly #records: Records
  readonly #stores: PlanStores
  readonly #ehrs: Ehrs
  readonly #part

  constructor(records: Records, stores: PlanStores, ehrs: Ehrs) {
    this.#records = records
    this.#stores = stores
    this.#ehrs = ehrs
    this.#part = new Part('Task', stores.tasks)
  }

  /**
   * The open tasks of an EHR that the caller may read: the longest overdue first, those without a due date last.
   * @throws NotFound when the EHR is none of his
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
      this.#stores.tasks.list(caller, TODO, { where: { ...where, dueDate }, limit, cursor: from }, { tx })
    const dates = { from: EARLIEST, to: dueBefore }
    const amongUndated = cursor !== undefined && decodeCursor(TODO_CURSOR, cursor).value === null
    const dated = amongUndated ? NONE : await list(dates, cursor)
    const more = dated.next === null && dueBefore === undefined
    const undated = more ? await list(null, amongUndated ? cursor : undefined) : NONE
    const found = joined(dated, undated, limit)
    if (count) {
      const asked = { ...where, ...(dueBefore && { dueDate: dates }) }
      const { total } = await this.#stores.tasks.list(caller, TODO, { where: asked, limit: 1, count }, { tx })
      if (total !== undefined) found.total = total
    }
    if (found.items.length === 0) await this.#ehrs.get(caller, ehrId)
    return found
  }

  /** @throws NotFound; Forbidden; RuleViolated, also when plan or goal is closed, or the goal full */
  create(caller: Caller, place: TaskPlace, body: Static<typeof TaskBody>, id: string): Promise<StoredTask> {
    const task = { ...set(body), ...place }
    return unlessMade(
      () =>
        auditingRefusal(this.#records, caller, 'Task', place.ehrId, () =>
          inTransaction(this.#records, async (tx) => {
            await takeTurn(this.#records, tx, place.ehrId)
            const permissions = await requireOpen(this.#records, tx, caller, place)
            refuseViolations(await crowding(this.#records, 'Task', { ...place, id }, tx.session))
            judgeNew('Task', task)
            return this.#stores.tasks.create(caller, { ...task, status: 'ACTIVE' }, permissions, { tx, id })
          }),
        ),
      () => this.#stores.tasks.get(caller, { id, ...place }),
    )
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(
    caller: Caller,
    key: PartKey,
    body: Omit<Static<typeof TaskReplacement>, 'id'>,
    options: Writing,
  ): Promise<StoredTask> {
    return this.#part.replace(caller, key, body, options)
  }

  /** @throws as replace; RuleViolated when it is closed already */
  close(caller: Caller, key: PartKey, closing: Closing, options: Writing): Promise<StoredTask> {
    return unlessClosed(
      options,
      closing,
      () => this.#stores.tasks.get(caller, key),
      () => this.#part.close(caller, key, closing, options),
    )
  }

  history(caller: Caller, key: PartKey, page: PageOf) {
    return this.#part.history(caller, key, page)
  }

  /** @throws as replace; NotFound for a version that is not known */
  restore(caller: Caller, key: PartKey, version: number, options: Writing): Promise<StoredTask> {
    return this.#part.restore(caller, key, version, options)
  }
}

const NONE: Page<StoredTask> = { items: [], next: null }

/** The end of one list and the beginning of the other as one page. */
function joined(dated: Page<StoredTask>, undated: Page<StoredTask>, limit: number): Page<StoredTask> {
  const all = [...dated.items, ...undated.items]
  const items = all.slice(0, limit)
  const last = items.at(-1)
  const cut = all.length > limit && last !== undefined
  const here = (id: string) => encodeCursor(TODO_CURSOR, { value: null, id })
  return { items, next: cut ? here(last.dueDate === undefined ? last.id : '') : (dated.next ?? undated.next) }
}
