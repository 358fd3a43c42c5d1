import { type Static, Type } from '@sinclair/typebox'
import { CarePlan, CarePlanCreate } from './care-plan.ts'
import { closed, id } from './common.ts'
import { ClosingStatusEnum, StatusEnum } from './enum.ts'
import { Goal, GoalCreate } from './goal.ts'
import { nullable } from './nullable.ts'
import { bodyForm, own, pathForm, shownForm } from './path-form.ts'
import { Task, TaskCreate } from './task.ts'

/** The documents of the classes, with dates in place of moments. */
export const planFields = pathForm(CarePlan.properties)
export const goalFields = pathForm(Goal.properties)
export const taskFields = pathForm(Task.properties)

const kept = (of: string) => ({
  id: { ...id(`the ${of}`), examples: ['p0LmNb72Qw'] },
  version: Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' }),
})

export const TaskResource = closed('TaskResource', 'A task of a goal', {
  ...kept('task'),
  ...shownForm(taskFields),
})
export type TaskResource = Static<typeof TaskResource>

export const GoalSummary = closed('GoalSummary', 'A goal of a care plan, without its tasks', {
  ...kept('goal'),
  ...shownForm(goalFields),
})

export const GoalResource = closed('GoalResource', 'A goal of a care plan, with its tasks', {
  ...GoalSummary.properties,
  tasks: Type.Array(TaskResource, { description: 'The tasks, the oldest first' }),
})
export type GoalResource = Static<typeof GoalResource>

export const CarePlanSummary = closed('CarePlanSummary', 'A care plan, without its goals', {
  ...kept('care plan'),
  ...shownForm(planFields),
})
export type CarePlanSummary = Static<typeof CarePlanSummary>

const goals = Type.Array(GoalResource, { description: 'The goals, the oldest first' })

export const CarePlanResource = closed('CarePlanResource', 'A care plan, with its goals and their tasks', {
  ...CarePlanSummary.properties,
  goals,
})
export type CarePlanResource = Static<typeof CarePlanResource>

export const CarePlanBody = closed(
  'CarePlanBody',
  'A new care plan',
  bodyForm(own(pathForm(CarePlanCreate.properties))),
)
export const GoalBody = closed('GoalBody', 'A new goal', bodyForm(own(pathForm(GoalCreate.properties))))
export const TaskBody = closed('TaskBody', 'A new task', bodyForm(own(pathForm(TaskCreate.properties))))

/** What a replacement need not repeat. */
const stays = {
  id: Type.Optional({ ...id('what is replaced: the one in the path'), examples: ['p0LmNb72Qw'] }),
  status: Type.Optional({
    ...StatusEnum,
    description: 'Left out, it stays. What is ACTIVE can be closed; what is closed stays so',
  }),
}

const ownOfPlan = own(planFields)

export const CarePlanReplacement = closed(
  'CarePlanReplacement',
  'A complete care plan: what is left out is removed',
  {
    ...bodyForm(ownOfPlan),
    language: Type.Optional({
      ...ownOfPlan.language,
      description: 'Left out, it stays; it cannot change',
    }),
    ...stays,
  },
)
export const GoalReplacement = closed('GoalReplacement', 'A complete goal: what is left out is removed', {
  ...bodyForm(own(goalFields)),
  ...stays,
})
export const TaskReplacement = closed('TaskReplacement', 'A complete task: what is left out is removed', {
  ...bodyForm(own(taskFields)),
  ...stays,
})

const closing = {
  status: Type.Optional({ ...ClosingStatusEnum, description: 'COMPLETED unless told otherwise' }),
  outcome: Type.Optional(nullable(planFields.outcome)),
  achievementDate: Type.Optional(nullable(planFields.achievementDate)),
}
export const Closing = closed('Closing', 'How it ends; what is left out stays as it is', closing)
export type Closing = Static<typeof Closing>

export const ClosingWithContents = closed('ClosingWithContents', Closing.description ?? '', {
  ...closing,
  closeOpen: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether to close what is still open in it too, with the same status',
    }),
  ),
})
export type ClosingWithContents = Static<typeof ClosingWithContents>

const open = Type.Array(
  closed('OpenItem', 'A goal or a task that is still open', {
    kind: Type.Unsafe<'GOAL' | 'TASK'>({ type: 'string', enum: ['GOAL', 'TASK'], description: 'What it is' }),
    id: { ...id('the goal or task'), examples: ['g3HjKl56Ty'] },
    name: Goal.properties.name,
  }),
  { description: 'What is still open in it after the closing' },
)

export const ClosedCarePlan = closed('ClosedCarePlan', 'A care plan that has been closed', {
  ...CarePlanResource.properties,
  open,
})
export const ClosedGoal = closed('ClosedGoal', 'A goal that has been closed', {
  ...GoalResource.properties,
  open,
})
