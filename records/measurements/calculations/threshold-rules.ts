import {
  type Band,
  type Bounds,
  type ConditionParams,
  Limits,
  Preset,
  ThresholdSet,
} from '../../../schemas/blood-pressure-condition.ts'
import { checkOf } from '../../../schemas/registry.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { isUnitOf, unitNames } from '../units.ts'

type Thresholds = ConditionParams['thresholds']

const checks = { preset: checkOf(Preset), limits: checkOf(Limits), set: checkOf(ThresholdSet) }

/** What is wrong with thresholds of any of the three forms; the form is told by what was given. */
export function thresholdViolations(thresholds: Thresholds): Violation[] {
  const found = violationsByForm(thresholds)
  return found.map((one) => ({ ...one, path: ['thresholds', one.path].filter(Boolean).join('.') }))
}

function violationsByForm(thresholds: Thresholds): Violation[] {
  if (typeof thresholds === 'string') return checks.preset(thresholds)
  if (typeof thresholds !== 'object' || Array.isArray(thresholds))
    return [{ path: '', code: 'form', message: 'must be the name of a preset, limits, or a set with bands' }]
  if ('bands' in thresholds) return allOf(checks.set(thresholds), () => setViolations(thresholds))
  return allOf(checks.limits(thresholds), () => limitViolations(thresholds))
}

/** Rules beyond the schema are only asked about what fulfils it. */
const allOf = (bySchema: Violation[], byRule: () => Violation[]) =>
  bySchema.length > 0 ? bySchema : byRule()

const unitViolations = (unit: string): Violation[] =>
  isUnitOf('pressure', unit)
    ? []
    : [{ path: 'unit', code: 'unit', message: `must be one of ${unitNames('pressure').join(', ')}` }]

function limitViolations({
  unit,
  systolicLow,
  systolicHigh,
  diastolicLow,
  diastolicHigh,
}: Limits): Violation[] {
  const crossed = (path: string, low = 0, high = Number.POSITIVE_INFINITY): Violation[] =>
    low < high ? [] : [{ path, code: 'impossible', message: 'must be above the lower limit' }]
  return [
    ...unitViolations(unit),
    ...crossed('systolicHigh', systolicLow, systolicHigh),
    ...crossed('diastolicHigh', diastolicLow, diastolicHigh),
  ]
}

function setViolations({ unit, bands }: ThresholdSet): Violation[] {
  const repeated = (key: 'severity' | 'code'): Violation[] =>
    bands.flatMap((band, i) =>
      bands.findIndex((other) => other[key] === band[key]) < i
        ? [{ path: `bands.${i}.${key}`, code: 'repeated', message: `must differ from every other ${key}` }]
        : [],
    )
  return [
    ...unitViolations(unit),
    ...repeated('severity'),
    ...repeated('code'),
    ...bands.flatMap((band, i) => bandViolations(band, `bands.${i}`)),
  ]
}

function bandViolations({ systolic, diastolic }: Band, path: string): Violation[] {
  if (!systolic && !diastolic) return [{ path, code: 'empty', message: 'must bound systolic or diastolic' }]
  return [
    ...(systolic && impossible(systolic)
      ? [{ path: `${path}.systolic`, code: 'impossible', message: 'must leave room for a value' }]
      : []),
    ...(diastolic && impossible(diastolic)
      ? [{ path: `${path}.diastolic`, code: 'impossible', message: 'must leave room for a value' }]
      : []),
  ]
}

/** Whether no number fulfils the bounds. */
function impossible({ gt, gte, lt, lte }: Bounds): boolean {
  const lower = Math.max(gt ?? Number.NEGATIVE_INFINITY, gte ?? Number.NEGATIVE_INFINITY)
  const upper = Math.min(lt ?? Number.POSITIVE_INFINITY, lte ?? Number.POSITIVE_INFINITY)
  return lower > upper || (lower === upper && (lower === gt || upper === lt))
}
