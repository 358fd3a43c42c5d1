import { type Static, Type } from '@sinclair/typebox'
import { closed, id, KEPT, kept, line, moment, text } from './common.ts'
import { ClosingStatusEnum, StatusEnum } from './enum.ts'

export const Goal = closed('Goal', 'A goal of a care plan', {
  ...kept,
  ehrId: id('the EHR', 'e5RtGb81Xz'),
  carePlanId: id('the care plan', 'p0LmNb72Qw'),
  name: line('Name of the goal', 'Walk every day'),
  dueDate: Type.Optional(moment('When the goal should be reached')),
  description: Type.Optional(text('What is to be reached', 'Half an hour, five days a week')),
  notes: Type.Optional(text('Notes on the goal', 'With the dog')),
  achievementDate: Type.Optional(moment('Actual end date')),
  outcome: Type.Optional(text('What came of the goal', 'Four days a week')),
  status: StatusEnum,
})
export type Goal = Static<typeof Goal>

export const GoalCreate = Type.Omit(Goal, [...KEPT, 'achievementDate', 'outcome', 'status'], {
  $id: 'GoalCreate',
})

export const GoalUpdate = Type.Composite(
  [
    Type.Partial(Type.Omit(Goal, [...KEPT, 'ehrId', 'carePlanId', 'status'])),
    Type.Object({ status: Type.Optional(ClosingStatusEnum) }),
  ],
  { $id: 'GoalUpdate', description: 'What may change in a goal', additionalProperties: false },
)
