import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { closedObject, idField } from '../common.ts'
import { ClosingStatusEnum } from '../enums.ts'
import { nullable } from '../forms/nullable.ts'
import { CarePlanForms } from './care-plan.ts'
import { GoalForms } from './goal.ts'
import { TaskForms } from './task.ts'

export type TaskResource = Static<typeof TaskForms.resource>

const withSchemaName = <P extends TProperties>(
  name: string,
  description: string,
  { properties }: TObject<P>,
) => closedObject(name, description, properties)

export const GoalSummary = withSchemaName(
  'GoalSummary',
  'A goal of a care plan, without its tasks',
  GoalForms.resource,
)

export const GoalResource = closedObject('GoalResource', 'A goal of a care plan, with its tasks', {
  ...GoalForms.resource.properties,
  tasks: Type.Array(TaskForms.resource, { description: 'Tasks, oldest first' }),
})
export type GoalResource = Static<typeof GoalResource>

export const CarePlanSummary = withSchemaName(
  'CarePlanSummary',
  'A care plan, without its goals',
  CarePlanForms.resource,
)
export type CarePlanSummary = Static<typeof CarePlanSummary>

export const CarePlanResource = closedObject(
  'CarePlanResource',
  'A care plan, with its goals and their tasks',
  {
    ...CarePlanForms.resource.properties,
    goals: Type.Array(GoalResource, { description: 'Goals, oldest first' }),
  },
)
export type CarePlanResource = Static<typeof CarePlanResource>

const closingFieldsOf = ({
  outcome,
  achievementDate,
}: typeof CarePlanForms.fields | typeof TaskForms.fields) => ({
  status: Type.Optional({ ...ClosingStatusEnum, description: 'Closing status; default COMPLETED' }),
  outcome: Type.Optional(nullable(outcome)),
  achievementDate: Type.Optional(nullable(achievementDate)),
})
export const ClosingRequest = closedObject(
  'Closing',
  'Closing data; omitted fields keep their values',
  closingFieldsOf(TaskForms.fields),
)
export type ClosingRequest = Static<typeof ClosingRequest>

export const ClosingRequestWithContents = closedObject(
  'ClosingWithContents',
  ClosingRequest.description ?? '',
  {
    ...closingFieldsOf(CarePlanForms.fields),
    closeOpen: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'True to close its open goals and tasks, too, with the same status',
      }),
    ),
  },
)
export type ClosingRequestWithContents = Static<typeof ClosingRequestWithContents>

const openItemsField = Type.Array(
  closedObject('OpenItem', 'An open goal or task', {
    kind: Type.Unsafe<'GOAL' | 'TASK'>({
      type: 'string',
      enum: ['GOAL', 'TASK'],
      description: 'Type of the item: goal or task',
    }),
    id: { ...idField('the goal or task'), examples: ['g3HjKl56Ty'] },
    name: GoalForms.fields.name,
  }),
  { description: 'Goals and tasks that are still open' },
)

export const ClosedCarePlan = closedObject('ClosedCarePlan', 'A closed care plan', {
  ...CarePlanResource.properties,
  open: openItemsField,
})
export const ClosedGoal = closedObject('ClosedGoal', 'A closed goal', {
  ...GoalResource.properties,
  open: openItemsField,
})
