import type { Caller } from '../../store/documents/caller.ts'
import type { Page, PageQuery } from '../../store/reading/pages.ts'
import type { AuditedReads } from '../../store/writing/transaction.ts'
import type { PlanStores, StoredGoal, StoredPlan, StoredTask } from './plan-stores.ts'

export interface GoalWithTasks extends StoredGoal {
  tasks: StoredTask[]
}
export interface PlanWithGoals extends StoredPlan {
  goals: GoalWithTasks[]
}

export async function readPlanWithGoals(
  { goals, tasks }: PlanStores,
  caller: Caller,
  plan: StoredPlan,
  tx?: AuditedReads,
): Promise<PlanWithGoals> {
  const where = { carePlanId: plan.id, ehrId: plan.ehrId }
  const ofPlan = [
    () => listAll((page) => goals.store.list(caller, 'ofPlan', { where, ...page }, { tx })),
    () => listAll((page) => tasks.store.list(caller, 'ofPlan', { where, ...page }, { tx })),
  ] as const
  // A transaction's session takes one command at a time.
  const [foundGoals, foundTasks] = tx?.session
    ? [await ofPlan[0](), await ofPlan[1]()]
    : await Promise.all([ofPlan[0](), ofPlan[1]()])
  return assemblePlan(plan, foundGoals, foundTasks)
}

/** Assembles a care plan from its parts. */
export const assemblePlan = (plan: StoredPlan, goals: StoredGoal[], tasks: StoredTask[]): PlanWithGoals => ({
  ...plan,
  goals: attachTasks(goals, tasks),
})

export function attachTasks(goals: StoredGoal[], tasks: StoredTask[]): GoalWithTasks[] {
  const byGoal = new Map<string, StoredTask[]>(goals.map(({ id }) => [id, []]))
  for (const task of tasks) byGoal.get(task.goalId)?.push(task)
  return goals.map((goal) => ({ ...goal, tasks: byGoal.get(goal.id) ?? [] }))
}

export async function readGoalWithTasks(
  { tasks }: PlanStores,
  caller: Caller,
  goal: StoredGoal,
  tx?: AuditedReads,
): Promise<GoalWithTasks> {
  const where = { goalId: goal.id, carePlanId: goal.carePlanId }
  return {
    ...goal,
    tasks: await listAll((page) => tasks.store.list(caller, 'ofGoal', { where, ...page }, { tx })),
  }
}

type PageRequest = Pick<PageQuery<unknown>, 'limit' | 'cursor'>

async function listAll<R>(list: (page: PageRequest) => Promise<Page<R>>): Promise<R[]> {
  const records: R[] = []
  let cursor: string | undefined
  do {
    const { items, next }: Page<R> = await list({ limit: 1000, cursor })
    records.push(...items)
    cursor = next ?? undefined
  } while (cursor !== undefined)
  return records
}
