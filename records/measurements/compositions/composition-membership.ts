import { Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { derivedField } from '../../../schemas/forms/fields.ts'
import type { Values } from '../../ehr-records/kind.ts'

/** Filter for measurements in no plan: each is part of a composition of the EHR itself. */
export const IN_EHR_COMPOSITION_FILTER = { carePlanId: null, compositionId: { $exists: true } } as const
/** The same filter, in the form that lists take. */
export const IN_EHR_COMPOSITION_WHERE = { carePlanId: null, compositionId: { exists: true } } as const

const fromCompositionIndex: IndexDescription = {
  name: 'of_compositions',
  key: { ehrId: 1, carePlanId: 1, timestamp: -1, _id: -1 },
  partialFilterExpression: { compositionId: IN_EHR_COMPOSITION_FILTER.compositionId },
}

/** Index of the manually entered measurements. */
export const MANUALLY_ENTERED_INDEX = {
  name: 'typed_in',
  key: { compositionId: 1, ehrId: 1, timestamp: -1, _id: -1 },
} as const

/** Index of the manually entered measurements by time, across all EHRs. */
export const MANUALLY_ENTERED_AT_INDEX = {
  name: 'typed_in_at',
  key: { timestamp: 1 },
  partialFilterExpression: { compositionId: null },
} as const

/** Index of the manually entered measurements by a value, across all EHRs. */
export const manuallyEnteredIndexOf = (field: string) => ({
  name: `${MANUALLY_ENTERED_INDEX.name}_${field}`,
  key: { compositionId: 1, [field]: 1, timestamp: 1 } as const,
})

/** Filter for measurements from compositions, in the form that a partial index accepts. */
export const FROM_COMPOSITION_FILTER = { compositionId: { $gt: '' } } as const

/** The composition that contains the measurement. */
export const compositionId = derivedField(
  Type.Optional(
    Type.String({
      description:
        'Id of the composition that contains the measurement and must be changed instead; absent if none does',
    }),
  ),
)

/** @throws Conflict if the measurement is part of a composition and can change only with it */
export function refuseChangeOfMember({ compositionId }: Values): void {
  if (compositionId === undefined) return
  throw new ServiceError('Conflict', {
    detail: `This measurement is part of a composition. Change or delete it there: composition/${compositionId} of the EHR.`,
  })
}

/** @param fields the value fields of the series */
export const compositionIndexes = (fields: readonly string[]): IndexDescription[] => [
  fromCompositionIndex,
  MANUALLY_ENTERED_INDEX,
  MANUALLY_ENTERED_AT_INDEX,
  ...fields.map(manuallyEnteredIndexOf),
]
