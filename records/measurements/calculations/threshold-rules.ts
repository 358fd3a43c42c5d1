import { checkOf } from '../../../schemas/registry.ts'
import {
  type Band,
  type Bounds,
  type Limits,
  type ThresholdSet,
  thresholdForms,
} from '../../../schemas/thresholds.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { isConvertible, namesOfUnit } from '../quantities/units.ts'
import type { Thresholded, Thresholds } from './thresholds.ts'

type ThresholdCheck = (thresholds: Thresholds) => Violation[]

/** The violations of thresholds of any of the three forms; what was given decides the form. */
export function thresholdRules({ names, unit, presets }: Thresholded, path = ''): ThresholdCheck {
  const forms = thresholdForms(names, namesOfUnit(unit))
  const checks = { limits: checkOf(forms.limits), set: checkOf(forms.set) }
  const published = Object.keys(presets)
  const byForm: ThresholdCheck = (thresholds) => {
    if (typeof thresholds === 'string') return published.includes(thresholds) ? [] : [noPreset(published)]
    if (typeof thresholds !== 'object' || thresholds === null || Array.isArray(thresholds)) return [notAForm]
    if ('bands' in thresholds)
      return allOf(checks.set(thresholds), () => setViolations(names, unit, thresholds as ThresholdSet))
    return allOf(checks.limits(thresholds), () => limitViolations(names, unit, thresholds as Limits))
  }
  return (thresholds) =>
    byForm(thresholds).map((one) => ({ ...one, path: [path, one.path].filter(Boolean).join('.') }))
}

const noPreset = (published: readonly string[]): Violation => ({
  ...{ path: '', code: 'enum' },
  message:
    published.length > 0 ? `must be one of ${published.join(', ')}` : 'must be limits, or a set with bands',
})

const notAForm: Violation = {
  path: '',
  code: 'form',
  message: 'must be the name of a preset, limits, or a set with bands',
}

/** Rules beyond the schema are only checked for what fulfils it. */
const allOf = (bySchema: Violation[], byRule: () => Violation[]) =>
  bySchema.length > 0 ? bySchema : byRule()

const unitViolations = (own: string, unit: string): Violation[] =>
  isConvertible(unit, own)
    ? []
    : [{ path: 'unit', code: 'unit', message: `must be one of ${namesOfUnit(own).join(', ')}` }]

function limitViolations(names: readonly string[], own: string, limits: Limits): Violation[] {
  const crossed = names.flatMap((name): Violation[] => {
    const { [`${name}Low` as const]: low = Number.NEGATIVE_INFINITY } = limits
    const { [`${name}High` as const]: high = Number.POSITIVE_INFINITY } = limits
    if (low < high) return []
    return [{ path: `${name}High`, code: 'impossible', message: 'must be above the lower limit' }]
  })
  return [...unitViolations(own, limits.unit), ...crossed]
}

function setViolations(names: readonly string[], own: string, { unit, bands }: ThresholdSet): Violation[] {
  const repeated = (key: 'severity' | 'code'): Violation[] =>
    bands.flatMap((band, i) =>
      bands.findIndex((other) => other[key] === band[key]) < i
        ? [{ path: `bands.${i}.${key}`, code: 'repeated', message: `must differ from every other ${key}` }]
        : [],
    )
  return [
    ...unitViolations(own, unit),
    ...repeated('severity'),
    ...repeated('code'),
    ...bands.flatMap((band, i) => bandViolations(names, band, `bands.${i}`)),
  ]
}

function bandViolations(names: readonly string[], band: Band, path: string): Violation[] {
  const bounded = names.filter((name) => band[name] !== undefined)
  if (bounded.length === 0) return [{ path, code: 'empty', message: `must bound ${names.join(' or ')}` }]
  return bounded
    .filter((name) => isImpossible(band[name] as Bounds))
    .map((name) => ({ path: `${path}.${name}`, code: 'impossible', message: 'must leave room for a value' }))
}

/** Whether no number fulfils the bounds. */
function isImpossible({ gt, gte, lt, lte }: Bounds): boolean {
  const lower = Math.max(gt ?? Number.NEGATIVE_INFINITY, gte ?? Number.NEGATIVE_INFINITY)
  const upper = Math.min(lt ?? Number.POSITIVE_INFINITY, lte ?? Number.POSITIVE_INFINITY)
  return lower > upper || (lower === upper && (lower === gt || upper === lt))
}
