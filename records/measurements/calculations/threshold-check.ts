import {
  type Band,
  type Bounds,
  type PersonalLimits,
  type ThresholdSet,
  thresholdForms,
} from '../../../schemas/measurements/thresholds.ts'
import {
  convertibleUnitNames,
  convertUnit,
  isConvertible,
  roundTo,
} from '../../../schemas/measurements/units.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import {
  choiceViolation,
  rangeViolation,
  type ValidPart,
  type Violation,
  withoutInvalidProperties,
} from '../../../schemas/validation/violations.ts'
import type { Thresholds, ThresholdTarget } from './thresholds.ts'

export type ThresholdCheck = (thresholds: Thresholds) => Violation[]

/** Checks thresholds of any of the three forms; the value's type decides which form applies. */
export function createThresholdCheck(thresholdTarget: ThresholdTarget, path = ''): ThresholdCheck {
  const { names, unit, presets, ranges } = thresholdTarget
  const forms = thresholdForms(names, convertibleUnitNames(unit), ranges && 0)
  const checks = { limits: createValidator(forms.limits), set: createValidator(forms.set) }
  const presetNames = Object.keys(presets)
  const byForm: ThresholdCheck = (thresholds) => {
    if (typeof thresholds === 'string')
      return presetNames.includes(thresholds) ? [] : [unknownPresetViolation(presetNames)]
    if (typeof thresholds !== 'object' || thresholds === null || Array.isArray(thresholds))
      return [unknownFormViolation]
    if ('bands' in thresholds) {
      const bySchema = checks.set(thresholds)
      return [...bySchema, ...setViolations(thresholdTarget, validPartOfSet(thresholds, bySchema))]
    }
    const bySchema = checks.limits(thresholds)
    return [...bySchema, ...limitViolations(thresholdTarget, withoutInvalidProperties(thresholds, bySchema))]
  }
  return (thresholds) =>
    byForm(thresholds).map((one) => ({ ...one, path: [path, one.path].filter(Boolean).join('.') }))
}

const unknownPresetViolation = (presetNames: readonly string[]): Violation =>
  presetNames.length > 0
    ? choiceViolation('', presetNames)
    : {
        path: '',
        code: 'enum',
        message: 'must be limits or a set with bands, because there are no presets',
      }

const unknownFormViolation: Violation = {
  path: '',
  code: 'form',
  message: 'must be the name of a preset, limits, or a set with bands',
}

/**
 * Does for a threshold set what {@link withoutInvalidProperties} does, band by band; each band keeps its
 * index.
 */
function validPartOfSet(thresholdSet: ThresholdSet, bySchema: readonly Violation[]) {
  const isFaulty = (property: string): boolean => bySchema.some(({ path }) => path === property)
  const isFaultyIn = (property: string): boolean =>
    bySchema.some(({ path }) => `${path}.`.startsWith(`${property}.`))
  const bands = isFaulty('bands') ? [] : thresholdSet.bands.map((band, i) => [i, band] as const)
  return {
    unit: isFaulty('unit') ? undefined : thresholdSet.unit,
    bands: bands.filter(([i]) => !isFaultyIn(`bands.${i}`)),
  }
}

const unitViolations = (targetUnit: string, unit: string | undefined): Violation[] =>
  unit === undefined || isConvertible(unit, targetUnit)
    ? []
    : [choiceViolation('unit', convertibleUnitNames(targetUnit), 'unit')]

function limitViolations(thresholdTarget: ThresholdTarget, limits: ValidPart<PersonalLimits>): Violation[] {
  const { names, unit: targetUnit } = thresholdTarget
  const crossedLimits = names.flatMap((name): Violation[] => {
    const { [`${name}Low` as const]: low = Number.NEGATIVE_INFINITY } = limits
    const { [`${name}High` as const]: high = Number.POSITIVE_INFINITY } = limits
    if (low < high) return []
    return [{ path: `${name}High`, code: 'impossible', message: 'must be above the lower limit' }]
  })
  const outside = names.flatMap((name): Violation[] => {
    const [min, max] = rangeInUnit(thresholdTarget, name, limits.unit)
    const { [`${name}Low` as const]: low = NO_LOWER_LIMIT, [`${name}High` as const]: high = max } = limits
    const range = { min: roundTo(min, 2), max: roundTo(max, 2) }
    const sides = [
      ...(low !== NO_LOWER_LIMIT && (low < min || low > max) ? ['Low'] : []),
      ...(high < min || high > max ? ['High'] : []),
    ]
    return sides.map((side) => rangeViolation(name + side, range, limits.unit))
  })
  return [...unitViolations(targetUnit, limits.unit), ...crossedLimits, ...outside]
}

/** No value is below it. */
const NO_LOWER_LIMIT = 0

/**
 * The possible range of a value in a unit; unbounded if the range is unknown or the unit does not convert.
 */
function rangeInUnit(
  { unit: targetUnit, ranges }: ThresholdTarget,
  name: string,
  unit: string | undefined,
): readonly [number, number] {
  const range = ranges?.[name]
  if (!range || unit === undefined || !isConvertible(unit, targetUnit))
    return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  return [convertUnit(range[0], targetUnit, unit), convertUnit(range[1], targetUnit, unit)]
}

function setViolations(
  thresholdTarget: ThresholdTarget,
  { unit, bands }: ReturnType<typeof validPartOfSet>,
): Violation[] {
  const duplicateViolations = (key: 'severity' | 'code'): Violation[] =>
    bands.flatMap(([index, band], i) =>
      bands.findIndex(([, other]) => other[key] === band[key]) < i
        ? [
            {
              path: `bands.${index}.${key}`,
              code: 'repeated',
              message: `must differ from every other ${key}`,
            },
          ]
        : [],
    )
  return [
    ...unitViolations(thresholdTarget.unit, unit),
    ...duplicateViolations('severity'),
    ...duplicateViolations('code'),
    ...bands.flatMap(([index, band]) => bandViolations(thresholdTarget, unit, band, `bands.${index}`)),
  ]
}

function bandViolations(
  thresholdTarget: ThresholdTarget,
  unit: string | undefined,
  band: Band,
  path: string,
): Violation[] {
  const { names } = thresholdTarget
  const boundedNames = names.filter((name) => band[name] !== undefined)
  if (boundedNames.length === 0)
    return [{ path, code: 'empty', message: `must have a bound for ${names.join(' or ')}` }]
  return boundedNames.flatMap((name): Violation[] => {
    const range = rangeInUnit(thresholdTarget, name, unit)
    if (!isImpossible(band[name] as Bounds, range)) return []
    const message = `must allow at least one value from ${range.map((end) => roundTo(end, 2)).join(' to ')}`
    return [{ path: `${path}.${name}`, code: 'impossible', message }]
  })
}

/** Whether the bounds exclude every possible value. */
function isImpossible({ gt, gte, lt, lte }: Bounds, [min, max]: readonly [number, number]): boolean {
  const lower = Math.max(gt ?? min, gte ?? min, min)
  const upper = Math.min(lt ?? max, lte ?? max, max)
  return lower > upper || (lower === upper && (lower === gt || upper === lt))
}
