import type { StoredPlan, StoredTask } from '../../records/care-plans/contents/stores.ts'
import type { GoalWithTasks, PlanWithGoals } from '../../records/care-plans/contents/with-contents.ts'
import {
  type CarePlanResource,
  CarePlanSummary,
  type GoalResource,
  GoalSummary,
  type TaskResource,
} from '../../schemas/care-plan-resource.ts'
import { Task } from '../../schemas/task.ts'
import type { Answer } from '../answer/answer.ts'
import { answer } from '../answer/answer.ts'
import { taggedWith } from '../answer/etag.ts'
import { fieldsOf } from '../answer/representation.ts'
export const taskOf = (task: StoredTask) => fieldsOf(Task.resource.properties, task) as TaskResource

export const goalOf = ({ tasks, ...goal }: GoalWithTasks) =>
  ({ ...fieldsOf(GoalSummary.properties, goal), tasks: tasks.map(taskOf) }) as GoalResource

export const summaryOf = (plan: StoredPlan) => fieldsOf(CarePlanSummary.properties, plan) as CarePlanSummary

export const planOf = ({ goals, ...plan }: PlanWithGoals): CarePlanResource => ({
  ...summaryOf(plan),
  goals: goals.map(goalOf),
})

interface Head {
  version: number
  location?: string
}

/** A plan as the answer, with an ETag for all that it shows. */
export const planAnswer = (plan: PlanWithGoals, location?: string): Answer<CarePlanResource, Head> =>
  answerWith(planOf(plan), plan, contentsOf(plan), location)

export const goalAnswer = (goal: GoalWithTasks, location?: string): Answer<GoalResource, Head> =>
  answerWith(goalOf(goal), goal, goal.tasks, location)

/** All that a plan holds. */
export const contentsOf = ({ goals }: PlanWithGoals) => goals.flatMap((goal) => [goal, ...goal.tasks])

export const answerWith = <B>(
  body: B,
  { version }: { version: number },
  others: readonly { id: string; version: number }[],
  location?: string,
): Answer<B, Head> => {
  const headers = { etag: taggedWith(version, others) }
  return answer(body, { version, headers, ...(location !== undefined && { location }) })
}

type GoalOrTask = { id: string; name: string; status: string }

/** What is still open in what was closed. */
export const openOf = (goals: readonly GoalOrTask[], tasks: readonly GoalOrTask[]) => {
  const open = (contents: readonly GoalOrTask[], kind: 'GOAL' | 'TASK') =>
    contents.filter(({ status }) => status === 'ACTIVE').map(({ id, name }) => ({ kind, id, name }))
  return [...open(goals, 'GOAL'), ...open(tasks, 'TASK')]
}
