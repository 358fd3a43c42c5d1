import type { Static } from '@sinclair/typebox'
import { ClosableRecords } from '../../ehr-records/closable-records.ts'
import type { ParentChecks } from '../../ehr-records/ehr-records.ts'
import type { SavedRecord } from '../../store/documents/parse-format.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import { CarePlan, Goal, Task } from './plan-kinds.ts'

export type StoredPlan = SavedRecord<Static<typeof CarePlan.schema>>
export type StoredGoal = SavedRecord<Static<typeof Goal.schema>>
export type StoredTask = SavedRecord<Static<typeof Task.schema>>

export const createPlanStores = (records: StoreContext, parentChecks: ParentChecks) => ({
  plans: new ClosableRecords(records, CarePlan, parentChecks),
  goals: new ClosableRecords(records, Goal, parentChecks),
  tasks: new ClosableRecords(records, Task, parentChecks),
})

export type PlanStores = ReturnType<typeof createPlanStores>
