import type { ClosingRequestWithContents } from '../../schemas/care-plans/care-plan-resource.ts'
import type { GoalReplacement } from '../../schemas/care-plans/goal.ts'
import { type ClosedStatus, closeOrFindClosed } from '../ehr-records/closable-records.ts'
import type { EhrRecordKey, EhrWriteOptions } from '../ehr-records/ehr-records.ts'
import { replaceWithEhrLock, runWithEhrLock } from '../ehr-records/parents/exclusive-ehr-lock.ts'
import type { ParentIds } from '../ehr-records/parents/parents.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { PageRequest } from '../store/reading/pages.ts'
import { runAuditedReads, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import type { PlanStores, StoredGoal } from './contents/plan-stores.ts'
import { attachTasks, type GoalWithTasks, readGoalWithTasks } from './contents/plan-with-goals.ts'

export class Goals {
  readonly #context: StoreContext
  readonly #stores: PlanStores

  constructor(context: StoreContext, stores: PlanStores) {
    this.#context = context
    this.#stores = stores
  }

  /** @throws NotFound */
  get(caller: Caller, key: EhrRecordKey): Promise<GoalWithTasks> {
    return runAuditedReads(this.#context, async (tx) =>
      readGoalWithTasks(this.#stores, caller, await this.#stores.goals.store.get(caller, key, { tx }), tx),
    )
  }

  /** @throws NotFound; Forbidden; RuleViolated, also when the plan is closed or full */
  create(caller: Caller, parentIds: ParentIds, body: object, id: string): Promise<StoredGoal> {
    return this.#stores.goals.create(caller, parentIds, body, id)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    key: EhrRecordKey,
    body: Omit<GoalReplacement, 'id'>,
    { expected }: EhrWriteOptions,
  ): Promise<GoalWithTasks> {
    const goal = await replaceWithEhrLock(this.#context, key.ehrId, body, (tx) =>
      this.#stores.goals.replace(caller, key, body, { tx, expected }),
    )
    return this.#readWithTasks(caller, goal)
  }

  /**
   * Closes a goal, and with `closeOpen` its open tasks; otherwise these stay open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(
    caller: Caller,
    key: EhrRecordKey,
    closing: ClosingRequestWithContents,
    options: EhrWriteOptions,
  ): Promise<GoalWithTasks> {
    const { expected } = options
    const close = () =>
      runWithEhrLock(this.#context, key.ehrId, async (tx) => {
        const goal = await this.#stores.goals.close(caller, key, closing, { tx, expected })
        const read = await readGoalWithTasks(this.#stores, caller, goal, tx)
        const { status = 'COMPLETED', closeOpen } = closing
        if (!closeOpen) return read
        const [closedGoal] = await this.closeAll(caller, [read], status, tx)
        return closedGoal ?? read
      })
    return closeOrFindClosed(options, closing, () => this.get(caller, key), close)
  }

  /** Closes those of these goals that are open, and their open tasks. */
  async closeAll(
    caller: Caller,
    goals: readonly GoalWithTasks[],
    status: ClosedStatus,
    tx: Transaction,
  ): Promise<GoalWithTasks[]> {
    const alone = goals.map(({ tasks: _, ...goal }) => goal)
    const tasks = goals.flatMap(({ tasks }) => tasks)
    return attachTasks(
      await this.#stores.goals.closeAll(caller, alone, status, tx),
      await this.#stores.tasks.closeAll(caller, tasks, status, tx),
    )
  }

  history(caller: Caller, key: EhrRecordKey, page: PageRequest) {
    return this.#stores.goals.history(caller, key, page)
  }

  /** @throws as replace; NotFound for an unknown version */
  async restore(
    caller: Caller,
    key: EhrRecordKey,
    version: number,
    options: EhrWriteOptions,
  ): Promise<GoalWithTasks> {
    return this.#readWithTasks(caller, await this.#stores.goals.restore(caller, key, version, options))
  }

  #readWithTasks(caller: Caller, goal: StoredGoal): Promise<GoalWithTasks> {
    return runAuditedReads(this.#context, (tx) => readGoalWithTasks(this.#stores, caller, goal, tx))
  }
}
