import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { CarePlan } from './care-plan.ts'
import { closed, id } from './common.ts'
import { ClosingStatusEnum } from './enum.ts'
import { Goal } from './goal.ts'
import { nullable } from './nullable.ts'
import { Task } from './task.ts'

export type TaskResource = Static<typeof Task.resource>

const named = <P extends TProperties>(name: string, description: string, { properties }: TObject<P>) =>
  closed(name, description, properties)

export const GoalSummary = named('GoalSummary', 'A goal of a care plan, without its tasks', Goal.resource)

export const GoalResource = closed('GoalResource', 'A goal of a care plan, with its tasks', {
  ...Goal.resource.properties,
  tasks: Type.Array(Task.resource, { description: 'The tasks, the oldest first' }),
})
export type GoalResource = Static<typeof GoalResource>

export const CarePlanSummary = named('CarePlanSummary', 'A care plan, without its goals', CarePlan.resource)
export type CarePlanSummary = Static<typeof CarePlanSummary>

export const CarePlanResource = closed('CarePlanResource', 'A care plan, with its goals and their tasks', {
  ...CarePlan.resource.properties,
  goals: Type.Array(GoalResource, { description: 'The goals, the oldest first' }),
})
export type CarePlanResource = Static<typeof CarePlanResource>

const closing = {
  status: Type.Optional({ ...ClosingStatusEnum, description: 'COMPLETED by default' }),
  outcome: Type.Optional(nullable(CarePlan.fields.outcome)),
  achievementDate: Type.Optional(nullable(CarePlan.fields.achievementDate)),
}
export const Closing = closed('Closing', 'How it is closed; what is left out stays as it is', closing)
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
    name: Goal.fields.name,
  }),
  { description: 'What is still open in it' },
)

export const ClosedCarePlan = closed('ClosedCarePlan', 'A care plan that has been closed', {
  ...CarePlanResource.properties,
  open,
})
export const ClosedGoal = closed('ClosedGoal', 'A goal that has been closed', {
  ...GoalResource.properties,
  open,
})
