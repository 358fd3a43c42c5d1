import type { Operation } from '../operation/operation.ts'

/** Path prefix for operations on EHRs. */
export interface EhrPathPrefix {
  base: '/ehr' | '/med'
  /** Part of the operation ids: `addGoal`, `addMedicalGoal`. */
  idInfix: '' | 'Medical'
}

const EHR_PATH_PREFIXES: readonly EhrPathPrefix[] = [
  { base: '/ehr', idInfix: '' },
  { base: '/med', idInfix: 'Medical' },
]

/** Creates the operations for each prefix, with different paths and ids. */
export const mountAtEach = <M>(
  places: readonly M[],
  ...operations: ((place: M) => Operation)[]
): Operation[] => places.flatMap((place) => operations.map((make) => make(place)))

/** Creates the operations below /ehr and /med. */
export const mountAtEhrAndMed = (...operations: ((mount: EhrPathPrefix) => Operation)[]): Operation[] =>
  mountAtEach(EHR_PATH_PREFIXES, ...operations)
