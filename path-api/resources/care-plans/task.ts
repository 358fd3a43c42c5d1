import { Type } from '@sinclair/typebox'
import { ClosingRequest } from '../../../schemas/care-plans/care-plan-resource.ts'
import { TaskForms } from '../../../schemas/care-plans/task.ts'
import { idField } from '../../../schemas/common.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { replyWith } from '../../reply/reply.ts'
import { mountAtEhrAndMed } from '../prefixes.ts'
import { toTaskResource } from './care-plan-representation.ts'

const taskSource = 'Endpoints, EHR data; Endpoints, Medical data'

interface TaskParams {
  ehrId: string
  careplanId: string
  goalId: string
  taskId: string
}

const taskKeyOf = ({ ehrId, careplanId, goalId, taskId }: TaskParams) => ({
  id: taskId,
  ehrId,
  carePlanId: careplanId,
  goalId,
})

const taskFilters = {
  assignee: TaskForms.fields.assignee,
  carePlanId: Type.Optional(idField('the care plan in which the records are registered')),
  dueBefore: Type.Optional(
    Type.String({
      format: 'date',
      description: 'Day before which the tasks are due; excludes tasks without a due date',
    }),
  ),
}

export const taskOperations = mountAtEhrAndMed(
  ({ base, idInfix }) =>
    defineListOperation({
      id: `list${idInfix}Todo`,
      path: `${base}/{ehrId}/careplan/todo`,
      summary: 'List the open tasks of an EHR',
      description:
        'Returns the open tasks of all care plans that the caller may see, closed plans and goals included. ' +
        'The longest overdue task comes first; tasks without a due date come last.',
      source: taskSource,
      access: 'ehr:read',
      query: taskFilters,
      item: TaskForms.resource,
      handle: async ({ params: { ehrId }, query, page }, { caller, carePlans }) =>
        mapPage(await carePlans.tasks.listTodo(caller, ehrId, query, page), toTaskResource),
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `add${idInfix}Task`,
      kind: 'Task',
      method: 'post',
      path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/task`,
      summary: 'Create a task of a goal',
      description:
        'A goal has at most 100 tasks. A closed goal, and any goal of a closed plan, accepts no tasks.',
      source: taskSource,
      access: 'plan:write',
      body: TaskForms.body,
      reply: [201, TaskForms.resource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params, body }, { caller, carePlans, newId }) => {
        const { ehrId, careplanId, goalId } = params
        const parentIds = { ehrId, carePlanId: careplanId, goalId }
        const task = await carePlans.tasks.create(caller, parentIds, body, newId())
        return replyWith(toTaskResource(task), { version: task.version })
      },
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `update${idInfix}Task`,
      method: 'put',
      path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/task/{taskId}`,
      summary: 'Replace a task',
      source: taskSource,
      access: 'plan:write',
      body: TaskForms.replacement,
      reply: [200, TaskForms.resource, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      readCurrent: async ({ params }, { caller, carePlans }) => {
        const task = await carePlans.tasks.get(caller, taskKeyOf(params))
        return replyWith(toTaskResource(task), { version: task.version })
      },
      handle: async ({ params, body: { id, ...body } }, { caller, carePlans, ifMatch }) => {
        requireSameId('id', id, params.taskId)
        const task = await carePlans.tasks.replace(caller, taskKeyOf(params), body, { expected: ifMatch })
        return replyWith(toTaskResource(task), { version: task.version })
      },
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `close${idInfix}Task`,
      method: 'post',
      path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/task/{taskId}/close`,
      summary: 'Close a task',
      source: `${taskSource}; States and transitions`,
      access: 'plan:write',
      body: ClosingRequest,
      reply: [200, TaskForms.resource, 'versioned'],
      errors: ['RuleViolated', 'PreconditionFailed'],
      handle: async ({ params, body }, { caller, carePlans, ifMatch, isRetry }) => {
        const task = await carePlans.tasks.close(caller, taskKeyOf(params), body, {
          expected: ifMatch,
          isRetry,
        })
        return replyWith(toTaskResource(task), { version: task.version })
      },
    }),
)
