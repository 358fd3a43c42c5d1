import { type TProperties, Type } from '@sinclair/typebox'
import { closed, line } from './common.ts'

const bound = Type.Optional(Type.Number({ description: 'A bound, in the unit of the set' }))

const Bounds = Type.Object(
  { gt: bound, gte: bound, lt: bound, lte: bound },
  { additionalProperties: false, minProperties: 1, description: 'Bounds of a value; all must hold' },
)

export interface Bounds {
  gt?: number
  gte?: number
  lt?: number
  lte?: number
}

/** One condition: bounds of the values, by their names. */
export type Band<Name extends string = string> = {
  code: string
  label: string
  /** Bands are tried from the highest down. */
  severity: number
  /** Whether one of the values suffices, or all of them must match; `all` where there is but one. */
  combine?: 'any' | 'all'
} & { [name in Name]?: Bounds }

/** Conditions; what no band matches is unclassified. */
export interface ThresholdSet<Name extends string = string> {
  name: string
  unit: string
  bands: readonly Band<Name>[]
}

/** Limits of a person, as `systolicLow` and `systolicHigh`. */
export type Limits<Name extends string = string> = { unit: string } & {
  [name in `${Name}Low` | `${Name}High`]?: number
}

const unit = (of: string, units: readonly string[]) =>
  Type.String({
    minLength: 1,
    maxLength: 20,
    description: `Unit of ${of}, as UCUM code: ${units.join(', ')}`,
    examples: [units[0]],
  })

function bandOf(names: readonly string[]) {
  const combine = Type.Unsafe<'any' | 'all'>({
    type: 'string',
    enum: ['any', 'all'],
    description: 'Whether one of the values suffices, or all must match',
  })
  const bounds: TProperties = Object.fromEntries(names.map((name) => [name, Type.Optional(Bounds)]))
  return Type.Object(
    {
      code: line('What the condition is called'),
      label: line('The condition in words'),
      severity: Type.Number({
        description: 'Bands are tried from the highest down; the first match wins. Up to 0 all is well',
      }),
      combine: names.length > 1 ? combine : Type.Optional(combine),
      ...bounds,
    },
    { additionalProperties: false, description: 'One condition' },
  )
}

/** The forms in which thresholds of some values may be given, without their rules. */
export function thresholdForms(names: readonly string[], units: readonly string[]) {
  const limit = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))
  const limits: TProperties = Object.fromEntries(
    names.flatMap((name) => [
      [`${name}Low`, limit(`Below it ${name} is low`)],
      [`${name}High`, limit(`Above it ${name} is high`)],
    ]),
  )
  return {
    limits: Type.Object(
      { ...limits, unit: unit('the limits', units) },
      { additionalProperties: false, minProperties: 2, description: 'Limits of a person' },
    ),
    set: closed('ThresholdSet', "A caller's own set of conditions", {
      name: line('Name of the set'),
      unit: unit('the bounds', units),
      bands: Type.Array(bandOf(names), {
        minItems: 1,
        maxItems: 20,
        description: 'The conditions, in any order',
      }),
    }),
  }
}
