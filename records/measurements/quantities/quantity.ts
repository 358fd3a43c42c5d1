import { type TProperties, Type } from '@sinclair/typebox'
import { unit, quantity as value } from '../../../schemas/common.ts'
import { derived } from '../../../schemas/forms/fields.ts'
import type { Violation } from '../../../schemas/violation.ts'
import type { Values } from '../../registered/kind.ts'
import { convert, isUnitOf, type Kind, omhUnit, rounded, unitNames } from './units.ts'

/** What is measured: in which unit it is compared, and which values it can have. */
export interface Quantity {
  /** As a heading: `Systolic pressure`. */
  label: string
  kind: Kind
  /** Its own unit, as UCUM code: of the bounds, and of the value that filters, bands and graphs use. */
  unit: string
  /** The field that holds the value in its own unit. */
  inUnit: string
  /** Outside of these a value is a slip of the pen or of the device, not a measurement. */
  hard: readonly [min: number, max: number]
  /** Outside of these it is stored, with a warning. */
  warn?: readonly [min: number, max: number]
  example: number
  codes: { loinc: string; snomed: string }
}

/** Decimals to which a converted value is kept: what is left of the unit that was sent. */
const DECIMALS = 4

const isNumber = (sent: unknown): sent is number => typeof sent === 'number' && Number.isFinite(sent)

/** The value in the quantity's own unit; undefined when it is none, or its unit is no unit of it. */
export function inOwnUnit(quantity: Quantity, sent: unknown, unitName: unknown): number | undefined {
  const fits = isNumber(sent) && typeof unitName === 'string' && isUnitOf(quantity.kind, unitName)
  return fits ? convert(sent, unitName, quantity.unit) : undefined
}

/** Whether a value is within bounds; one that was converted into another unit and back is still inside. */
function within(converted: number, [min, max]: readonly [number, number]): boolean {
  const slack = 1e-9 * max
  return converted >= min - slack && converted <= max + slack
}

/**
 * What is wrong with a quantity and its unit; nothing when one of the two is not there to be judged.
 * The value is checked after conversion, and stays as it was given.
 */
export function quantityViolations(
  quantity: Quantity,
  name: string,
  sent: unknown,
  unitName: unknown,
  unitProperty = `${name}Unit`,
): Violation[] {
  if (typeof unitName !== 'string') return []
  const { kind, unit, hard } = quantity
  if (!isUnitOf(kind, unitName))
    return [{ path: unitProperty, code: 'unit', message: `must be one of ${unitNames(kind).join(', ')}` }]
  const converted = inOwnUnit(quantity, sent, unitName)
  if (converted === undefined || within(converted, hard)) return []
  return [{ path: name, code: 'range', message: `must lie between ${hard[0]} and ${hard[1]} ${unit}` }]
}

/** What is unusual about a quantity that is valid. */
export function quantityWarnings(
  quantity: Quantity,
  name: string,
  sent: unknown,
  unitName: unknown,
): Violation[] {
  const { warn, unit } = quantity
  const converted = inOwnUnit(quantity, sent, unitName)
  if (!warn || converted === undefined || within(converted, warn)) return []
  return [{ path: name, code: 'unusual', message: `lies outside of ${warn[0]} to ${warn[1]} ${unit}` }]
}

/** The fields of a quantity: the value and its unit as they were sent, and the value in the quantity's own unit. */
export function quantityFields(
  name: string,
  { label, kind, unit: own, inUnit, hard, example }: Quantity,
  required: boolean,
): TProperties {
  const asSent = value(`${label}, in ${name}Unit: ${hard[0]} to ${hard[1]} ${own}`, example)
  const ofUnit = unit(name, unitNames(kind).join(', '))
  const converted = Type.Optional(Type.Number({ description: `${label} in ${own}`, examples: [example] }))
  return {
    [name]: required ? asSent : Type.Optional(asSent),
    [`${name}Unit`]: required ? ofUnit : Type.Optional(ofUnit),
    [inUnit]: derived(converted),
  }
}

/** The values in their own units, by the names of the fields that hold them. */
export const ownUnits = (quantities: Record<string, Quantity>, values: Values): Record<string, number> =>
  Object.fromEntries(
    Object.entries(quantities).flatMap(([name, quantity]) => {
      const converted = inOwnUnit(quantity, values[name], values[`${name}Unit`])
      return converted === undefined ? [] : [[quantity.inUnit, rounded(converted, DECIMALS)]]
    }),
  )

/** A measured value for Open mHealth: as it was sent where its schemas have that unit, else in the quantity's own. */
export function unitValue(
  quantity: Quantity,
  name: string,
  record: Values,
): { value: number; unit: string } | undefined {
  const [sent, own] = [record[name], record[quantity.inUnit]]
  if (!isNumber(sent) || !isNumber(own)) return undefined
  const unit = omhUnit(record[`${name}Unit`])
  return unit === undefined
    ? { value: own, unit: omhUnit(quantity.unit) ?? quantity.unit }
    : { value: sent, unit }
}
