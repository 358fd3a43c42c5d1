import { Type } from '@sinclair/typebox'
import { CarePlan } from '../../schemas/care-plan.ts'
import {
  CarePlanResource,
  CarePlanSummary,
  ClosedCarePlan,
  ClosingWithContents,
} from '../../schemas/care-plan-resource.ts'
import { StatusEnum } from '../../schemas/enum.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { answerWith, contentsOf, openOf, planAnswer, planOf, summaryOf } from './care-plan-representation.ts'
import { inBoth } from './mounts.ts'

const source = 'Endpoints, EHR data; Endpoints, Medical data; Class CarePlan'

const day = (description: string) => Type.Optional(Type.String({ format: 'date', description }))

const filters = {
  status: Type.Optional(StatusEnum),
  name: Type.Optional({ ...CarePlan.fields.name, description: 'The exact name' }),
  from: day('Created on this day or later, in UTC'),
  to: day('Created before this day, in UTC'),
}

export const carePlans = inBoth(
  ({ base, of }) =>
    list({
      id: `list${of}CarePlans`,
      path: `${base}/{ehrId}/careplan`,
      summary: 'List the care plans of an EHR',
      description: 'Those that the caller may see, newest first. Only a single plan is shown with its goals.',
      source,
      access: 'ehr:read',
      query: filters,
      item: CarePlanSummary,
      order: 'desc',
      handle: async ({ params: { ehrId }, query, page }, { caller, carePlans }) =>
        pageAs(await carePlans.list(caller, ehrId, query, page), summaryOf),
    }),
  ({ base, of }) =>
    operation({
      id: `create${of}CarePlan`,
      kind: 'CarePlan',
      method: 'post',
      path: `${base}/{ehrId}/careplan`,
      summary: 'Create a care plan',
      source,
      access: 'ehr:write',
      body: CarePlan.body,
      reply: [201, CarePlanResource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params: { ehrId }, body }, { caller, carePlans, newId }) => {
        const plan = await carePlans.create(caller, ehrId, body, newId())
        return planAnswer(plan, `${base}/${ehrId}/careplan/${plan.id}`)
      },
    }),
  ({ base, of }) =>
    operation({
      id: `get${of}CarePlan`,
      method: 'get',
      path: `${base}/{ehrId}/careplan/{careplanId}`,
      summary: 'Show a care plan with its goals and their tasks',
      source,
      access: 'plan:read',
      reply: [200, CarePlanResource, 'versioned'],
      handle: async ({ params: { ehrId, careplanId } }, { caller, carePlans }) =>
        planAnswer(await carePlans.get(caller, { id: careplanId, ehrId })),
    }),
  ({ base, of }) =>
    operation({
      id: `update${of}CarePlan`,
      method: 'put',
      path: `${base}/{ehrId}/careplan/{careplanId}`,
      summary: 'Replace a care plan; its goals stay',
      source,
      access: 'plan:write',
      body: CarePlan.replacement,
      reply: [200, CarePlanResource, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      handle: async ({ params, body: { id, ...body } }, { caller, carePlans, expected }) => {
        const { ehrId, careplanId } = params
        if (id !== undefined) requireSameId('id', id, careplanId)
        return planAnswer(await carePlans.replace(caller, { id: careplanId, ehrId }, body, { expected }))
      },
    }),
  ({ base, of }) =>
    operation({
      id: `close${of}CarePlan`,
      method: 'post',
      path: `${base}/{ehrId}/careplan/{careplanId}/close`,
      summary: 'Close a care plan',
      description: 'The answer lists the goals and tasks that are still open; `closeOpen` closes them, too.',
      source: `${source}; States and transitions`,
      access: 'plan:write',
      body: ClosingWithContents,
      reply: [200, ClosedCarePlan, 'versioned'],
      errors: ['RuleViolated', 'PreconditionFailed'],
      handle: async ({ params: { ehrId, careplanId }, body }, { caller, carePlans, expected, again }) => {
        const plan = await carePlans.close(caller, { id: careplanId, ehrId }, body, { expected, again })
        const tasks = plan.goals.flatMap(({ tasks }) => tasks)
        return answerWith({ ...planOf(plan), open: openOf(plan.goals, tasks) }, plan, contentsOf(plan))
      },
    }),
)
