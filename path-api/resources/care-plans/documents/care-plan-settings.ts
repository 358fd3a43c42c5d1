import { CarePlanSettings } from '../../../../schemas/care-plans/care-plan-settings.ts'
import { definePlanDocumentOperations } from './plan-document.ts'

export const carePlanSettingsOperations = definePlanDocumentOperations({
  path: '/med/{ehrId}/careplan/{careplanId}/settings',
  name: 'Settings',
  source: 'Endpoints, Medical data',
  schema: CarePlanSettings,
  documentsOf: ({ carePlans }) => carePlans.settings,
  saving: {
    method: 'post',
    description: 'The history keeps the former settings.',
    errors: ['PreconditionFailed'],
  },
})
