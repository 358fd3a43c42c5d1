import type { ClosingWithContents } from '../../schemas/care-plan-resource.ts'
import type { GoalReplacement } from '../../schemas/goal.ts'
import { type ClosingStatus, unlessClosed } from '../registered/closable.ts'
import { inTurn, type Place, replaceInTurn } from '../registered/into.ts'
import type { Key, Writing } from '../registered/registered.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { PageOf } from '../store/reading/listing.ts'
import { type Records, readTogether, type Transaction } from '../store/writing/transaction.ts'
import type { PlanRecords, StoredGoal } from './contents/stores.ts'
import { type GoalWithTasks, goalWithTasks, withTasks } from './contents/with-contents.ts'

/** The goals of the care plans. */
export class Goals {
  readonly #records: Records
  readonly #of: PlanRecords

  constructor(records: Records, of: PlanRecords) {
    this.#records = records
    this.#of = of
  }

  /** @throws NotFound */
  get(caller: Caller, key: Key): Promise<GoalWithTasks> {
    return readTogether(this.#records, async (tx) =>
      goalWithTasks(this.#of, caller, await this.#of.goals.store.get(caller, key, { tx }), tx),
    )
  }

  /** @throws NotFound; Forbidden; RuleViolated, also when the plan is closed or full */
  create(caller: Caller, place: Place, body: object, id: string): Promise<StoredGoal> {
    return this.#of.goals.create(caller, place, body, id)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    key: Key,
    body: Omit<GoalReplacement, 'id'>,
    { expected }: Writing,
  ): Promise<GoalWithTasks> {
    const replaced = await replaceInTurn(this.#records, key.ehrId, body, (tx) =>
      this.#of.goals.replace(caller, key, body, { tx, expected }),
    )
    return this.#withContents(caller, replaced)
  }

  /**
   * Closes a goal, and with `closeOpen` its open tasks; else they stay open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(caller: Caller, key: Key, closing: ClosingWithContents, options: Writing): Promise<GoalWithTasks> {
    const { expected } = options
    const close = () =>
      inTurn(this.#records, key.ehrId, async (tx) => {
        const goal = await this.#of.goals.close(caller, key, closing, { tx, expected })
        const read = await goalWithTasks(this.#of, caller, goal, tx)
        const { status = 'COMPLETED', closeOpen } = closing
        if (!closeOpen) return read
        const [closed] = await this.closeAll(caller, [read], status, tx)
        return closed ?? read
      })
    return unlessClosed(options, closing, () => this.get(caller, key), close)
  }

  /** Closes what is open of these goals and of their tasks. */
  async closeAll(
    caller: Caller,
    goals: readonly GoalWithTasks[],
    status: ClosingStatus,
    tx: Transaction,
  ): Promise<GoalWithTasks[]> {
    const alone = goals.map(({ tasks: _, ...goal }) => goal)
    const tasks = goals.flatMap(({ tasks }) => tasks)
    return withTasks(
      await this.#of.goals.closeAll(caller, alone, status, tx),
      await this.#of.tasks.closeAll(caller, tasks, status, tx),
    )
  }

  history(caller: Caller, key: Key, page: PageOf) {
    return this.#of.goals.history(caller, key, page)
  }

  /** @throws as replace; NotFound for a version that is not known */
  async restore(caller: Caller, key: Key, version: number, options: Writing): Promise<GoalWithTasks> {
    return this.#withContents(caller, await this.#of.goals.restore(caller, key, version, options))
  }

  #withContents(caller: Caller, goal: StoredGoal): Promise<GoalWithTasks> {
    return readTogether(this.#records, (tx) => goalWithTasks(this.#of, caller, goal, tx))
  }
}
