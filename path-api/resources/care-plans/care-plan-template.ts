import { CarePlanResource } from '../../../schemas/care-plans/care-plan-resource.ts'
import {
  CarePlanTemplate,
  TemplateAddition,
  TemplateUse,
  templateLanguageParameter,
} from '../../../schemas/care-plans/care-plan-template.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { mountAtEhrAndMed } from '../prefixes.ts'
import { replyWithCarePlan } from './care-plan-representation.ts'

const carePlanTemplatesSource = 'Endpoints, EHR data; Endpoints, Medical data'

export const carePlanTemplateOperations = [
  defineListOperation({
    id: 'listCarePlanTemplates',
    path: '/ehr/careplan/template',
    summary: 'List the care-plan templates',
    source: 'Endpoints, EHR data',
    access: 'user',
    query: { language: templateLanguageParameter },
    item: CarePlanTemplate,
    handle: ({ query: { language }, page }, { carePlans }) => carePlans.templates.list(language, page),
  }),
  ...mountAtEhrAndMed(({ base, idInfix }) =>
    defineOperation({
      id: `create${idInfix}CarePlanFromTemplate`,
      method: 'post',
      path: `${base}/{ehrId}/careplan/template/{guidelineId}`,
      summary: 'Create a care plan from a template',
      description:
        'Creates the goals and tasks of the template, too; their due dates count from the start date.',
      source: carePlanTemplatesSource,
      access: 'ehr:write',
      body: TemplateUse,
      reply: [201, CarePlanResource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params: { ehrId, guidelineId }, body }, { caller, carePlans, newId }) => {
        const plan = await carePlans.createFromTemplate(caller, ehrId, guidelineId, body, newId)
        return replyWithCarePlan(plan, `${base}/${ehrId}/careplan/${plan.id}`)
      },
    }),
  ),
  defineOperation({
    id: 'addCarePlanTemplate',
    kind: 'Goal',
    method: 'post',
    path: '/ehr/{ehrId}/careplan/{careplanId}/template/{guidelineId}',
    summary: 'Apply a template to a care plan',
    description:
      'Due dates count from the start date. A plan has at most 100 goals, and a closed plan accepts none. A template with more than 1,000 goals and tasks only creates plans.',
    source: 'templates in a plan that exists',
    extra: true,
    access: 'plan:write',
    body: TemplateAddition,
    reply: [200, CarePlanResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId, careplanId, guidelineId }, body }, { caller, carePlans, newId }) => {
      const key = { ehrId, id: careplanId }
      return replyWithCarePlan(await carePlans.addFromTemplate(caller, key, guidelineId, body, newId))
    },
  }),
]
