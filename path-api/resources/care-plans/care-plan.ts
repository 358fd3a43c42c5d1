import { Type } from '@sinclair/typebox'
import { CarePlanForms } from '../../../schemas/care-plans/care-plan.ts'
import {
  CarePlanResource,
  CarePlanSummary,
  ClosedCarePlan,
  ClosingRequestWithContents,
} from '../../../schemas/care-plans/care-plan-resource.ts'
import { StatusEnum } from '../../../schemas/enums.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { mountAtEhrAndMed } from '../prefixes.ts'
import {
  carePlanContents,
  openItems,
  replyWithCarePlan,
  replyWithContents,
  toCarePlanResource,
  toCarePlanSummary,
} from './care-plan-representation.ts'

const carePlanSource = 'Endpoints, EHR data; Endpoints, Medical data; Class CarePlan'

const dayParameter = (description: string) => Type.Optional(Type.String({ format: 'date', description }))

const carePlanFilters = {
  status: Type.Optional(StatusEnum),
  name: Type.Optional({ ...CarePlanForms.fields.name, description: 'Exact name' }),
  from: dayParameter('First day of creation, in UTC'),
  to: dayParameter('End of the period of creation (exclusive), a day in UTC'),
}

export const carePlanOperations = mountAtEhrAndMed(
  ({ base, idInfix }) =>
    defineListOperation({
      id: `list${idInfix}CarePlans`,
      path: `${base}/{ehrId}/careplan`,
      summary: 'List the care plans of an EHR',
      description: 'Returns the plans that the caller may see, newest first and without their goals.',
      source: carePlanSource,
      access: 'ehr:read',
      query: carePlanFilters,
      item: CarePlanSummary,
      order: 'desc',
      handle: async ({ params: { ehrId }, query, page }, { caller, carePlans }) =>
        mapPage(await carePlans.list(caller, ehrId, query, page), toCarePlanSummary),
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `create${idInfix}CarePlan`,
      kind: 'CarePlan',
      method: 'post',
      path: `${base}/{ehrId}/careplan`,
      summary: 'Create a care plan',
      source: carePlanSource,
      access: 'ehr:write',
      body: CarePlanForms.body,
      reply: [201, CarePlanResource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params: { ehrId }, body }, { caller, carePlans, newId }) => {
        const plan = await carePlans.create(caller, ehrId, body, newId())
        return replyWithCarePlan(plan, `${base}/${ehrId}/careplan/${plan.id}`)
      },
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `get${idInfix}CarePlan`,
      method: 'get',
      path: `${base}/{ehrId}/careplan/{careplanId}`,
      summary: 'Get a care plan with its goals and their tasks',
      source: carePlanSource,
      access: 'plan:read',
      reply: [200, CarePlanResource, 'versioned'],
      handle: async ({ params: { ehrId, careplanId } }, { caller, carePlans }) =>
        replyWithCarePlan(await carePlans.get(caller, { id: careplanId, ehrId })),
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `update${idInfix}CarePlan`,
      method: 'put',
      path: `${base}/{ehrId}/careplan/{careplanId}`,
      summary: 'Replace a care plan, but not its goals',
      source: carePlanSource,
      access: 'plan:write',
      body: CarePlanForms.replacement,
      reply: [200, CarePlanResource, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      handle: async ({ params, body: { id, ...body } }, { caller, carePlans, ifMatch }) => {
        const { ehrId, careplanId } = params
        requireSameId('id', id, careplanId)
        return replyWithCarePlan(
          await carePlans.replace(caller, { id: careplanId, ehrId }, body, { expected: ifMatch }),
        )
      },
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `delete${idInfix}CarePlan`,
      method: 'delete',
      path: `${base}/{ehrId}/careplan/{careplanId}`,
      summary: 'Delete a care plan with all its records',
      description:
        'Restoring a former version brings the plan back, with its goals, tasks, measurements, participants and ' +
        'chats. Participants cannot delete a plan.',
      source: 'Class CarePlan: deletion',
      extra: true,
      access: 'plan:delete',
      reply: [204],
      handle: async ({ params: { ehrId, careplanId } }, { caller, carePlans, ifMatch }) => {
        await carePlans.remove(caller, { id: careplanId, ehrId }, { expected: ifMatch })
      },
    }),
  ({ base, idInfix }) =>
    defineOperation({
      id: `close${idInfix}CarePlan`,
      method: 'post',
      path: `${base}/{ehrId}/careplan/{careplanId}/close`,
      summary: 'Close a care plan',
      description:
        'The response lists the goals and tasks that are still open; `closeOpen` closes them, too.',
      source: `${carePlanSource}; States and transitions`,
      access: 'plan:write',
      body: ClosingRequestWithContents,
      reply: [200, ClosedCarePlan, 'versioned'],
      errors: ['RuleViolated', 'PreconditionFailed'],
      handle: async ({ params: { ehrId, careplanId }, body }, { caller, carePlans, ifMatch, isRetry }) => {
        const plan = await carePlans.close(caller, { id: careplanId, ehrId }, body, {
          expected: ifMatch,
          isRetry,
        })
        const tasks = plan.goals.flatMap(({ tasks }) => tasks)
        return replyWithContents(
          { ...toCarePlanResource(plan), open: openItems(plan.goals, tasks) },
          plan,
          carePlanContents(plan),
        )
      },
    }),
)
