import { type TObject, type TProperties, type TSchema, type TString, Type } from '@sinclair/typebox'
import { closedObject, longTextField, RecordLinks } from '../../schemas/common.ts'
import { SourceEnum } from '../../schemas/enums.ts'
import { dateTimeField, derivedField, internalField } from '../../schemas/forms/fields.ts'
import { type AnyForms, defineForms } from '../../schemas/forms/forms.ts'
import { nullable } from '../../schemas/forms/nullable.ts'
import { responseForm } from '../../schemas/forms/path-form.ts'
import { Fraction } from '../../schemas/fraction.ts'
import { decimalsAfterChange, decimalsField } from '../../schemas/json/decimals.ts'
import type { Band } from '../../schemas/measurements/thresholds.ts'
import { roundTo } from '../../schemas/measurements/units.ts'
import { HOUR_MS } from '../../schemas/time/durations.ts'
import { utcOffsetField } from '../../schemas/time/iso-time.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import {
  type ClassKind,
  type Comparison,
  defineKind,
  type PlainOperation,
  type Rules,
  type Values,
} from '../ehr-records/kind.ts'
import type { TimelineContent, TimelineGroup } from '../ehr-records/timeline-definition.ts'
import type { FhirForm } from '../fhir/mapping.ts'
import { deriveAlerts } from './alerts/alerts.ts'
import { type ExactValues, findBand, type ThresholdTarget } from './calculations/thresholds.ts'
import {
  compositionId,
  compositionIndexes,
  IN_EHR_COMPOSITION_WHERE,
  refuseChangeOfMember,
} from './compositions/composition-membership.ts'
import { missingDependentFields } from './dependent-fields.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { OmhBody } from './omh.ts'
import {
  type Quantity,
  quantityFields,
  quantityViolations,
  quantityWarnings,
  toOwnUnit,
  valuesInOwnUnits,
} from './quantities/quantity.ts'
import { loincCoding, type Series, seriesOf, seriesValueOf, unitLabel } from './series.ts'

/** The fields of every measurement. */
const commonFields = {
  timestamp: dateTimeField('Time of the measurement'),
  utcOffset: utcOffsetField,
  deviceId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, format: 'line', description: 'Id of the measuring device' }),
  ),
  comment: Type.Optional(longTextField('Comment on the measurement')),
  source: Type.Optional(SourceEnum),
}

const fingerprintField = internalField(
  Type.Optional(Type.String({ description: 'Fingerprint of device, time and values as first stored' })),
)

const MIN_MEASUREMENT_TIME_MS = Date.parse('1900-01-01T00:00:00Z')

/** Tolerates a clock that is wrong by some hours, but not by days. */
export function timestampViolations({ timestamp }: Values): Violation[] {
  const at = Date.parse(String(timestamp))
  const message =
    at < MIN_MEASUREMENT_TIME_MS
      ? 'must not be before 1900'
      : at > Date.now() + 24 * HOUR_MS
        ? 'must not be more than 24 hours ahead'
        : undefined
  return message === undefined ? [] : [{ path: 'timestamp', code: 'range', message }]
}

const warningSchema = Type.Object(
  {
    path: Type.String({ description: 'Path of the field', examples: ['systolic'] }),
    code: Type.String({ description: 'Code for programs', examples: ['unusual'] }),
    message: Type.String({
      description: 'Explanation in a sentence',
      examples: ['lies outside of 70 to 250 mm[Hg]'],
    }),
  },
  { additionalProperties: false, description: 'A warning about an unusual value' },
)

const warningsField = derivedField(
  Type.Array(warningSchema, {
    default: [],
    description: 'Warnings about unusual values; the measurement is stored nevertheless',
  }),
)

const newestFirst = { sort: 'timestamp', order: 'desc' } as const

type SpecifiedOperations = readonly (PlainOperation | 'omh')[]

interface MeasurementDefinition {
  name: string
  /** The name in the path family: below `/ehr/{ehrId}/procedure/`, in thresholds, timeline and graph. */
  path: string
  noun: string
  description: string
  words: ClassKind['words']
  /** The operations that the specification has for it. */
  specified?: SpecifiedOperations
  /** The measured quantities; each has a field for its unit and one for the value in its own unit. */
  quantities?: Record<string, Quantity>
  /** The quantities that clients of the class family may omit. */
  optional?: readonly string[]
  /** All other fields. */
  fields?: TProperties
  /** The lines in the graph by name, which a plan's thresholds limit, too; by default the quantities. */
  series?: Readonly<Record<string, Series>>
  /**
   * Published presets of the series by name, which a plan may choose as its thresholds; the usual one first.
   */
  presets?: ThresholdTarget['presets']
  /** LOINC code of the whole record, unless that is the code of its only series. */
  code?: string
  /** The group in the timeline, by default `measurements`. */
  group?: TimelineGroup
  /** Exact values of series that are stored rounded: categories and alerts depend on the exact ones. */
  exactValues?(record: Values): ExactValues
  /** The derived field that contains the code of the record's meaning. */
  summary?: string
  /** The rules that quantities and fields cannot express. */
  rules?: Partial<Rules>
  /** The record in Open mHealth; without it the kind has no list of data points. */
  omh?: OmhBody
  /** The record in FHIR R4. */
  fhir: FhirForm
  /** The warnings about values that are valid but unusual, in addition to those of the quantities. */
  warnings?(values: Values): Violation[]
  comparison?: Comparison
  /** The optional quantities that the path family requires. */
  requiredInPath?: readonly string[]
  /** Needed if the examples of the fields do not fit together. */
  examples?: readonly object[]
}

type MeasurementForms = Omit<AnyForms, 'record'> & {
  record: TObject<{ ehrId: TString; carePlanId: TString; timestamp: TString; fingerprint: TString }>
}

export interface MeasurementKind extends ClassKind {
  path: string
  specified: SpecifiedOperations
  series: Readonly<Record<string, Series>>
  /** The values that a plan's thresholds can limit. */
  thresholdTarget: ThresholdTarget
  quantities: Record<string, Quantity>
  omh: OmhBody | undefined
}

export const isMeasurementKind = (kind: ClassKind): kind is MeasurementKind => 'series' in kind

/** Its own fields have the type any: a type built from them would be infinite. */
const measurementForms = defineForms as unknown as (options: object) => MeasurementForms

/** Defines a kind of measurement: registered in a care plan and sorted by the time of measuring. */
export function defineMeasurement(measurement: MeasurementDefinition) {
  const { words, specified = [], comparison, omh, fhir, path, presets = {}, ...definition } = measurement
  const { quantities = {}, optional = [], fields = {}, rules: _, warnings: __, ...formOptions } = definition
  const series = definition.series ?? seriesOfQuantities(quantities)
  const unit = Object.values(series)[0]?.unit ?? ''
  const ranges = Object.fromEntries(Object.entries(series).map(([name, { range }]) => [name, range]))
  const thresholdTarget: ThresholdTarget = { names: Object.keys(series), unit, ranges, presets }
  const exact = (record: Values) => exactValuesOf({ series, quantities, ...definition }, record)
  const usualBand = usualBandFinder(thresholdTarget, definition.summary, exact)
  const says = createDescriber({ ...definition, words, series, findUsualBand: usualBand })
  const ofQuantities = Object.entries(quantities).map(([name, quantity]) =>
    quantityFields(name, quantity, !optional.includes(name)),
  )
  const values = Object.values(series).map(({ field }) => field)
  const kind = defineKind(
    formsOfMeasurement(formOptions, Object.assign({}, ...ofQuantities, fields), comparison),
    {
      words,
      fhir,
      helperAct: 'RECORD',
      comparison,
      rules: measurementRules(definition),
      lists: {
        ofEhr: { requiredFields: ['ehrId'], ...newestFirst },
        // The graph reads only times and values of a plan, so the index contains both.
        ofPlan: { requiredFields: ['carePlanId'], ...newestFirst, values },
        same: { requiredFields: ['ehrId'], sort: 'fingerprint', order: 'asc' },
      },
      searchableFields: Object.keys(quantities),
      indexes: compositionIndexes(values),
      outsidePlans: IN_EHR_COMPOSITION_WHERE,
      timeline: {
        kind: path,
        group: definition.group ?? 'measurements',
        start: ['timestamp'],
        describe: says,
      },
    },
  )
  const alertSource = { path, thresholdTarget, describe: says, exactValues: exact, findUsualBand: usualBand }
  const recordDerivation = deriveAlerts(() => alertSource)
  const ofKind = { path, specified, series, thresholdTarget, recordDerivation, quantities, omh }
  return { ...kind, ...ofKind, refuseChange: refuseChangeOfMember }
}

/** The forms of a kind, with the fields of every measurement. */
function formsOfMeasurement(
  options: Pick<MeasurementDefinition, 'description'>,
  fields: TProperties,
  comparison: MeasurementDefinition['comparison'],
) {
  const forms = measurementForms({
    ...options,
    parentType: 'plan',
    namesPlan: true,
    ehrFollows: true,
    example: 'm4RtYu78Io',
    fields: {
      ...commonFields,
      ...fields,
      compositionId,
      warnings: warningsField,
      fingerprint: fingerprintField,
      decimals: decimalsField,
    },
  })
  const { properties, $id = '' } = forms.resource
  const responseProperties = {
    ...responsePropertiesOf(properties),
    ...responseForm(comparison?.fields ?? {}),
    links: RecordLinks,
  }
  return { ...forms, resource: closedObject($id, options.description, responseProperties) }
}

/** A measurement from a composition may be in no plan; a manually entered one is a composition of its own. */
const responsePropertiesOf = (properties: TProperties): TProperties => ({
  ...properties,
  carePlanId: nullable(properties.carePlanId as TSchema),
  compositionId: {
    ...properties.id,
    description: 'Id of the composition that contains the measurement; otherwise the id of the measurement',
  } as TSchema,
})

const seriesOfQuantities = (quantities: Record<string, Quantity>): Record<string, Series> =>
  Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, seriesOf(quantity)]))

/** The values of all series. Those with a quantity are converted from the sent value, not read rounded. */
function exactValuesOf(
  {
    series,
    quantities,
    exactValues,
  }: Required<Pick<MeasurementDefinition, 'series' | 'quantities'>> &
    Pick<MeasurementDefinition, 'exactValues'>,
  record: Values,
): ExactValues {
  const exact = exactValues?.(record)
  const values = Object.entries(series).flatMap(([name, one]) => {
    const quantity = quantities[name]
    const convertedValue = quantity && toOwnUnit(quantity, record[name], record[`${name}Unit`])
    const value = exact?.[name] ?? convertedValue ?? seriesValueOf(one, record)
    return value === undefined ? [] : [[name, Fraction.of(value)]]
  })
  return Object.fromEntries(values)
}

type FindBandOfRecord = (record: Values) => Band | undefined

type DescriptionParts = Pick<MeasurementDefinition, 'words' | 'code' | 'summary'> &
  Pick<MeasurementKind, 'series'> & { findUsualBand: FindBandOfRecord }

/**
 * Creates the function that describes a record, e.g. `Blood pressure 128/82 mmHg`; joins values that share a
 * unit.
 */
function createDescriber({
  words,
  series,
  summary,
  findUsualBand,
  ...about
}: DescriptionParts): (record: Values) => TimelineContent {
  const lines = Object.entries(series)
  const units = [...new Set(lines.map(([, { unit }]) => unit))]
  const title = words.en.replace(/^./, (first) => first.toUpperCase())
  const [first, second] = Object.values(series)
  const loincCode = about.code ?? (second ? undefined : first?.code)
  const code = loincCode === undefined ? undefined : loincCoding(loincCode)
  return (record) => {
    const values = lines.flatMap(([name, one]) => {
      const value = seriesValueOf(one, record)
      return value === undefined ? [] : [{ name, value, unit: one.unit }]
    })
    const valueTexts = units.flatMap((unit) => {
      const numbers = values.flatMap((one) => (one.unit === unit ? roundTo(one.value, 2) : []))
      return numbers.length > 0 ? `${numbers.join('/')} ${unitLabel(unit)}` : []
    })
    const meaning = summary === undefined ? undefined : (record[summary] as string | undefined)
    const severity = findUsualBand(record)?.severity
    return { content: [title, ...valueTexts].join(' '), summary: meaning, severity, code, values }
  }
}

/**
 * Returns the function that finds a record's band of the usual preset. The record's own code takes precedence,
 * since it may consider more, e.g. the age.
 */
function usualBandFinder(
  { names, presets }: ThresholdTarget,
  summary: string | undefined,
  exact: (record: Values) => ExactValues,
): FindBandOfRecord {
  const [usual] = Object.values(presets)
  return (record) =>
    summary === undefined
      ? usual && findBand(usual, names, exact(record))
      : usual?.bands.find(({ code }) => code === record[summary])
}

function measurementRules({
  quantities = {},
  rules = {},
  warnings,
}: Pick<MeasurementDefinition, 'quantities' | 'rules' | 'warnings'>): Rules {
  const namedQuantities = Object.entries(quantities)
  const each = (check: typeof quantityWarnings, values: Values) =>
    namedQuantities.flatMap(([name, quantity]) => check(quantity, name, values[name], values[`${name}Unit`]))
  return {
    dependentFields: [
      ...namedQuantities.flatMap(([name]) => [name, `${name}Unit`]),
      ...(rules.dependentFields ?? []),
    ],
    missing: (values) => [
      ...namedQuantities.flatMap(([name]) => missingDependentFields(values, [name, `${name}Unit`])),
      ...(rules.missing?.(values) ?? []),
    ],
    violations: (values, changedFields) => [
      ...timestampViolations(values),
      ...each(quantityViolations, values),
      ...(rules.violations?.(values, changedFields) ?? []),
    ],
    fixedDerived: ['fingerprint', 'compositionId'],
    afterChange: decimalsAfterChange,
    // 2: calculated exactly, rounded half up, and classified before rounding.
    derivationVersion: 1 + (rules.derivationVersion ?? 1),
    derived: (values) => {
      const inOwnUnits = valuesInOwnUnits(quantities, values)
      return {
        ...inOwnUnits,
        ...withoutNulls(rules.derived?.(values)),
        fingerprint: fingerprintOf(quantities, values, inOwnUnits),
        warnings: [...each(quantityWarnings, values), ...(warnings?.(values) ?? [])],
      }
    },
  }
}

/** Removes the fields that are null. */
const withoutNulls = (values: Values = {}): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
