import type { FieldDerivation } from '../store/backfill/field-derivation.ts'

/** EHRs from before 21 November 2026 may lack `pending: false`. */
export const ehrDerivation: FieldDerivation = {
  collection: 'Ehr',
  version: 1,
  fields: ['pending'],
  batchSize: 200,
  areShown: true,
  derive: async (_, { pending }) => ({ pending: pending === true }),
}
