import type { MeasuredQuantity, MeasurementKind, QuantityUnit } from 'virtual:measurement-kinds'
import { browserStorage } from '../../browser/storage.ts'
import { formatNumber, parseDecimal, quantityName, unitName } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import { fieldsProblem } from '../../ui/form/fields-problem.ts'

interface TypedNumber {
  text: string
  unit: string
}

/** The texts of the fields, as they were typed. */
export interface Reading {
  values: Record<string, TypedNumber>
  /** Local time; empty for now, or while it is typed. */
  time: string
  /** The person says when. */
  isTimed?: boolean
  comment: string
}

export const isTimed = ({ time, ...reading }: Reading): boolean => reading.isTimed ?? time !== ''

const UNIT = 'unit:'

/** The unit that was used last on this device, otherwise the usual one. */
const rememberedUnit = ({ name, units }: MeasuredQuantity): string => {
  const last = browserStorage.get(UNIT + name)
  return units.find(({ code }) => code === last)?.code ?? units[0]?.code ?? ''
}

export const emptyReading = ({ quantities }: MeasurementKind): Reading => ({
  values: Object.fromEntries(quantities.map((one) => [one.name, { text: '', unit: rememberedUnit(one) }])),
  time: '',
  comment: '',
})

export function rememberUnits({ values }: Reading): void {
  for (const [name, { unit }] of Object.entries(values)) browserStorage.set(UNIT + name, unit)
}

interface ReadNumber {
  name: string
  text: string
  value: number | undefined
  unit: QuantityUnit | undefined
}

const numbersOf = ({ quantities }: MeasurementKind, { values }: Reading): ReadNumber[] =>
  quantities.map(({ name, units }) => {
    const { text = '', unit = '' } = values[name] ?? {}
    return { name, text, value: parseDecimal(text), unit: units.find(({ code }) => code === unit) }
  })

const isOutside = (value: number, bounds: QuantityUnit['warn']): boolean =>
  bounds !== undefined && (value < bounds[0] || value > bounds[1])

function violationOf({ name, value, unit }: ReadNumber): string | undefined {
  if (value === undefined || !unit) return translate('violation.number', { name: quantityName(name, name) })
  if (!isOutside(value, unit.hard)) return undefined
  const [min, max] = unit.hard.map((one) => formatNumber(one))
  return translate('violation.between', {
    name: quantityName(name, name),
    min,
    max,
    unit: unitName(unit.code),
  })
}

/**
 * The numbers and units of a reading, as the service takes them.
 * @throws Problem that lists all violations
 */
export function readNumbers(kind: MeasurementKind, reading: Reading): Record<string, number | string> {
  const numbers = numbersOf(kind, reading)
  const faults = numbers.flatMap((one) => {
    const message = violationOf(one)
    return message === undefined ? [] : { field: one.name, message }
  })
  if (faults.length > 0) throw fieldsProblem(faults)
  return Object.fromEntries(
    numbers.flatMap(({ name, value = 0, unit }) => [
      [name, value],
      [`${name}Unit`, unit?.code ?? ''],
    ]),
  )
}

/** The numbers of a stored measurement: `Upper pressure 128 mmHg, Lower pressure 82 mmHg`. */
export const numbersText = (
  { quantities }: MeasurementKind,
  measurement: Readonly<Record<string, unknown>>,
): string =>
  quantities
    .map(({ name }) => {
      const unit = unitName(String(measurement[`${name}Unit`] ?? ''))
      return `${quantityName(name, name)} ${formatNumber(Number(measurement[name]))} ${unit}`
    })
    .join(', ')

/** The valid but unusual numbers of a reading, with their units. @throws Problem */
export function unusualValues(kind: MeasurementKind, reading: Reading): string[] {
  readNumbers(kind, reading)
  return numbersOf(kind, reading).flatMap(({ text, value = 0, unit }) =>
    unit && isOutside(value, unit.warn) ? `${text.trim()} ${unitName(unit.code)}` : [],
  )
}
