import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'
import { CLASS_NAMES, classKind } from '../../../records/kinds.ts'
import { isMeasurement, type MeasurementKind } from '../../../records/measurements/measurement.ts'
import type { Quantity } from '../../../records/measurements/quantity.ts'
import { convert, unitNames } from '../../../records/measurements/units.ts'

/** Every kind of measurement in the table. */
export const MEASUREMENTS = CLASS_NAMES.map(classKind).filter(isMeasurement)

type Sent = Record<string, unknown>

/** A value of a quantity in one of its units, named in one of its ways. */
const ofQuantity = (name: string, { kind, unit, hard: [min, max] }: Quantity): fc.Arbitrary<Sent> =>
  fc
    .tuple(fc.double({ min, max, noNaN: true }), fc.constantFrom(...unitNames(kind)))
    .map(([own, as]) => ({ [name]: Number(convert(own, unit, as).toFixed(3)), [`${name}Unit`]: as }))

const moment = fc
  .date({ min: new Date('1980-01-01T00:00:00Z'), max: new Date('2026-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** A value of a field that is no quantity. */
function ofField({ enum: values, type, format, minimum = 0, maximum = 200 }: TSchema): fc.Arbitrary<unknown> {
  if (values) return fc.constantFrom(...values)
  if (format === 'date-time') return moment
  if (type === 'boolean') return fc.boolean()
  if (type === 'number') return fc.double({ min: minimum, max: maximum, noNaN: true })
  return fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
}

/** Any measurement of a kind that its rules let pass, as the path family's clients send it. */
export function validMeasurement({ body, fields, quantities, rules }: MeasurementKind): fc.Arbitrary<Sent> {
  const measured = Object.keys(quantities).flatMap((name) => [name, `${name}Unit`])
  const others = Object.keys(body.properties).filter((name) => name in fields && !measured.includes(name))
  const required = others.filter((name) => body.required?.includes(name))
  const ofOthers = fc.record(
    Object.fromEntries(others.map((name) => [name, ofField(fields[name] as TSchema)])),
    { requiredKeys: required },
  )
  return fc
    .tuple(ofOthers, ...Object.entries(quantities).map(([name, quantity]) => ofQuantity(name, quantity)))
    .map((parts): Sent => Object.assign({}, ...parts))
    .filter((sent) => rules.violations(sent, Object.keys(sent)).length === 0)
}
