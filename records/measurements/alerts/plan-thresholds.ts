import { planDocument } from '../../registered/plan-documents.ts'

/** Within which limits the measurements of a care plan should lie. */
export const PlanThresholds = planDocument('plan.thresholds', { en: 'thresholds', nl: 'grenswaarden' })
