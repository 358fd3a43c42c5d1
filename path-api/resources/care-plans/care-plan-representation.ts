import type { StoredPlan, StoredTask } from '../../../records/care-plans/contents/plan-stores.ts'
import type { GoalWithTasks, PlanWithGoals } from '../../../records/care-plans/contents/plan-with-goals.ts'
import {
  type CarePlanResource,
  CarePlanSummary,
  type GoalResource,
  GoalSummary,
  type TaskResource,
} from '../../../schemas/care-plans/care-plan-resource.ts'
import { TaskForms } from '../../../schemas/care-plans/task.ts'
import { pickClientFields } from '../../reply/client-fields.ts'
import { etagWithOthers } from '../../reply/etag.ts'
import type { ReplyWithHead } from '../../reply/reply.ts'
import { replyWith } from '../../reply/reply.ts'
export const toTaskResource = (task: StoredTask) =>
  pickClientFields(TaskForms.resource.properties, task) as TaskResource

export const toGoalResource = ({ tasks, ...goal }: GoalWithTasks) =>
  ({ ...pickClientFields(GoalSummary.properties, goal), tasks: tasks.map(toTaskResource) }) as GoalResource

export const toCarePlanSummary = (plan: StoredPlan) =>
  pickClientFields(CarePlanSummary.properties, plan) as CarePlanSummary

export const toCarePlanResource = ({ goals, ...plan }: PlanWithGoals): CarePlanResource => ({
  ...toCarePlanSummary(plan),
  goals: goals.map(toGoalResource),
})

interface ContentsHead {
  version: number
  location?: string
}

/** Replies with a plan; the ETag covers its goals and tasks. */
export const replyWithCarePlan = (
  plan: PlanWithGoals,
  location?: string,
): ReplyWithHead<CarePlanResource, ContentsHead> =>
  replyWithContents(toCarePlanResource(plan), plan, carePlanContents(plan), location)

export const replyWithGoal = (
  goal: GoalWithTasks,
  location?: string,
): ReplyWithHead<GoalResource, ContentsHead> =>
  replyWithContents(toGoalResource(goal), goal, goal.tasks, location)

/** Goals and tasks of a plan. */
export const carePlanContents = ({ goals }: PlanWithGoals) => goals.flatMap((goal) => [goal, ...goal.tasks])

export const replyWithContents = <B>(
  body: B,
  { version }: { version: number },
  contents: readonly { id: string; version: number }[],
  location?: string,
): ReplyWithHead<B, ContentsHead> => {
  const headers = { etag: etagWithOthers(version, contents) }
  return replyWith(body, { version, headers, ...(location !== undefined && { location }) })
}

type GoalOrTask = { id: string; name: string; status: string }

/** Open goals and tasks of a closed record. */
export const openItems = (goals: readonly GoalOrTask[], tasks: readonly GoalOrTask[]) => {
  const open = (contents: readonly GoalOrTask[], kind: 'GOAL' | 'TASK') =>
    contents.filter(({ status }) => status === 'ACTIVE').map(({ id, name }) => ({ kind, id, name }))
  return [...open(goals, 'GOAL'), ...open(tasks, 'TASK')]
}
