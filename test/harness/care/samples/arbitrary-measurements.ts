import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'
import type { ClassKind } from '../../../../records/ehr-records/kind.ts'
import type { MeasurementKind } from '../../../../records/measurements/measurement.ts'
import type { Quantity } from '../../../../records/measurements/quantities/quantity.ts'
import { createPathNamer, markedFieldNames, pathNameOf } from '../../../../schemas/forms/fields.ts'
import { convertUnit, unitNames } from '../../../../schemas/measurements/units.ts'
import { createValidator } from '../../../../schemas/validation/validators.ts'

type Sent = Record<string, unknown>

/** A value of a quantity in one of its units, under one of the unit's names. */
const arbitraryQuantity = (name: string, { kind, unit, hard: [min, max] }: Quantity): fc.Arbitrary<Sent> =>
  fc
    .tuple(fc.double({ min, max, noNaN: true }), fc.constantFrom(...unitNames(kind)))
    .map(([own, as]) => ({ [name]: Number(convertUnit(own, unit, as).toFixed(3)), [`${name}Unit`]: as }))

const arbitraryMoment = fc
  .date({ min: new Date('1980-01-01T00:00:00Z'), max: new Date('2026-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** A value of a field that is not a quantity. */
function arbitraryField({ type: types, ...schema }: TSchema): fc.Arbitrary<unknown> {
  const { enum: values, format, minimum = 0, exclusiveMinimum, maximum = 200 } = schema
  const { items, minItems = 0, maxItems = 20 } = schema
  const [type, orNull] = [types].flat()
  if (orNull === 'null') return fc.option(arbitraryField({ ...schema, type } as TSchema))
  if (type === 'array') return fc.array(arbitraryField(items), { minLength: minItems, maxLength: maxItems })
  if (values) return fc.constantFrom(...values)
  if (type === 'object') return arbitraryObject(schema as TSchema)
  if (format === 'date') return arbitraryMoment.map((moment) => moment.slice(0, 10))
  if (format === 'date-time') return arbitraryMoment
  if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern))
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.integer({ min: minimum, max: maximum })
  if (type === 'number')
    return fc.double({
      min: exclusiveMinimum ?? minimum,
      max: maximum,
      minExcluded: exclusiveMinimum !== undefined,
      noNaN: true,
    })
  const isValid = createValidator({ ...schema, type: 'string' } as TSchema)
  return fc
    .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
    .filter((text) => isValid(text).length === 0)
}

const arbitraryObject = ({ properties = {}, required = [] }: TSchema): fc.Arbitrary<unknown> =>
  fc.record(
    Object.fromEntries(Object.entries<TSchema>(properties).map(([name, one]) => [name, arbitraryField(one)])),
    { requiredKeys: required },
  )

/** Any valid values of the fields that clients of a kind set, on closing, too. */
export function arbitraryValues({ fields, create, rules }: ClassKind): fc.Arbitrary<Sent> {
  const names = Object.keys(fields).filter(
    (name) => !markedFieldNames(fields, 'derived', 'internal').includes(name),
  )
  const closing = markedFieldNames(fields, 'closing')
  const required = names.filter((name) => create.required?.includes(name))
  const one = (name: string) => arbitraryField(fields[name] as TSchema)
  return fc
    .record(Object.fromEntries(names.map((name) => [name, one(name)])), { requiredKeys: required })
    .map((values) => (values.status === 'ACTIVE' ? omit(values, closing) : values))
    .filter((values) => rules.violations(values, Object.keys(values)).length === 0)
}

const omit = (values: Sent, names: readonly string[]): Sent =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))

/** Any valid measurement of a kind, as the path family's clients send it. */
export function arbitraryMeasurement({
  body,
  fields,
  quantities,
  rules,
}: MeasurementKind): fc.Arbitrary<Sent> {
  const measured = Object.keys(quantities).flatMap((name) => [name, `${name}Unit`])
  const otherNames = Object.keys(fields).filter(
    (name) => pathNameOf(fields, name) in body.properties && !measured.includes(name),
  )
  const required = otherNames.filter((name) => body.required?.includes(pathNameOf(fields, name)))
  const ofOthers = fc.record(
    Object.fromEntries(otherNames.map((name) => [name, arbitraryField(fields[name] as TSchema)])),
    { requiredKeys: required },
  )
  return fc
    .tuple(
      ofOthers,
      ...Object.entries(quantities).map(([name, quantity]) => arbitraryQuantity(name, quantity)),
    )
    .map((parts): Sent => Object.assign({}, ...parts))
    .filter((values) => (rules.missing?.(values) ?? []).length === 0)
    .filter((values) => rules.violations(values, Object.keys(values)).length === 0)
    .map(createPathNamer(fields))
}
