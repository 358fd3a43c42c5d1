import { definePlanDocument } from '../../ehr-records/plan-documents.ts'

/** The limits within which the measurements of a care plan should be. */
export const PlanThresholds = definePlanDocument('plan.thresholds', { en: 'thresholds', nl: 'grenswaarden' })
