import { createHash } from 'node:crypto'
import { Measurement as forms, VALUES } from '../../schemas/user-data.ts'
import type { Violation } from '../../schemas/violation.ts'
import { alertsOf } from '../measurements/alerts/alerts.ts'
import type { Thresholded } from '../measurements/calculations/thresholds.ts'
import { momentViolations } from '../measurements/measurement.ts'
import { convert, isConvertible, namesOfUnit, rounded } from '../measurements/quantities/units.ts'
import { unitLabel } from '../measurements/series.ts'
import { kind, type Rules, type Values } from '../registered/kind.ts'
import { payloadViolations } from '../registered/refusals/payload.ts'
import type { Said } from '../registered/timeline-line.ts'
import type { KnownType } from '../types/known-types.ts'
import { daily } from './admission.ts'
import { below, typedRules } from './typed-rules.ts'

const given = (values: Values): unknown[] =>
  VALUES.flatMap((name) => (values[name] === undefined || values[name] === null ? [] : [values[name]]))

const TOGETHER = [...VALUES, 'unit', 'timestamp', 'device']

/** What holds whatever the type says. */
const untyped: Rules = {
  together: TOGETHER,
  missing: (values) => (given(values).length === 0 ? ['value'] : []),
  violations: (values) => [
    ...momentViolations(values),
    ...(given(values).length > 1
      ? [{ path: 'value', code: 'one', message: 'must be given in one field, that of its type' }]
      : []),
    ...given(values).flatMap((value) => payloadViolations(value, 'value')),
  ],
  once: ['fingerprint', 'typeVersion'],
}

/** A numeric value in the unit of its type; undefined for any other, and in a unit that is none of its. */
function amountOf({ numeric, unit: own }: KnownType, { value, unit }: Values): number | undefined {
  if (!numeric || typeof value !== 'number') return undefined
  if (typeof unit !== 'string' || own === undefined || unit === own) return value
  return isConvertible(unit, own) ? rounded(convert(value, unit, own), 4) : undefined
}

function unitViolations({ unit: own }: KnownType, { unit }: Values): Violation[] {
  if (unit === undefined || unit === null) return []
  const message =
    own === undefined
      ? 'must be left out: the data type has none'
      : `must be one of ${namesOfUnit(own).join(', ')}`
  return typeof unit === 'string' && own !== undefined && isConvertible(unit, own)
    ? []
    : [{ path: 'unit', code: 'unit', message }]
}

const outside = (amount: number, { min, max }: { min?: number; max?: number }): boolean =>
  amount < (min ?? Number.NEGATIVE_INFINITY) || amount > (max ?? Number.POSITIVE_INFINITY)

/** `0 to 24 h`, `from 0`, `up to 24 h`. */
function inWords({ min, max }: { min?: number; max?: number }, unit = ''): string {
  const ends = min === undefined ? `up to ${max}` : max === undefined ? `from ${min}` : `${min} to ${max}`
  return `${ends} ${unit}`.trim()
}

function rangeViolations({ ranges, unit }: KnownType, amount: number | undefined): Violation[] {
  const hard = ranges?.hard
  if (!hard || amount === undefined || !outside(amount, hard)) return []
  return [{ path: 'value', code: 'range', message: `must lie within ${inWords(hard, unit)}` }]
}

function warningsOf({ ranges, unit }: KnownType, amount: number | undefined): Violation[] {
  const warn = ranges?.warn
  if (!warn || amount === undefined || !outside(amount, warn)) return []
  return [{ path: 'value', code: 'unusual', message: `lies outside of ${inWords(warn, unit)}` }]
}

function deviceViolations(
  { deviceTypes = [] }: KnownType,
  { device }: Values,
  isKnown: boolean,
): Violation[] {
  const type = (device as { type?: unknown } | null | undefined)?.type
  if (typeof type !== 'string') return []
  if (!isKnown) return [{ path: 'device.type', code: 'unknown', message: 'names no device type' }]
  if (deviceTypes.length === 0 || deviceTypes.includes(type)) return []
  return [{ path: 'device.type', code: 'enum', message: `must be one of ${deviceTypes.join(', ')}` }]
}

const serialOf = ({ device }: Values) => {
  const { serial } = (device ?? {}) as { serial?: string }
  return serial === undefined ? {} : { deviceSerial: serial }
}

/** What tells a measurement that is sent again, as the fingerprints of other kinds do. */
function fingerprintOf(values: Values, amount: number | undefined): string {
  const { dataType, timestamp, device } = values
  const text = JSON.stringify([Date.parse(String(timestamp)), dataType, device, amount ?? given(values)])
  return createHash('sha256').update(text).digest('base64url').slice(0, 20)
}

const rules = (type: KnownType, deviceIsKnown: boolean): Rules => ({
  ...untyped,
  violations: (values, changed) => [
    ...untyped.violations(values, changed),
    ...below('value', given(values).slice(0, 1).flatMap(type.check)),
    ...unitViolations(type, values),
    ...rangeViolations(type, amountOf(type, values)),
    ...deviceViolations(type, values, deviceIsKnown),
  ],
  derived: (values) => {
    const amount = amountOf(type, values)
    return {
      name: type.name,
      typeVersion: type.version,
      ...(amount !== undefined && { amount }),
      ...(amount !== undefined && type.unit !== undefined && { amountUnit: type.unit }),
      warnings: warningsOf(type, amount),
      fingerprint: fingerprintOf(values, amount),
      ...serialOf(values),
    }
  },
})

/** The one series of a data type that is numeric: its line in the graph, what thresholds bound. */
export const SERIES = 'value'

/** Of what stands without a unit. */
const NO_UNIT = '1'

export const thresholdedOf = ({ unit }: { unit?: string | undefined }): Thresholded => ({
  names: [SERIES],
  unit: unit ?? NO_UNIT,
  presets: {},
})

function says(record: Values): Said {
  const { name, dataType, amount, amountUnit } = record
  const title = String(name ?? dataType)
  if (typeof amount !== 'number') {
    const [value] = given(record)
    return { content: ['string', 'boolean'].includes(typeof value) ? `${title} ${value}` : title }
  }
  const unit = typeof amountUnit === 'string' ? amountUnit : NO_UNIT
  const unitText = unit === NO_UNIT ? '' : ` ${unitLabel(unit).replace(/^\{(.*)\}$/, '$1')}`
  return {
    content: `${title} ${rounded(amount, 2)}${unitText}`.slice(0, 300),
    values: [{ name: SERIES, value: amount, unit }],
  }
}

const byTime = { sort: 'timestamp', order: 'desc' } as const

/** Measurements of the data types that modellers make. */
export const Measurement = kind(forms, {
  words: { en: 'measurements of data types', nl: 'metingen van datatypes' },
  rules: untyped,
  rulesFor: typedRules('data', 'dataType', { rules, untyped }),
  admission: daily({ collection: forms.name, family: 'data', by: 'dataType' }),
  lists: {
    ofEhr: { by: ['ehrId'], ...byTime },
    ofType: { by: ['ehrId', 'dataType'], ...byTime },
    ofPlan: { by: ['carePlanId'], ...byTime },
    // Graphs and sums read times and values of a plan, and nothing else.
    ofPlanType: { by: ['carePlanId', 'dataType'], ...byTime, values: ['amount'] },
    same: { by: ['ehrId'], sort: 'fingerprint', order: 'asc' },
  },
  filters: {
    dataType: { schema: forms.fields.dataType, where: (dataType) => ({ dataType }) },
  },
  timeline: { kind: 'measurement', group: 'measurements', start: ['timestamp'], says },
  companion: alertsOf((record) => ({
    path: String(record.dataType),
    thresholded: thresholdedOf({ unit: record.amountUnit as string }),
    says,
    exact: ({ amount }) => (typeof amount === 'number' ? { [SERIES]: amount } : {}) as Record<string, number>,
  })),
})
