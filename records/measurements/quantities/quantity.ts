import { type TProperties, Type } from '@sinclair/typebox'
import { quantityField as value } from '../../../schemas/common.ts'
import { derivedField } from '../../../schemas/forms/fields.ts'
import type { Fraction } from '../../../schemas/fraction.ts'
import {
  convertExactly,
  isUnitOf,
  omhUnitOf,
  type QuantityKind,
  unitField,
  unitNames,
  widestRange,
} from '../../../schemas/measurements/units.ts'
import { choiceViolation, rangeViolation, type Violation } from '../../../schemas/validation/violations.ts'
import type { Values } from '../../ehr-records/kind.ts'

/** A measured quantity: the unit in which it is compared, and its possible values. */
export interface Quantity {
  /** The heading: `Systolic pressure`. */
  label: string
  kind: QuantityKind
  /** Its own unit, as UCUM code: of the bounds, and of the value that filters, bands and graphs use. */
  unit: string
  /** The field that contains the value in its own unit. */
  inUnit: string
  /** A value outside is a typing or device error and is refused. */
  hard: readonly [min: number, max: number]
  /** A value outside is stored, with a warning. */
  warn?: readonly [min: number, max: number]
  example: number
  codes: {
    loinc: string
    snomed: string
    /** The LOINC codes for values in other units, by unit. */
    loincByUnit?: Readonly<Record<string, string>>
  }
}

/** Decimals to which a converted value is stored. */
const STORED_DECIMALS = 4

/** The number that a record stores of a converted value. */
export const roundToStored = (convertedValue: Fraction): number => convertedValue.round(STORED_DECIMALS)

const isFiniteNumber = (sentValue: unknown): sentValue is number =>
  typeof sentValue === 'number' && Number.isFinite(sentValue)

/** The exact value in the quantity's own unit; undefined if it is not a number or its unit does not convert. */
export function toOwnUnit(quantity: Quantity, sentValue: unknown, unitName: unknown): Fraction | undefined {
  const fits = isFiniteNumber(sentValue) && typeof unitName === 'string' && isUnitOf(quantity.kind, unitName)
  return fits ? convertExactly(sentValue, unitName, quantity.unit) : undefined
}

const isBetween = (value: Fraction, min: number, max: number): boolean =>
  value.compareTo(min) >= 0 && value.compareTo(max) <= 0

/** Whether a value is within bounds; tolerates the rounding of a conversion there and back. */
function isWithinRange(convertedValue: Fraction, [min, max]: readonly [number, number]): boolean {
  const slack = 1e-9 * max
  return isBetween(convertedValue, min, max) || isBetween(convertedValue, min - slack, max + slack)
}

/**
 * The violations of a quantity and its unit; none if either is missing. The value is checked after
 * conversion, and stored as it was sent.
 */
export function quantityViolations(
  quantity: Quantity,
  name: string,
  sentValue: unknown,
  unitName: unknown,
  unitProperty = `${name}Unit`,
): Violation[] {
  if (typeof unitName !== 'string') return []
  const { kind, unit, hard } = quantity
  if (!isUnitOf(kind, unitName)) return [choiceViolation(unitProperty, unitNames(kind), 'unit')]
  const convertedValue = toOwnUnit(quantity, sentValue, unitName)
  if (convertedValue === undefined || isWithinRange(convertedValue, hard)) return []
  return [rangeViolation(name, { min: hard[0], max: hard[1] }, unit)]
}

/** The warnings about a valid but unusual quantity. */
export function quantityWarnings(
  quantity: Quantity,
  name: string,
  sentValue: unknown,
  unitName: unknown,
): Violation[] {
  const { warn, unit } = quantity
  const convertedValue = toOwnUnit(quantity, sentValue, unitName)
  if (!warn || convertedValue === undefined || isWithinRange(convertedValue, warn)) return []
  return [{ path: name, code: 'unusual', message: `lies outside of ${warn[0]} to ${warn[1]} ${unit}` }]
}

/**
 * The fields of a quantity: the value and its unit as they were sent, and the value in the quantity's own
 * unit.
 */
export function quantityFields(
  name: string,
  { label, kind, unit: storedUnit, inUnit, hard, example }: Quantity,
  required: boolean,
): TProperties {
  const asSent = {
    ...value(`${label}, in ${name}Unit: ${hard[0]} to ${hard[1]} ${storedUnit}`, example),
    documented: widestRange(storedUnit, hard),
  }
  const ofUnit = unitField(name, kind)
  const schema = Type.Optional(Type.Number({ description: `${label} in ${storedUnit}`, examples: [example] }))
  return {
    [name]: required ? asSent : Type.Optional(asSent),
    [`${name}Unit`]: required ? ofUnit : Type.Optional(ofUnit),
    [inUnit]: derivedField(schema),
  }
}

/** A field without a unit of its own: the quantity in its own unit. */
export const ownUnitField = (description: string, { hard: [minimum, maximum], example }: Quantity) => ({
  ...value(`${description}: ${minimum} to ${maximum}`, example),
  documented: { minimum, maximum },
})

/** The values in their own units, by the fields that contain them. */
export const valuesInOwnUnits = (
  quantities: Record<string, Quantity>,
  values: Values,
): Record<string, number> =>
  Object.fromEntries(
    Object.entries(quantities).flatMap(([name, quantity]) => {
      const convertedValue = toOwnUnit(quantity, values[name], values[`${name}Unit`])
      return convertedValue === undefined ? [] : [[quantity.inUnit, roundToStored(convertedValue)]]
    }),
  )

/**
 * A measured value for Open mHealth: as sent if its schemas have that unit, else in the quantity's own unit.
 */
export function omhUnitValue(
  quantity: Quantity,
  name: string,
  record: Values,
): { value: number; unit: string } | undefined {
  const sentValue = record[name]
  const storedUnit = record[quantity.inUnit]
  if (!isFiniteNumber(sentValue) || !isFiniteNumber(storedUnit)) return undefined
  const unit = omhUnitOf(record[`${name}Unit`])
  return unit === undefined
    ? { value: storedUnit, unit: omhUnitOf(quantity.unit) ?? quantity.unit }
    : { value: sentValue, unit }
}
