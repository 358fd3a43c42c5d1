import type { ClosingWithContents } from '../../schemas/care-plan-resource.ts'
import type { GoalReplacement } from '../../schemas/goal.ts'
import { type ClosingStatus, unlessClosed } from '../registered/closable.ts'
import { inTurn, type Place, replaceInTurn } from '../registered/into.ts'
import type { Key, Writing } from '../registered/registered.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { PageOf } from '../store/reading/listing.ts'
import { type Records, readTogether, type Transaction } from '../store/writing/transaction.ts'
import type { PlanRecords, StoredGoal } from './contents/stores.ts'
import { type WholeGoal, wholeGoal, withTasks } from './contents/whole.ts'

/** The goals of the care plans. */
export class Goals {
  readonly #records: Records
  readonly #of: PlanRecords

  constructor(records: Records, of: PlanRecords) {
    this.#records = records
    this.#of = of
  }

  /** @throws NotFound */
  get(caller: Caller, key: Key): Promise<WholeGoal> {
    return readTogether(this.#records, async (tx) =>
      wholeGoal(this.#of, caller, await this.#of.goals.store.get(caller, key, { tx }), tx),
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
    { ifMatch }: Writing,
  ): Promise<WholeGoal> {
    const replaced = await replaceInTurn(this.#records, key.ehrId, body, (tx) =>
      this.#of.goals.replace(caller, key, body, { tx, ifMatch }),
    )
    return this.#whole(caller, replaced)
  }

  /**
   * Closes a goal, and with `closeOpen` its open tasks; else they stay open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(caller: Caller, key: Key, closing: ClosingWithContents, options: Writing): Promise<WholeGoal> {
    const { ifMatch } = options
    const close = () =>
      inTurn(this.#records, key.ehrId, async (tx) => {
        const goal = await this.#of.goals.close(caller, key, closing, { tx, ifMatch })
        const whole = await wholeGoal(this.#of, caller, goal, tx)
        const { status = 'COMPLETED', closeOpen } = closing
        if (!closeOpen) return whole
        const [closed] = await this.closeAll(caller, [whole], status, tx)
        return closed ?? whole
      })
    return unlessClosed(options, closing, () => this.get(caller, key), close)
  }

  /** Closes what is open of these goals and of their tasks. */
  async closeAll(
    caller: Caller,
    goals: readonly WholeGoal[],
    status: ClosingStatus,
    tx: Transaction,
  ): Promise<WholeGoal[]> {
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
  async restore(caller: Caller, key: Key, version: number, options: Writing): Promise<WholeGoal> {
    return this.#whole(caller, await this.#of.goals.restore(caller, key, version, options))
  }

  #whole(caller: Caller, goal: StoredGoal): Promise<WholeGoal> {
    return readTogether(this.#records, (tx) => wholeGoal(this.#of, caller, goal, tx))
  }
}
