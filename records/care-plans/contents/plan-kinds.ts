import { CarePlanForms } from '../../../schemas/care-plans/care-plan.ts'
import { GoalForms } from '../../../schemas/care-plans/goal.ts'
import { TaskForms } from '../../../schemas/care-plans/task.ts'
import { defineKind, type Rules } from '../../ehr-records/kind.ts'
import type { TimelineDefinition } from '../../ehr-records/timeline-definition.ts'
import { blankViolations, dateOrderViolations } from '../../ehr-records/validation/field-violations.ts'
import { planDeleters, planPermissions } from '../../ehrs/rights/access.ts'
import { deanonymizationViolations } from '../../ehrs/rights/anonymity.ts'
import { carePlanMapping } from '../fhir/care-plan-mapping.ts'
import { goalMapping } from '../fhir/goal-mapping.ts'
import { taskMapping } from '../fhir/task-mapping.ts'

const ofEhr = { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } as const
const byPlan = { requiredFields: ['carePlanId'], sort: 'createdAt', order: 'asc' } as const

/** Only changed fields obey these rules: anyone can close a plan of an earlier version that breaks them. */
const nameViolations: Rules['violations'] = (values, changedFields) =>
  changedFields.includes('name') ? blankViolations(values, 'name') : []

const PERIODS = [
  ['dueDate', 'proposedStartDate'],
  ['achievementDate', 'actualStartDate'],
] as const

const planRules: Rules = {
  dependentFields: PERIODS.flat(),
  violations: (values, changedFields) => [
    ...nameViolations(values, changedFields),
    ...PERIODS.flatMap(([end, start]) =>
      [end, start].some((name) => changedFields.includes(name))
        ? dateOrderViolations(values, end, start)
        : [],
    ),
  ],
}

const contentRules: Rules = { dependentFields: [], violations: nameViolations }

const closableTimeline = (kind: string, start: readonly string[]): TimelineDefinition => ({
  kind,
  group: 'plans',
  start,
  end: 'achievementDate',
  open: { status: 'ACTIVE' },
  describe: ({ name, status, outcome }) => ({
    content: String(name),
    summary: [status, outcome].filter((one) => one !== undefined).join(': '),
  }),
})

export const CarePlan = defineKind(CarePlanForms, {
  words: { en: 'care plans', nl: 'zorgplannen' },
  fhir: carePlanMapping,
  rules: planRules,
  lists: { newest: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  permissions: planPermissions,
  deleters: {
    principalsOf: planDeleters,
    refusal: 'Only those who may write the EHR can delete a care plan.',
  },
  timeline: closableTimeline('careplan', ['actualStartDate', 'createdAt']),
  reservedViolations: deanonymizationViolations,
})

/** The number of goals and tasks is limited, because a plan can be read as a whole. */
export const Goal = defineKind(GoalForms, {
  words: { en: 'goals', nl: 'doelen' },
  fhir: goalMapping,
  rules: contentRules,
  helperAct: 'PLAN',
  lists: { ofPlan: byPlan, ofEhr },
  maxCount: { parentField: 'carePlanId', count: 100 },
  timeline: closableTimeline('goal', ['createdAt']),
})

export const Task = defineKind(TaskForms, {
  words: { en: 'tasks', nl: 'taken' },
  fhir: taskMapping,
  rules: contentRules,
  helperAct: 'PLAN',
  lists: {
    ofPlan: byPlan,
    ofEhr,
    ofGoal: { requiredFields: ['goalId'], sort: 'createdAt', order: 'asc' },
    byDueDate: { requiredFields: ['ehrId', 'status'], sort: 'dueDate', order: 'asc' },
  },
  indexes: [
    {
      name: 'open_tasks',
      key: { _rperm: 1, dueDate: 1 },
      partialFilterExpression: { status: 'ACTIVE' },
    },
  ],
  maxCount: { parentField: 'goalId', count: 100 },
  timeline: closableTimeline('task', ['createdAt']),
})
