import type { CarePlanBody } from '../../../schemas/care-plans/care-plan.ts'
import type { CarePlanTemplate, TemplateUse } from '../../../schemas/care-plans/care-plan-template.ts'
import type { GoalBody } from '../../../schemas/care-plans/goal.ts'
import type { TaskBody } from '../../../schemas/care-plans/task.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import { withoutNulls } from '../../ehr-records/validation/record-bodies.ts'
import { validateNewRecord } from '../../ehr-records/validation/record-validation.ts'
import { Goal, Task } from '../contents/plan-kinds.ts'

/** A plan to be created, with its goals and their tasks. */
export interface PlanFromTemplate {
  plan: CarePlanBody
  goals: { goal: GoalBody; tasks: TaskBody[] }[]
}

/** The day this many days after the start, both as YYYY-MM-DD. @throws RuleViolated */
function addDays(start: string, days: number): string {
  const date = new Date(Date.parse(`${start}T00:00:00.000Z`) + days * DAY_MS)
  if (date.getUTCFullYear() > 9999) requireNoViolations([tooLateViolation])
  return date.toISOString().slice(0, 10)
}

const tooLateViolation: Violation = {
  path: 'startDate',
  code: 'date',
  message: 'must be early enough for the plan to end by the year 9999',
}

/**
 * Builds the bodies of a plan, its goals and their tasks from a template, for a plan that starts on that day.
 */
export function instantiateTemplate(
  template: CarePlanTemplate,
  { name, startDate }: TemplateUse,
  today: string,
): PlanFromTemplate {
  const start = startDate ?? today
  const due = <T extends { dueDay?: number }>({ dueDay, ...rest }: T) => ({
    ...rest,
    ...(dueDay !== undefined && { dueDate: addDays(start, dueDay) }),
  })
  return {
    plan: {
      name: name ?? template.name,
      description: template.description,
      language: template.language,
      dueDate: addDays(start, template.durationDays),
      ...(start > today ? { proposedStartDate: start } : { actualStartDate: start }),
    },
    goals: template.goals.map(({ tasks, ...goal }) => ({ goal: due(goal), tasks: tasks.map(due) })),
  }
}

/** Goals and tasks in their stored form. @throws RuleViolated */
export function buildGoalsAndTasks(
  goals: PlanFromTemplate['goals'],
  parentIds: { ehrId: string; carePlanId: string },
  newId: () => string,
) {
  const goalIds = newAscendingIds(goals, newId)
  const placedGoals = goals.map(({ goal }, i) => {
    const one = { ...withoutNulls(goal), ...parentIds }
    validateNewRecord(Goal, one)
    return { ...one, status: 'ACTIVE' as const, id: goalIds[i] ?? newId() }
  })
  const placedTasks = goals.flatMap(({ tasks }, i) => {
    const taskIds = newAscendingIds(tasks, newId)
    return tasks.map((task, j) => {
      const one = { ...withoutNulls(task), ...parentIds, goalId: goalIds[i] ?? '' }
      validateNewRecord(Task, one)
      return { ...one, status: 'ACTIVE' as const, id: taskIds[j] ?? newId() }
    })
  })
  return { goals: placedGoals, tasks: placedTasks }
}

/** Ascending ids keep the template's order: lists sort records created at the same instant by id. */
const newAscendingIds = (parts: readonly unknown[], newId: () => string): string[] =>
  parts.map(() => newId()).sort()
