import { createHash } from 'node:crypto'
import { Fraction } from '../../schemas/fraction.ts'
import { decimalsAfterChange } from '../../schemas/json/decimals.ts'
import {
  convertExactly,
  convertibleUnitNames,
  isConvertible,
  roundKeepingDigits,
} from '../../schemas/measurements/units.ts'
import { MeasurementForms as forms, VALUE_FIELD_NAMES } from '../../schemas/user-data/user-data.ts'
import { choiceViolation, rangeViolation, type Violation } from '../../schemas/validation/violations.ts'
import { defineKind, type Rules, type Values } from '../ehr-records/kind.ts'
import { payloadViolations } from '../ehr-records/refusals/payload-violations.ts'
import type { TimelineContent } from '../ehr-records/timeline-definition.ts'
import { deriveAlerts } from '../measurements/alerts/alerts.ts'
import type { ThresholdTarget } from '../measurements/calculations/thresholds.ts'
import { timestampViolations } from '../measurements/measurement.ts'
import { unitLabel } from '../measurements/series.ts'
import type { DeviceTypeRules, ResolvedType } from '../types/type-registry.ts'
import { createDailyQuota, deviceTypeOf } from './daily-quota.ts'
import { typedObservation } from './fhir/own-type-observation.ts'
import { createRulesResolver, prefixPaths, RETIRED_MESSAGE } from './typed-rules.ts'

const givenValues = (values: Values): unknown[] =>
  VALUE_FIELD_NAMES.flatMap((name) =>
    values[name] === undefined || values[name] === null ? [] : [values[name]],
  )

const DEPENDENT_FIELDS = [...VALUE_FIELD_NAMES, 'unit', 'timestamp', 'device']

/** The rules that apply to every type. */
const baseRules: Rules = {
  dependentFields: DEPENDENT_FIELDS,
  missing: (values) => (givenValues(values).length === 0 ? ['value'] : []),
  violations: (values) => [
    ...timestampViolations(values),
    ...(givenValues(values).length > 1
      ? [{ path: 'value', code: 'one', message: 'must be sent in exactly one field, the one for its type' }]
      : []),
    ...givenValues(values).flatMap((value) => payloadViolations(value, 'value')),
  ],
  fixedDerived: ['fingerprint', 'typeVersion'],
  // 2: small amounts keep their digits.
  derivationVersion: 2,
  afterChange: decimalsAfterChange,
}

/**
 * A numeric value in the unit of its type, exactly; undefined if it is not numeric or its unit does not
 * convert.
 */
function exactAmountOf(typeUnit: string | undefined, { value, unit }: Values): Fraction | undefined {
  if (typeof value !== 'number') return undefined
  if (typeof unit !== 'string' || typeUnit === undefined || unit === typeUnit) return Fraction.of(value)
  return isConvertible(unit, typeUnit) ? convertExactly(value, unit, typeUnit) : undefined
}

const amountOf = ({ numeric, unit }: ResolvedType, values: Values): Fraction | undefined =>
  numeric ? exactAmountOf(unit, values) : undefined

const isInOtherUnit = (type: ResolvedType, { unit }: Values): boolean =>
  typeof unit === 'string' && unit !== type.unit

/** The schema of a type speaks of numbers in the type's unit. */
function schemaViolations(type: ResolvedType, values: Values): Violation[] {
  const converted = isInOtherUnit(type, values) ? amountOf(type, values)?.toNumber() : undefined
  const [sent] = givenValues(values)
  return sent === undefined ? [] : prefixPaths('value', type.check(converted ?? sent))
}

function unitViolations({ unit: typeUnit }: ResolvedType, { unit }: Values): Violation[] {
  if (unit === undefined || unit === null) return []
  if (typeUnit === undefined)
    return [{ path: 'unit', code: 'unit', message: 'must be left out because the data type has no unit' }]
  return typeof unit === 'string' && isConvertible(unit, typeUnit)
    ? []
    : [choiceViolation('unit', convertibleUnitNames(typeUnit), 'unit')]
}

const isOutside = (amount: Fraction, { min, max }: { min?: number; max?: number }): boolean =>
  amount.compareTo(min ?? -Infinity) < 0 || amount.compareTo(max ?? Infinity) > 0

/** Formats a range: `0 to 24 h`, `from 0`, `up to 24 h`. */
function formatRange({ min, max }: { min?: number; max?: number }, unit = ''): string {
  const ends = min === undefined ? `up to ${max}` : max === undefined ? `from ${min}` : `${min} to ${max}`
  return `${ends} ${unit}`.trim()
}

function rangeViolations({ ranges, unit }: ResolvedType, amount: Fraction | undefined): Violation[] {
  const hard = ranges?.hard
  if (!hard || amount === undefined || !isOutside(amount, hard)) return []
  return [rangeViolation('value', hard, unit)]
}

function rangeWarnings({ ranges, unit }: ResolvedType, amount: Fraction | undefined): Violation[] {
  const warn = ranges?.warn
  if (!warn || amount === undefined || !isOutside(amount, warn)) return []
  return [{ path: 'value', code: 'unusual', message: `lies outside of ${formatRange(warn, unit)}` }]
}

function deviceViolations(
  { type: dataType, deviceTypes = [] }: ResolvedType,
  values: Values,
  rulesOfDevices: ReadonlyMap<string, DeviceTypeRules>,
): Violation[] {
  const type = deviceTypeOf(values)
  if (type === undefined) return []
  const violation = (code: string, message: string) => [{ path: 'device.type', code, message }]
  const deviceType = rulesOfDevices.get(type)
  if (!deviceType) return violation('unknown', 'must be the name of a device type')
  if (deviceType.retired) return violation('retired', RETIRED_MESSAGE)
  if (deviceTypes.length > 0 && !deviceTypes.includes(type))
    return [choiceViolation('device.type', deviceTypes)]
  const { dataTypes = [] } = deviceType
  if (dataTypes.length === 0 || dataTypes.includes(dataType)) return []
  return violation('enum', `must be a device type for ${dataType}: ${type} has ${dataTypes.join(', ')}`)
}

const deviceSerialOf = ({ device }: Values) => {
  const { serial } = (device ?? {}) as { serial?: string }
  return serial === undefined ? {} : { deviceSerial: serial }
}

/** Recognises a measurement that is sent again, like the fingerprints of other kinds. */
function typedFingerprintOf(values: Values, amount: number | undefined): string {
  const { dataType, timestamp, device } = values
  const text = JSON.stringify([
    Date.parse(String(timestamp)),
    dataType,
    device,
    amount ?? givenValues(values),
  ])
  return createHash('sha256').update(text).digest('base64url').slice(0, 20)
}

const rulesOfType = (type: ResolvedType, deviceTypes: ReadonlyMap<string, DeviceTypeRules>): Rules => ({
  ...baseRules,
  violations: (values, changedFields) => [
    ...baseRules.violations(values, changedFields),
    ...schemaViolations(type, values),
    ...unitViolations(type, values),
    ...rangeViolations(type, amountOf(type, values)),
    // A correction keeps its device, even if the type of the device has other data types now.
    ...(changedFields.includes('device') ? deviceViolations(type, values, deviceTypes) : []),
  ],
  derived: (values) => {
    const exact = amountOf(type, values)
    const isConverted = isInOtherUnit(type, values)
    const amount = exact && (isConverted ? roundKeepingDigits(exact, 4) : Number(values.value))
    return {
      name: type.name,
      typeVersion: type.version,
      ...(amount !== undefined && { amount }),
      ...(amount !== undefined && type.unit !== undefined && { amountUnit: type.unit }),
      warnings: rangeWarnings(type, exact),
      fingerprint: typedFingerprintOf(values, amount),
      ...deviceSerialOf(values),
    }
  },
})

/** The only series of a numeric data type: its line in the graph, which thresholds limit. */
export const VALUE_SERIES = 'value'

/** UCUM code for values without a unit. */
const NO_UNIT = '1'

export const thresholdTargetOf = ({ unit }: { unit?: string | undefined }): ThresholdTarget => ({
  names: [VALUE_SERIES],
  unit: unit ?? NO_UNIT,
  presets: {},
})

function describeMeasurement(record: Values): TimelineContent {
  const { name, dataType, amount, amountUnit } = record
  const title = String(name ?? dataType)
  if (typeof amount !== 'number') {
    const [value] = givenValues(record)
    return { content: ['string', 'boolean'].includes(typeof value) ? `${title} ${value}` : title }
  }
  const unit = typeof amountUnit === 'string' ? amountUnit : NO_UNIT
  const unitText = unit === NO_UNIT ? '' : ` ${unitLabel(unit).replace(/^\{(.*)\}$/, '$1')}`
  return {
    content: `${title} ${roundKeepingDigits(amount, 2)}${unitText}`.slice(0, 300),
    values: [{ name: VALUE_SERIES, value: amount, unit }],
  }
}

const newestFirst = { sort: 'timestamp', order: 'desc' } as const

/** Measurements of the data types that modellers define. */
export const Measurement = defineKind(forms, {
  words: { en: 'measurements', nl: 'metingen' },
  fhir: typedObservation,
  helperAct: 'RECORD',
  rules: baseRules,
  rulesFor: createRulesResolver('data', 'dataType', { rules: rulesOfType, fallbackRules: baseRules }),
  quota: createDailyQuota({ collection: forms.name, family: 'data', typeField: 'dataType' }),
  lists: {
    ofEhr: { requiredFields: ['ehrId'], ...newestFirst },
    ofType: { requiredFields: ['ehrId', 'dataType'], ...newestFirst },
    ofPlan: { requiredFields: ['carePlanId'], ...newestFirst },
    // Graphs and aggregates read only times and values of a plan, so the index contains both.
    ofPlanType: { requiredFields: ['carePlanId', 'dataType'], ...newestFirst, values: ['amount'] },
    same: { requiredFields: ['ehrId'], sort: 'fingerprint', order: 'asc' },
  },
  filters: {
    dataType: { schema: forms.fields.dataType, where: (dataType) => ({ dataType }) },
  },
  timeline: {
    kind: 'measurement',
    group: 'measurements',
    start: ['timestamp'],
    describe: describeMeasurement,
  },
  recordDerivation: deriveAlerts((record) => ({
    path: String(record.dataType),
    thresholdTarget: thresholdTargetOf({ unit: record.amountUnit as string }),
    describe: describeMeasurement,
    exactValues: (values) =>
      typeof values.amount === 'number'
        ? {
            [VALUE_SERIES]:
              exactAmountOf(values.amountUnit as string | undefined, values) ?? Fraction.of(values.amount),
          }
        : {},
  })),
})
