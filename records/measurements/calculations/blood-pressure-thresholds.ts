import type { PressurePresetName } from '../../../schemas/measurements/blood-pressure-condition.ts'
import type { Band } from '../../../schemas/measurements/thresholds.ts'
import { diastolic, systolic } from '../quantities/quantities.ts'
import { defaultBand, type ThresholdPreset, type ThresholdTarget } from './thresholds.ts'

type PressureName = 'systolic' | 'diastolic'

const PRESSURE_NAMES = ['systolic', 'diastolic'] as const
const PRESSURE_UNIT = 'mm[Hg]'

/** A band that begins where either value reaches its lower bound. */
const bandFrom = (
  severity: number,
  code: string,
  label: string,
  systolic: number,
  diastolic: number,
): Band<PressureName> => ({
  severity,
  code,
  label,
  combine: 'any',
  systolic: { gte: systolic },
  diastolic: { gte: diastolic },
})

export const pressurePresets = {
  /** European Society of Cardiology and European Society of Hypertension, 2018. */
  esc2018: {
    unit: PRESSURE_UNIT,
    alertFrom: 3,
    normalTo: 1,
    bands: [
      defaultBand(PRESSURE_NAMES, 'optimal', 'Optimal'),
      bandFrom(1, 'normal', 'Normal', 120, 80),
      bandFrom(2, 'high-normal', 'High normal', 130, 85),
      bandFrom(3, 'grade1', 'Hypertension grade 1', 140, 90),
      bandFrom(4, 'grade2', 'Hypertension grade 2', 160, 100),
      bandFrom(5, 'grade3', 'Hypertension grade 3', 180, 110),
    ],
  },
  /** European Society of Cardiology, 2024. */
  esc2024: {
    unit: PRESSURE_UNIT,
    alertFrom: 2,
    bands: [
      defaultBand(PRESSURE_NAMES, 'non-elevated', 'Not elevated'),
      bandFrom(1, 'elevated', 'Elevated', 120, 70),
      bandFrom(2, 'hypertension', 'Hypertension', 140, 90),
    ],
  },
  /** American College of Cardiology and American Heart Association, 2017. */
  aha2017: {
    unit: PRESSURE_UNIT,
    alertFrom: 2,
    bands: [
      defaultBand(PRESSURE_NAMES, 'normal', 'Normal'),
      { severity: 1, code: 'elevated', label: 'Elevated', combine: 'all', systolic: { gte: 120 } },
      bandFrom(2, 'stage1', 'Hypertension stage 1', 130, 80),
      bandFrom(3, 'stage2', 'Hypertension stage 2', 140, 90),
      {
        severity: 4,
        code: 'crisis',
        label: 'Hypertensive crisis',
        combine: 'any',
        systolic: { gt: 180 },
        diastolic: { gt: 120 },
      },
    ],
  },
} satisfies Record<PressurePresetName, ThresholdPreset<PressureName>>

const pressureRanges = { systolic: systolic.hard, diastolic: diastolic.hard }

/** The target of blood-pressure thresholds; the usual preset comes first. */
export const bloodPressureThresholds: ThresholdTarget<PressureName> = {
  names: PRESSURE_NAMES,
  unit: PRESSURE_UNIT,
  ranges: pressureRanges,
  presets: pressurePresets,
}
