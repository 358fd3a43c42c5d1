import { CarePlan as CarePlanForms } from '../../../schemas/care-plan.ts'
import { Goal as GoalForms } from '../../../schemas/goal.ts'
import { Task as TaskForms } from '../../../schemas/task.ts'
import { planPermissions } from '../../ehrs/rights/access.ts'
import { unveiling } from '../../ehrs/rights/anonymity.ts'
import { kind } from '../../registered/kind.ts'
import type { TimelineLine } from '../../registered/timeline-line.ts'

const ofPlan = { by: ['carePlanId'], sort: 'createdAt', order: 'asc' } as const

const closable = (kind: string, start: readonly string[]): TimelineLine => ({
  ...{ kind, group: 'plans', start, end: 'achievementDate', open: { status: 'ACTIVE' } },
  says: ({ name, status, outcome }) => ({
    content: String(name),
    summary: [status, outcome].filter((one) => one !== undefined).join(': '),
  }),
})

export const CarePlan = kind(CarePlanForms, {
  words: { en: 'care plan', nl: 'zorgplan' },
  lists: { newest: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  permissions: planPermissions,
  timeline: closable('careplan', ['actualStartDate', 'createdAt']),
  reserved: unveiling,
})

/** A plan can be read as a whole, with its goals and their tasks: it takes only so many. */
export const Goal = kind(GoalForms, {
  words: { en: 'goal', nl: 'doel' },
  lists: { ofPlan },
  most: { of: 'carePlanId', count: 100 },
  timeline: closable('goal', ['createdAt']),
})

export const Task = kind(TaskForms, {
  words: { en: 'task', nl: 'taak' },
  lists: {
    ofPlan,
    ofGoal: { by: ['goalId'], sort: 'createdAt', order: 'asc' },
    byDueDate: { by: ['ehrId', 'status'], sort: 'dueDate', order: 'asc' },
  },
  most: { of: 'goalId', count: 100 },
  timeline: closable('task', ['createdAt']),
})
