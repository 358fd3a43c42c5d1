import type { Static } from '@sinclair/typebox'
import { Closable } from '../../registered/closable.ts'
import type { Holders } from '../../registered/registered.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { CarePlan, Goal, Task } from './plan-kinds.ts'

export type StoredPlan = Saved<Static<typeof CarePlan.schema>>
export type StoredGoal = Saved<Static<typeof Goal.schema>>
export type StoredTask = Saved<Static<typeof Task.schema>>

/** The documents of the classes CarePlan, Goal and Task. */
export const planRecords = (records: Records, holders: Holders) => ({
  plans: new Closable(records, CarePlan, holders),
  goals: new Closable(records, Goal, holders),
  tasks: new Closable(records, Task, holders),
})

export type PlanRecords = ReturnType<typeof planRecords>
