import type { Caller } from '../../store/documents/caller.ts'
import type { Page, PageQuery } from '../../store/reading/listing.ts'
import type { Reading } from '../../store/writing/transaction.ts'
import type { PlanRecords, StoredGoal, StoredPlan, StoredTask } from './stores.ts'

export interface GoalWithTasks extends StoredGoal {
  tasks: StoredTask[]
}
export interface PlanWithGoals extends StoredPlan {
  goals: GoalWithTasks[]
}

/** A care plan with its goals and their tasks. */
export async function planWithGoals(
  { goals, tasks }: PlanRecords,
  caller: Caller,
  plan: StoredPlan,
  tx?: Reading,
): Promise<PlanWithGoals> {
  const where = { carePlanId: plan.id, ehrId: plan.ehrId }
  const ofPlan = [
    () => everything((page) => goals.store.list(caller, 'ofPlan', { where, ...page }, { tx })),
    () => everything((page) => tasks.store.list(caller, 'ofPlan', { where, ...page }, { tx })),
  ] as const
  // A transaction does one thing at a time.
  const [foundGoals, foundTasks] = tx?.session
    ? [await ofPlan[0](), await ofPlan[1]()]
    : await Promise.all([ofPlan[0](), ofPlan[1]()])
  return assembled(plan, foundGoals, foundTasks)
}

/** A care plan of its parts. */
export const assembled = (plan: StoredPlan, goals: StoredGoal[], tasks: StoredTask[]): PlanWithGoals => ({
  ...plan,
  goals: withTasks(goals, tasks),
})

/** Puts each task into its goal. */
export function withTasks(goals: StoredGoal[], tasks: StoredTask[]): GoalWithTasks[] {
  const byGoal = new Map<string, StoredTask[]>(goals.map(({ id }) => [id, []]))
  for (const task of tasks) byGoal.get(task.goalId)?.push(task)
  return goals.map((goal) => ({ ...goal, tasks: byGoal.get(goal.id) ?? [] }))
}

/** A goal with its tasks. */
export async function goalWithTasks(
  { tasks }: PlanRecords,
  caller: Caller,
  goal: StoredGoal,
  tx?: Reading,
): Promise<GoalWithTasks> {
  const where = { goalId: goal.id, carePlanId: goal.carePlanId }
  return {
    ...goal,
    tasks: await everything((page) => tasks.store.list(caller, 'ofGoal', { where, ...page }, { tx })),
  }
}

type PageOf = Pick<PageQuery<unknown>, 'limit' | 'cursor'>

async function everything<R>(list: (page: PageOf) => Promise<Page<R>>): Promise<R[]> {
  const all: R[] = []
  let cursor: string | undefined
  do {
    const { items, next }: Page<R> = await list({ limit: 1000, cursor })
    all.push(...items)
    cursor = next ?? undefined
  } while (cursor !== undefined)
  return all
}
