import { mounted } from '../operation/mounted.ts'
import type { Operation } from '../operation/operation.ts'

/** Where the operations on EHRs are mounted that both path prefixes offer. */
export interface Mount {
  base: '/ehr' | '/med'
  /** In the operations' ids: `addGoal`, `addMedicalGoal`. */
  of: '' | 'Medical'
}

const mounts: readonly Mount[] = [
  { base: '/ehr', of: '' },
  { base: '/med', of: 'Medical' },
]

/** The same operations, below /ehr and below /med. */
export const inBoth = (...operations: ((mount: Mount) => Operation)[]): Operation[] =>
  mounted(mounts, ...operations)
