import type { CarePlanBody } from '../../../schemas/care-plan.ts'
import type { CarePlanTemplate, TemplateUse } from '../../../schemas/care-plan-template.ts'
import type { GoalBody } from '../../../schemas/goal.ts'
import type { TaskBody } from '../../../schemas/task.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { refuseViolations } from '../../registered/refusals/refusals.ts'
import { set } from '../../registered/registered.ts'
import { validNew } from '../../registered/rules.ts'
import { Goal, Task } from '../contents/plan-kinds.ts'

/** A plan about to be made, with its goals and their tasks. */
export interface NewPlan {
  plan: CarePlanBody
  goals: { goal: GoalBody; tasks: TaskBody[] }[]
}

const DAY_MS = 86_400_000

/** That many days after the start, both as YYYY-MM-DD. @throws RuleViolated */
function daysAfter(start: string, days: number): string {
  const date = new Date(Date.parse(`${start}T00:00:00.000Z`) + days * DAY_MS)
  if (date.getUTCFullYear() > 9999) refuseViolations([tooLate])
  return date.toISOString().slice(0, 10)
}

const tooLate: Violation = {
  path: 'startDate',
  code: 'date',
  message: 'must let the plan end by the year 9999',
}

/** What a template becomes when the plan starts that day: the bodies of a plan, its goals and their tasks. */
export function filledIn(
  template: CarePlanTemplate,
  { name, startDate }: TemplateUse,
  today: string,
): NewPlan {
  const start = startDate ?? today
  const due = <T extends { dueDay?: number }>({ dueDay, ...rest }: T) => ({
    ...rest,
    ...(dueDay !== undefined && { dueDate: daysAfter(start, dueDay) }),
  })
  return {
    plan: {
      name: name ?? template.name,
      description: template.description,
      language: template.language,
      dueDate: daysAfter(start, template.durationDays),
      ...(start > today ? { proposedStartDate: start } : { actualStartDate: start }),
    },
    goals: template.goals.map(({ tasks, ...goal }) => ({ goal: due(goal), tasks: tasks.map(due) })),
  }
}

/** Goals and tasks as they are stored. @throws RuleViolated */
export function placed(
  goals: NewPlan['goals'],
  place: { ehrId: string; carePlanId: string },
  newId: () => string,
) {
  const goalIds = inOrder(goals, newId)
  const placedGoals = goals.map(({ goal }, i) => {
    const one = { ...set(goal), ...place }
    validNew(Goal, one)
    return { ...one, status: 'ACTIVE' as const, id: goalIds[i] ?? newId() }
  })
  const placedTasks = goals.flatMap(({ tasks }, i) => {
    const taskIds = inOrder(tasks, newId)
    return tasks.map((task, j) => {
      const one = { ...set(task), ...place, goalId: goalIds[i] ?? '' }
      validNew(Task, one)
      return { ...one, status: 'ACTIVE' as const, id: taskIds[j] ?? newId() }
    })
  })
  return { goals: placedGoals, tasks: placedTasks }
}

/** Ids that ascend: what is made at the same instant is listed by its id. */
const inOrder = (parts: readonly unknown[], newId: () => string): string[] => parts.map(() => newId()).sort()
