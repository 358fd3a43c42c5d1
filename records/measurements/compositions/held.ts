import { Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { derived } from '../../../schemas/forms/fields.ts'
import type { Values } from '../../registered/kind.ts'

/** What is true of the measurements that are in no plan: a composition of the EHR as a whole holds them. */
export const HELD_IN_EHR = { carePlanId: null, compositionId: { $exists: true } } as const
/** The same as lists ask for it. */
export const OUTSIDE_PLANS = { carePlanId: null, compositionId: { exists: true } } as const

const ofCompositions: IndexDescription = {
  name: 'of_compositions',
  key: { ehrId: 1, carePlanId: 1, timestamp: -1, _id: -1 },
  partialFilterExpression: { compositionId: HELD_IN_EHR.compositionId },
}

/** Of what no composition holds. */
export const TYPED_IN = 'typed_in'
const ofTypedIn: IndexDescription = {
  name: TYPED_IN,
  key: { compositionId: 1, ehrId: 1, timestamp: -1, _id: -1 },
}

/** Of those by their time, whosever they are. */
export const TYPED_IN_AT = 'typed_in_at'
const ofTypedInAt: IndexDescription = {
  name: TYPED_IN_AT,
  key: { timestamp: 1 },
  partialFilterExpression: { compositionId: null },
}

/** Of those by a value, whosever it is. */
export const typedInBy = (field: string): string => `${TYPED_IN}_${field}`
const ofTypedInBy = (field: string): IndexDescription => ({
  name: typedInBy(field),
  key: { compositionId: 1, [field]: 1, timestamp: 1 },
})

/** What is true of those that a composition holds, as an index counts them. */
export const HELD_BY = { compositionId: { $gt: '' } } as const

/** Which composition holds a measurement. */
export const compositionId = derived(
  Type.Optional(
    Type.String({
      description: 'The composition that holds it, and with which it is changed; absent: none does',
    }),
  ),
)

/** @throws Conflict for what is changed with its composition */
export function refuseChange({ compositionId }: Values): void {
  if (compositionId === undefined) return
  throw new ServiceError('Conflict', {
    detail: `The composition ${compositionId} holds this measurement: it is changed and removed with that, see composition/${compositionId} of the EHR.`,
  })
}

/** @param fields of its series */
export const heldIndexes = (fields: readonly string[]): IndexDescription[] => [
  ofCompositions,
  ofTypedIn,
  ofTypedInAt,
  ...fields.map(ofTypedInBy),
]
