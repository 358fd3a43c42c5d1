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

/** The same operations at each of several places, which differ in their paths and their operations' ids. */
export const mounted = <M>(places: readonly M[], ...operations: ((place: M) => Operation)[]): Operation[] =>
  places.flatMap((place) => operations.map((make) => make(place)))

/** The same operations, below /ehr and below /med. */
export const inBoth = (...operations: ((mount: Mount) => Operation)[]): Operation[] =>
  mounted(mounts, ...operations)
