import { Type } from '@sinclair/typebox'
import { Closing } from '../../schemas/care-plan-resource.ts'
import { id } from '../../schemas/common.ts'
import { Task } from '../../schemas/task.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { taskOf } from './care-plan-representation.ts'
import { inBoth } from './mounts.ts'

const source = 'Endpoints, EHR data; Endpoints, Medical data'

interface TaskParams {
  ehrId: string
  careplanId: string
  goalId: string
  taskId: string
}

const keyOf = ({ ehrId, careplanId, goalId, taskId }: TaskParams) => ({
  id: taskId,
  ehrId,
  carePlanId: careplanId,
  goalId,
})

const filters = {
  assignee: Task.fields.assignee,
  carePlanId: Type.Optional(id('the care plan that they are registered in')),
  dueBefore: Type.Optional(
    Type.String({
      format: 'date',
      description: 'Due before this day; tasks without a due date are left out',
    }),
  ),
}

export const tasks = inBoth(
  ({ base, of }) =>
    list({
      id: `list${of}Todo`,
      path: `${base}/{ehrId}/careplan/todo`,
      summary: 'List the open tasks of an EHR',
      description:
        'Those of the care plans that the caller may see: the longest overdue first, those without a due date last. ' +
        'Open tasks of closed plans and goals are included.',
      source,
      access: 'ehr:read',
      query: filters,
      item: Task.resource,
      handle: async ({ params: { ehrId }, query, page }, { caller, carePlans }) =>
        pageAs(await carePlans.tasks.todo(caller, ehrId, query, page), taskOf),
    }),
  ({ base, of }) =>
    operation({
      id: `add${of}Task`,
      kind: 'Task',
      method: 'post',
      path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/task`,
      summary: 'Add a task to a goal',
      description: 'A goal has at most 100 tasks, and accepts none once it or its plan is closed.',
      source,
      access: 'plan:write',
      body: Task.body,
      reply: [201, Task.resource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params, body }, { caller, carePlans, newId }) => {
        const { ehrId, careplanId, goalId } = params
        const place = { ehrId, carePlanId: careplanId, goalId }
        const task = await carePlans.tasks.create(caller, place, body, newId())
        const location = `${base}/${ehrId}/careplan/${careplanId}/goal/${goalId}/task/${task.id}`
        return answer(taskOf(task), { version: task.version, location })
      },
    }),
  ({ base, of }) =>
    operation({
      id: `update${of}Task`,
      method: 'put',
      path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/task/{taskId}`,
      summary: 'Replace a task',
      source,
      access: 'plan:write',
      body: Task.replacement,
      reply: [200, Task.resource, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      handle: async ({ params, body: { id, ...body } }, { caller, carePlans, expected }) => {
        if (id !== undefined) requireSameId('id', id, params.taskId)
        const task = await carePlans.tasks.replace(caller, keyOf(params), body, { expected })
        return answer(taskOf(task), { version: task.version })
      },
    }),
  ({ base, of }) =>
    operation({
      id: `close${of}Task`,
      method: 'post',
      path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/task/{taskId}/close`,
      summary: 'Close a task',
      source: `${source}; States and transitions`,
      access: 'plan:write',
      body: Closing,
      reply: [200, Task.resource, 'versioned'],
      errors: ['RuleViolated', 'PreconditionFailed'],
      handle: async ({ params, body }, { caller, carePlans, expected, again }) => {
        const task = await carePlans.tasks.close(caller, keyOf(params), body, { expected, again })
        return answer(taskOf(task), { version: task.version })
      },
    }),
)
