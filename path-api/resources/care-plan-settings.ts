import { CarePlanSettings } from '../../schemas/settings.ts'
import { planDocument } from './plan-document.ts'

export const carePlanSettings = planDocument({
  path: '/med/{ehrId}/careplan/{careplanId}/settings',
  name: 'Settings',
  source: 'Endpoints, Medical data',
  schema: CarePlanSettings,
  documentsOf: ({ carePlans }) => carePlans.settings,
  saving: {
    method: 'post',
    description: 'Replaces the former settings, which are kept in the history.',
    errors: ['PreconditionFailed'],
  },
})
