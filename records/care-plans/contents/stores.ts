import { type Static, Type } from '@sinclair/typebox'
import { goalFields, planFields, taskFields } from '../../../schemas/care-plan-resource.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import { Store } from '../../store/store.ts'
import type { Records } from '../../store/writing/transaction.ts'

const Plan = Type.Object(planFields)
const Goal = Type.Object(goalFields)
const Task = Type.Object(taskFields)

export type StoredPlan = Saved<Static<typeof Plan>>
export type StoredGoal = Saved<Static<typeof Goal>>
export type StoredTask = Saved<Static<typeof Task>>

const ofPlan = { by: ['carePlanId'], sort: 'createdAt', order: 'asc' } as const

/** The documents of the classes CarePlan, Goal and Task. */
export const planStores = (records: Records) => ({
  plans: new Store(records, {
    collection: 'CarePlan',
    schema: Plan,
    ehr: 'ehrId',
    lists: { newest: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  }),
  goals: new Store(records, { collection: 'Goal', schema: Goal, ehr: 'ehrId', lists: { ofPlan } }),
  tasks: new Store(records, {
    collection: 'Task',
    schema: Task,
    ehr: 'ehrId',
    lists: {
      ofPlan,
      ofGoal: { by: ['goalId'], sort: 'createdAt', order: 'asc' },
      byDueDate: { by: ['ehrId', 'status'], sort: 'dueDate', order: 'asc' },
    },
  }),
})

export type PlanStores = ReturnType<typeof planStores>
