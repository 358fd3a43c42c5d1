import { definePlanDocument } from '../ehr-records/plan-documents.ts'

/** The settings that clients store with a care plan, in any form. */
export const PlanSettings = definePlanDocument('plan.settings', { en: 'settings', nl: 'instellingen' })
