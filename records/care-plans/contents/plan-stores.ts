import type { Static } from '@sinclair/typebox'
import { ClosableRecords } from '../../ehr-records/closable-records.ts'
import type { SavedRecord } from '../../store/documents/parse-format.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import { CarePlan, Goal, Task } from './plan-kinds.ts'

export type StoredPlan = SavedRecord<Static<typeof CarePlan.schema>>
export type StoredGoal = SavedRecord<Static<typeof Goal.schema>>
export type StoredTask = SavedRecord<Static<typeof Task.schema>>

export const createPlanStores = (context: StoreContext) => ({
  plans: new ClosableRecords(context, CarePlan),
  goals: new ClosableRecords(context, Goal),
  tasks: new ClosableRecords(context, Task),
})

export type PlanStores = ReturnType<typeof createPlanStores>
