import type { Static } from '@sinclair/typebox'
import type { ClosingWithContents, GoalBody, GoalReplacement } from '../../schemas/care-plan-resource.ts'
import { auditingRefusal, type Place, replaceInTurn, requireOpen, takeTurn } from '../registered/context.ts'
import { judgeNew, refuseViolations } from '../registered/judge.ts'
import { Part, type PartKey, set, unlessClosed, type Writing } from '../registered/part.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { PageOf } from '../store/reading/listing.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records, readTogether, type Transaction } from '../store/writing/transaction.ts'
import { crowding } from './contents/rules.ts'
import type { PlanStores, StoredGoal } from './contents/stores.ts'
import { type WholeGoal, wholeGoal, withTasks } from './contents/whole.ts'

/** The goals of the care plans. */
export class Goals {
  readonly #records: Records
  readonly #stores: PlanStores
  readonly #part
  readonly #tasks

  constructor(records: Records, stores: PlanStores) {
    this.#records = records
    this.#stores = stores
    this.#part = new Part('Goal', stores.goals)
    this.#tasks = new Part('Task', stores.tasks)
  }

  /** @throws NotFound */
  get(caller: Caller, key: PartKey): Promise<WholeGoal> {
    return readTogether(this.#records, async (tx) =>
      wholeGoal(this.#stores, caller, await this.#stores.goals.get(caller, key, { tx }), tx),
    )
  }

  /** @throws NotFound; Forbidden; RuleViolated, also when the plan is closed or full */
  create(caller: Caller, place: Place, body: Static<typeof GoalBody>, id: string): Promise<StoredGoal> {
    const goal = { ...set(body), ...place }
    return unlessMade(
      () =>
        auditingRefusal(this.#records, caller, 'Goal', place.ehrId, () =>
          inTransaction(this.#records, async (tx) => {
            await takeTurn(this.#records, tx, place.ehrId)
            const permissions = await requireOpen(this.#records, tx, caller, place)
            refuseViolations(await crowding(this.#records, 'Goal', { ...place, id }, tx.session))
            judgeNew('Goal', goal)
            return this.#stores.goals.create(caller, { ...goal, status: 'ACTIVE' }, permissions, { tx, id })
          }),
        ),
      () => this.#stores.goals.get(caller, { id, ...place }),
    )
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    key: PartKey,
    body: Omit<Static<typeof GoalReplacement>, 'id'>,
    { ifMatch }: Writing,
  ): Promise<WholeGoal> {
    const replaced = await replaceInTurn(this.#records, key.ehrId, body, (tx) =>
      this.#part.replace(caller, key, body, { tx, ifMatch }),
    )
    return wholeGoal(this.#stores, caller, replaced)
  }

  /**
   * Closes a goal, and with `closeOpen` its open tasks; else they stay open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(caller: Caller, key: PartKey, closing: ClosingWithContents, options: Writing): Promise<WholeGoal> {
    const { ifMatch } = options
    const close = () =>
      inTransaction(this.#records, async (tx) => {
        const goal = await this.#part.close(caller, key, closing, { tx, ifMatch })
        await takeTurn(this.#records, tx, key.ehrId)
        const whole = await wholeGoal(this.#stores, caller, goal, tx)
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
    status: 'COMPLETED' | 'CANCELLED',
    tx: Transaction,
  ): Promise<WholeGoal[]> {
    const alone = goals.map(({ tasks: _, ...goal }) => goal)
    const tasks = goals.flatMap(({ tasks }) => tasks)
    return withTasks(
      await this.#part.closeAll(caller, alone, status, tx),
      await this.#tasks.closeAll(caller, tasks, status, tx),
    )
  }

  history(caller: Caller, key: PartKey, page: PageOf) {
    return this.#part.history(caller, key, page)
  }

  /** @throws as replace; NotFound for a version that is not known */
  async restore(caller: Caller, key: PartKey, version: number, options: Writing): Promise<WholeGoal> {
    return wholeGoal(this.#stores, caller, await this.#part.restore(caller, key, version, options))
  }
}
