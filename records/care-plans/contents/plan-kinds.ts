import { CarePlan as CarePlanForms } from '../../../schemas/care-plan.ts'
import { Goal as GoalForms } from '../../../schemas/goal.ts'
import { Task as TaskForms } from '../../../schemas/task.ts'
import { planPermissions } from '../../ehrs/rights/access.ts'
import { kind } from '../../registered/kind.ts'

const ofPlan = { by: ['carePlanId'], sort: 'createdAt', order: 'asc' } as const

export const CarePlan = kind(CarePlanForms, {
  words: { en: 'care plan', nl: 'zorgplan' },
  lists: { newest: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  permissions: planPermissions,
})

/** A plan can be read as a whole, with its goals and their tasks: it takes only so many. */
export const Goal = kind(GoalForms, {
  words: { en: 'goal', nl: 'doel' },
  lists: { ofPlan },
  most: { of: 'carePlanId', count: 100 },
})

export const Task = kind(TaskForms, {
  words: { en: 'task', nl: 'taak' },
  lists: {
    ofPlan,
    ofGoal: { by: ['goalId'], sort: 'createdAt', order: 'asc' },
    byDueDate: { by: ['ehrId', 'status'], sort: 'dueDate', order: 'asc' },
  },
  most: { of: 'goalId', count: 100 },
})
