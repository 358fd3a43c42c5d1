import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { closedObject, shortTextField } from '../common.ts'

const boundField = Type.Optional(Type.Number({ description: 'Bound, in the unit of the set' }))

const Bounds = Type.Object(
  { gt: boundField, gte: boundField, lt: boundField, lte: boundField },
  { additionalProperties: false, minProperties: 1, description: 'Bounds of a value; all must hold' },
)

export interface Bounds {
  gt?: number
  gte?: number
  lt?: number
  lte?: number
}

/** A band: bounds by value name. */
export type Band<Name extends string = string> = {
  code: string
  label: string
  /** Bands are tried in descending order of severity. */
  severity: number
  /** `any`: one matching value suffices; `all`: all values must match. A single value needs `all`. */
  combine?: 'any' | 'all'
} & { [name in Name]?: Bounds }

/** A set of bands; a value outside all bands is unclassified. */
export interface ThresholdSet<Name extends string = string> {
  name: string
  unit: string
  bands: readonly Band<Name>[]
}

/** Limits for a person: `systolicLow`, `systolicHigh`. */
export type PersonalLimits<Name extends string = string> = { unit: string } & {
  [name in `${Name}Low` | `${Name}High`]?: number
}

const thresholdUnitField = (noun: string, units: readonly string[]) =>
  Type.String({
    minLength: 1,
    maxLength: 20,
    documented: { enum: units },
    description: `Unit of ${noun}`,
    examples: [units[0]],
  })

function bandSchema(names: readonly string[]) {
  const combine = Type.Unsafe<'any' | 'all'>({
    type: 'string',
    enum: ['any', 'all'],
    description: 'Combination of the values: any one matches, or all must match',
  })
  const bounds: TProperties = Object.fromEntries(names.map((name) => [name, Type.Optional(Bounds)]))
  return Type.Object(
    {
      code: shortTextField('Code of the band'),
      label: shortTextField('Label of the band'),
      severity: Type.Number({
        description:
          'Severity of the band. Bands are tried from the highest severity down; the first match wins. Up to 0 is normal',
      }),
      combine: names.length > 1 ? combine : Type.Optional(combine),
      ...bounds,
    },
    { additionalProperties: false, description: 'A band' },
  )
}

/** The forms of thresholds for the documents. In requests a rule checks the form that the value has. */
export function documentThresholds(
  names: readonly string[],
  units: readonly string[],
  presets: readonly string[],
): TSchema {
  const { limits, set } = thresholdForms(names, units, 0)
  const { $id: _, ...bands } = set
  const preset = Type.Unsafe<string>({ type: 'string', enum: presets, description: 'Name of a preset' })
  return { anyOf: [...(presets.length > 0 ? [preset] : []), limits, bands] } as unknown as TSchema
}

/** Schemas of thresholds, without their rules. @param minimum that of the values; undefined: they may be below 0 */
export function thresholdForms(names: readonly string[], units: readonly string[], minimum?: number) {
  const bound = minimum === undefined ? {} : { minimum }
  const limit = (description: string) => Type.Optional(Type.Number({ ...bound, description }))
  const limits: TProperties = Object.fromEntries(
    names.flatMap((name) => [
      [`${name}Low`, limit(`Lower limit of ${name}`)],
      [`${name}High`, limit(`Upper limit of ${name}`)],
    ]),
  )
  return {
    limits: Type.Object(
      { ...limits, unit: thresholdUnitField('the limits', units) },
      { additionalProperties: false, minProperties: 2, description: 'Limits of a person' },
    ),
    set: closedObject('ThresholdSet', 'A set of bands', {
      name: shortTextField('Name of the set'),
      unit: thresholdUnitField('the bounds', units),
      bands: Type.Array(bandSchema(names), {
        minItems: 1,
        maxItems: 20,
        description: 'Bands, in any order',
      }),
    }),
  }
}
