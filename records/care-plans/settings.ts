import { planDocument } from '../registered/plan-documents.ts'

/** What clients keep of a care plan as they like. */
export const PlanSettings = planDocument('plan.settings', { en: 'settings', nl: 'instellingen' })
