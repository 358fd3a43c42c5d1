import { planDocument } from '../../registered/plan-documents.ts'

/** The limits within which the measurements of a care plan should be. */
export const PlanThresholds = planDocument('plan.thresholds', { en: 'thresholds', nl: 'grenswaarden' })
