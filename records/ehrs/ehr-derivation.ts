import { createFieldDerivation } from '../store/backfill/derivation.ts'

/** EHRs from before 21 November 2026 may lack `pending: false`. */
export const ehrDerivation = createFieldDerivation({
  collection: 'Ehr',
  version: 1,
  fields: ['pending'],
  batchSize: 200,
  areShown: true,
  derive: async (_, { pending }) => ({ pending: pending === true }),
})
