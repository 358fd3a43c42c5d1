import { Type } from '@sinclair/typebox'
import { internalField } from '../forms/fields.ts'

/** More characters than the digits of any quantity have. */
export const MAX_DECIMAL_LENGTH = 64

/** The digits of numbers by field, for those whose number says less: `{ weight: '71.000' }`. */
export type Decimals = Readonly<Record<string, string>>

/** A number has no trailing zeros, and at most 17 digits. FHIR returns all that were sent. */
export const decimalsField = internalField(
  Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[A-Za-z]\\w*$' }),
      Type.String({ maxLength: MAX_DECIMAL_LENGTH, description: 'Digits of the number' }),
      {
        additionalProperties: false,
        description: 'Digits of numbers by field, as FHIR sent them, where the number says less',
      },
    ),
  ),
)

/** The digits that still say the number of their field. */
export const matchingDecimals = (
  decimals: Decimals,
  values: Readonly<Record<string, unknown>>,
): [field: string, digits: string][] =>
  Object.entries(decimals).filter(([field, digits]) => Number(digits) === values[field])

/** The digits that a changed record has. Clients who know numbers only leave the digits of those that stay. */
export function decimalsAfterChange(
  current: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): { decimals?: Decimals } {
  const same = matchingDecimals((next.decimals ?? current.decimals ?? {}) as Decimals, next)
  return same.length > 0 ? { decimals: Object.fromEntries(same) } : {}
}
