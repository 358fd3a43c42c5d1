import { CarePlanResource } from '../../schemas/care-plan-resource.ts'
import { CarePlanTemplate, TemplateUse, templateLanguage } from '../../schemas/care-plan-template.ts'
import { list } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { planAnswer } from './care-plan-representation.ts'
import { inBoth } from './mounts.ts'

const source = 'Endpoints, EHR data; Endpoints, Medical data'

export const carePlanTemplates = [
  list({
    id: 'listCarePlanTemplates',
    path: '/ehr/careplan/template',
    summary: 'List the care-plan templates',
    source: 'Endpoints, EHR data',
    access: 'user',
    query: { language: templateLanguage },
    item: CarePlanTemplate,
    handle: ({ query: { language }, page }, { carePlans }) => carePlans.templates.list(language, page),
  }),
  ...inBoth(({ base, of }) =>
    operation({
      id: `create${of}CarePlanFromTemplate`,
      method: 'post',
      path: `${base}/{ehrId}/careplan/template/{guidelineId}`,
      summary: 'Create a care plan from a template',
      description: 'With its goals and tasks; their dates count from the start.',
      source,
      access: 'ehr:write',
      body: TemplateUse,
      reply: [201, CarePlanResource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params: { ehrId, guidelineId }, body }, { caller, carePlans, newId }) => {
        const plan = await carePlans.createFromTemplate(caller, ehrId, guidelineId, body, newId)
        return planAnswer(plan, `${base}/${ehrId}/careplan/${plan.id}`)
      },
    }),
  ),
]
