import type {
  Band,
  ConditionParams,
  Limits,
  PresetName,
  ThresholdSet,
} from '../../../schemas/blood-pressure-condition.ts'

const always = { gt: 0 }

/** A band that either value reaches from below. */
const from = (severity: number, code: string, label: string, systolic: number, diastolic: number): Band => ({
  severity,
  code,
  label,
  combine: 'any',
  systolic: { gte: systolic },
  diastolic: { gte: diastolic },
})

/** The band of everything that reaches no other one. */
const otherwise = (code: string, label: string): Band => ({
  severity: 0,
  code,
  label,
  combine: 'all',
  systolic: always,
  diastolic: always,
})

const presets = {
  /** American College of Cardiology and American Heart Association, 2017. */
  aha2017: [
    otherwise('normal', 'Normal'),
    { severity: 1, code: 'elevated', label: 'Elevated', combine: 'all', systolic: { gte: 120 } },
    from(2, 'stage1', 'Hypertension stage 1', 130, 80),
    from(3, 'stage2', 'Hypertension stage 2', 140, 90),
    {
      severity: 4,
      code: 'crisis',
      label: 'Hypertensive crisis',
      combine: 'any',
      systolic: { gt: 180 },
      diastolic: { gt: 120 },
    },
  ],
  /** European Society of Cardiology and European Society of Hypertension, 2018. */
  esc2018: [
    otherwise('optimal', 'Optimal'),
    from(1, 'normal', 'Normal', 120, 80),
    from(2, 'high-normal', 'High normal', 130, 85),
    from(3, 'grade1', 'Hypertension grade 1', 140, 90),
    from(4, 'grade2', 'Hypertension grade 2', 160, 100),
    from(5, 'grade3', 'Hypertension grade 3', 180, 110),
  ],
  /** European Society of Cardiology, 2024. */
  esc2024: [
    otherwise('non-elevated', 'Not elevated'),
    from(1, 'elevated', 'Elevated', 120, 70),
    from(2, 'hypertension', 'Hypertension', 140, 90),
  ],
} satisfies Record<PresetName, Band[]>

/** Thresholds of any form as a set of bands; presets are in mmHg. */
export function thresholdSet(thresholds: ConditionParams['thresholds']): ThresholdSet {
  if (typeof thresholds === 'string') return { name: thresholds, unit: 'mm[Hg]', bands: presets[thresholds] }
  return 'bands' in thresholds ? thresholds : limitBands(thresholds)
}

/** A person's own limits as bands; a value on a limit is still normal. */
function limitBands({ unit, ...limits }: Limits): ThresholdSet {
  const { systolicLow, systolicHigh, diastolicLow, diastolicHigh } = limits
  const low = {
    ...(systolicLow !== undefined && { systolic: { lt: systolicLow } }),
    ...(diastolicLow !== undefined && { diastolic: { lt: diastolicLow } }),
  }
  const high = {
    ...(systolicHigh !== undefined && { systolic: { gt: systolicHigh } }),
    ...(diastolicHigh !== undefined && { diastolic: { gt: diastolicHigh } }),
  }
  return {
    name: 'limits',
    unit,
    bands: [
      otherwise('normal', 'Normal'),
      { severity: 1, code: 'low', label: 'Low', combine: 'any', ...low },
      { severity: 2, code: 'high', label: 'High', combine: 'any', ...high },
    ],
  }
}
