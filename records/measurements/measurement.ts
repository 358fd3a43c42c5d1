import { type TObject, type TProperties, type TSchema, type TString, Type } from '@sinclair/typebox'
import { closed, Links, text } from '../../schemas/common.ts'
import { SourceEnum } from '../../schemas/enum.ts'
import { derived, internal, time } from '../../schemas/forms/fields.ts'
import { type AnyForms, forms } from '../../schemas/forms/forms.ts'
import { responseForm } from '../../schemas/forms/path-form.ts'
import { nullable } from '../../schemas/nullable.ts'
import type { Band } from '../../schemas/thresholds.ts'
import type { Violation } from '../../schemas/violation.ts'
import {
  type ClassKind,
  type Comparison,
  kind,
  type PlainOperation,
  type Rules,
  type Values,
} from '../registered/kind.ts'
import type { Group, Said } from '../registered/timeline-line.ts'
import { alertsOf } from './alerts/alerts.ts'
import { bandOf, type Thresholded } from './calculations/thresholds.ts'
import { compositionId, heldIndexes, OUTSIDE_PLANS, refuseChange } from './compositions/held.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { OmhBody } from './omh.ts'
import {
  inOwnUnit,
  ownUnits,
  type Quantity,
  quantityFields,
  quantityViolations,
  quantityWarnings,
} from './quantities/quantity.ts'
import { rounded } from './quantities/units.ts'
import { loinc, type Series, seriesOf, unitLabel, valueIn } from './series.ts'
import { allOrNone } from './together.ts'

/** What every measurement has. */
const common = {
  timestamp: time('When it was measured'),
  deviceId: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Device that measured' })),
  comment: Type.Optional(text('A remark on the measurement')),
  source: Type.Optional(SourceEnum),
}

const fingerprint = internal(
  Type.Optional(Type.String({ description: 'Of device, time and values as they were first stored' })),
)

const HOUR_MS = 3_600_000
const EARLIEST = Date.parse('1900-01-01T00:00:00Z')

/** A clock that is wrong by some hours is borne, not one that is wrong by days. */
export function momentViolations({ timestamp }: Values): Violation[] {
  const at = Date.parse(String(timestamp))
  const message =
    at < EARLIEST
      ? 'must not be before 1900'
      : at > Date.now() + 24 * HOUR_MS
        ? 'must not be more than 24 hours ahead'
        : undefined
  return message === undefined ? [] : [{ path: 'timestamp', code: 'range', message }]
}

const warning = Type.Object(
  {
    path: Type.String({ description: 'The field', examples: ['systolic'] }),
    code: Type.String({ description: 'A name for programs', examples: ['unusual'] }),
    message: Type.String({ description: 'In words', examples: ['lies outside of 70 to 250 mm[Hg]'] }),
  },
  { additionalProperties: false, description: 'What is unusual about a value' },
)

const warnings = derived(
  Type.Array(warning, { default: [], description: 'What is unusual about it; it is stored nevertheless' }),
)

const byTime = { sort: 'timestamp', order: 'desc' } as const

type Specified = readonly (PlainOperation | 'omh')[]

interface Measurement {
  name: string
  /** What the path family calls it: below `/ehr/{ehrId}/procedure/`, in thresholds, timeline and graph. */
  path: string
  noun: string
  description: string
  words: ClassKind['words']
  /** What the specification has of it. */
  specified?: Specified
  /** What is measured; each has a field for its unit, and one for the value in its own unit. */
  quantities?: Record<string, Quantity>
  /** Those quantities that the class family's clients may leave out. */
  optional?: readonly string[]
  /** Its other fields. */
  fields?: TProperties
  /** Its lines in the graph, by name, which a plan's thresholds bound, too; by default its quantities. */
  series?: Readonly<Record<string, Series>>
  /** Published conditions of its series, by name, which a plan may take for its thresholds; the usual one first. */
  presets?: Thresholded['presets']
  /** Of the whole record in LOINC, when that is not its only series'. */
  code?: string
  /** Its group in the timeline, by default `measurements`. */
  group?: Group
  /** Those series' values that are kept rounded, not rounded: they decide what calls for an alert. */
  unrounded?(record: Values): Record<string, number | undefined>
  /** The derived field that says in a word what it means. */
  summary?: string
  /** What quantities and fields cannot say. */
  rules?: Partial<Rules>
  /** What it is for other programs; without one it has no such list. */
  omh?: OmhBody
  /** What is unusual about it, beside its quantities. */
  warnings?(values: Values): Violation[]
  comparison?: Comparison
  /** Of the optional ones those that the path family demands. */
  requiredInPath?: readonly string[]
  /** Needed when the examples of the fields do not fit together. */
  examples?: readonly object[]
}

type MeasurementForms = Omit<AnyForms, 'record'> & {
  record: TObject<{ ehrId: TString; carePlanId: TString; timestamp: TString; fingerprint: TString }>
}

/** A kind of measurement in the table of kinds. */
export interface MeasurementKind extends ClassKind {
  path: string
  specified: Specified
  series: Readonly<Record<string, Series>>
  /** What a plan's thresholds of it can be. */
  thresholded: Thresholded
  quantities: Record<string, Quantity>
  omh: OmhBody | undefined
}

export const isMeasurement = (kind: ClassKind): kind is MeasurementKind => 'series' in kind

/** The fields of its own are any: a type made of them would have no end. */
const formsOf = forms as unknown as (about: object) => MeasurementForms

/** A kind of measurement: it is registered in a care plan, by the time at which it was taken. */
export function measurement(told: Measurement) {
  const { words, specified = [], comparison, omh, path, presets = {}, ...definition } = told
  const { quantities = {}, optional = [], fields = {}, rules: _, warnings: __, ...about } = definition
  const series = definition.series ?? seriesOfAll(quantities)
  const unit = Object.values(series)[0]?.unit ?? ''
  const ranges = Object.fromEntries(Object.entries(series).map(([name, { range }]) => [name, range]))
  const thresholded: Thresholded = { names: Object.keys(series), unit, ranges, presets }
  const says = saying({ ...definition, words, series, thresholded })
  const ofQuantities = Object.entries(quantities).map(([name, quantity]) =>
    quantityFields(name, quantity, !optional.includes(name)),
  )
  const values = Object.values(series).map(({ field }) => field)
  const made = formsOf({
    ...about,
    registeredIn: 'plan',
    namesPlan: true,
    ehrFollows: true,
    example: 'm4RtYu78Io',
    fields: Object.assign({ ...common }, ...ofQuantities, fields, { compositionId, warnings, fingerprint }),
  })
  const { properties, $id = '' } = made.resource
  const answered = { ...shownOf(properties), ...responseForm(comparison?.fields ?? {}), links: Links }
  const measured = kind(
    { ...made, resource: closed($id, about.description, answered) },
    {
      words,
      comparison,
      rules: rulesOf(definition),
      lists: {
        ofEhr: { by: ['ehrId'], ...byTime },
        // The graph reads times and values of a plan, and nothing else.
        ofPlan: { by: ['carePlanId'], ...byTime, values },
        same: { by: ['ehrId'], sort: 'fingerprint', order: 'asc' },
      },
      foundBy: Object.keys(quantities),
      indexes: heldIndexes(values),
      outsidePlans: OUTSIDE_PLANS,
      timeline: {
        kind: path,
        group: definition.group ?? 'measurements',
        start: ['timestamp'],
        says,
      },
    },
  )
  const exact = (record: Values) => exactValues({ series, quantities, ...definition }, record)
  const companion = alertsOf(() => ({ path, thresholded, says, exact }))
  return { ...measured, path, specified, series, thresholded, companion, refuseChange, quantities, omh }
}

/** What a composition holds may be in no plan; what none holds is a composition of its own. */
const shownOf = (properties: TProperties): TProperties => ({
  ...properties,
  carePlanId: nullable(properties.carePlanId as TSchema),
  compositionId: {
    ...properties.id,
    description: 'Of the composition that holds it; else its own id',
  } as TSchema,
})

const seriesOfAll = (quantities: Record<string, Quantity>): Record<string, Series> =>
  Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, seriesOf(quantity)]))

/** The values of all series; those in their own units as they convert, not as they are kept. */
function exactValues(
  {
    series,
    quantities,
    unrounded,
  }: Required<Pick<Measurement, 'series' | 'quantities'>> & Pick<Measurement, 'unrounded'>,
  record: Values,
): Record<string, number> {
  const told = unrounded?.(record)
  const values = Object.entries(series).flatMap(([name, one]) => {
    const quantity = quantities[name]
    const converted = quantity && inOwnUnit(quantity, record[name], record[`${name}Unit`])
    const value = told?.[name] ?? converted ?? valueIn(one, record)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(values)
}

type Saying = Pick<Measurement, 'words' | 'code' | 'summary'> &
  Pick<MeasurementKind, 'series' | 'thresholded'>

/** Says of a record `Blood pressure 128/82 mmHg`: values that share a unit are joined. */
function saying({ words, series, thresholded, summary, ...about }: Saying): (record: Values) => Said {
  const lines = Object.entries(series)
  const units = [...new Set(lines.map(([, { unit }]) => unit))]
  const title = words.en.replace(/^./, (first) => first.toUpperCase())
  const [first, second] = Object.values(series)
  const known = about.code ?? (second ? undefined : first?.code)
  const code = known === undefined ? undefined : loinc(known)
  return (record) => {
    const values = lines.flatMap(([name, one]) => {
      const value = valueIn(one, record)
      return value === undefined ? [] : [{ name, value, unit: one.unit }]
    })
    const told = units.flatMap((unit) => {
      const numbers = values.flatMap((one) => (one.unit === unit ? rounded(one.value, 2) : []))
      return numbers.length > 0 ? `${numbers.join('/')} ${unitLabel(unit)}` : []
    })
    const meaning = summary === undefined ? undefined : (record[summary] as string | undefined)
    const severity = usualBand(thresholded, summary === undefined ? values : meaning)?.severity
    return { content: [title, ...told].join(' '), summary: meaning, severity, code, values }
  }
}

/** The band of the usual preset, by its code where the record tells it, since that knows more than the values: an age. */
function usualBand(thresholded: Thresholded, told: Said['values'] | string): Band | undefined {
  const [usual] = Object.values(thresholded.presets)
  if (!usual) return undefined
  if (typeof told === 'string') return usual.bands.find(({ code }) => code === told)
  return bandOf(
    usual,
    thresholded.names,
    Object.fromEntries((told ?? []).map(({ name, value }) => [name, value])),
  )
}

function rulesOf({
  quantities = {},
  rules = {},
  warnings,
}: Pick<Measurement, 'quantities' | 'rules' | 'warnings'>): Rules {
  const all = Object.entries(quantities)
  const each = (check: typeof quantityWarnings, values: Values) =>
    all.flatMap(([name, quantity]) => check(quantity, name, values[name], values[`${name}Unit`]))
  return {
    together: [...all.flatMap(([name]) => [name, `${name}Unit`]), ...(rules.together ?? [])],
    missing: (values) => [
      ...all.flatMap(([name]) => allOrNone(values, [name, `${name}Unit`])),
      ...(rules.missing?.(values) ?? []),
    ],
    violations: (values, changed) => [
      ...momentViolations(values),
      ...each(quantityViolations, values),
      ...(rules.violations?.(values, changed) ?? []),
    ],
    once: ['fingerprint'],
    derived: (values) => ({
      ...ownUnits(quantities, values),
      ...known(rules.derived?.(values)),
      fingerprint: fingerprintOf(quantities, values),
      warnings: [...each(quantityWarnings, values), ...(warnings?.(values) ?? [])],
    }),
  }
}

/** What is null is not kept. */
const known = (values: Values = {}): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
