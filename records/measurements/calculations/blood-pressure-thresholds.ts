import type { PresetName } from '../../../schemas/blood-pressure-condition.ts'
import type { Band } from '../../../schemas/thresholds.ts'
import { diastolic, systolic } from '../quantities/quantities.ts'
import { otherwise, type Preset, type Thresholded } from './thresholds.ts'

type Name = 'systolic' | 'diastolic'

const names = ['systolic', 'diastolic'] as const
const unit = 'mm[Hg]'

/** A band that either value reaches from below. */
const from = (
  severity: number,
  code: string,
  label: string,
  systolic: number,
  diastolic: number,
): Band<Name> => ({
  ...{ severity, code, label, combine: 'any' },
  systolic: { gte: systolic },
  diastolic: { gte: diastolic },
})

const presets = {
  /** European Society of Cardiology and European Society of Hypertension, 2018. */
  esc2018: {
    ...{ unit, alertFrom: 3 },
    bands: [
      otherwise(names, 'optimal', 'Optimal'),
      from(1, 'normal', 'Normal', 120, 80),
      from(2, 'high-normal', 'High normal', 130, 85),
      from(3, 'grade1', 'Hypertension grade 1', 140, 90),
      from(4, 'grade2', 'Hypertension grade 2', 160, 100),
      from(5, 'grade3', 'Hypertension grade 3', 180, 110),
    ],
  },
  /** European Society of Cardiology, 2024. */
  esc2024: {
    ...{ unit, alertFrom: 2 },
    bands: [
      otherwise(names, 'non-elevated', 'Not elevated'),
      from(1, 'elevated', 'Elevated', 120, 70),
      from(2, 'hypertension', 'Hypertension', 140, 90),
    ],
  },
  /** American College of Cardiology and American Heart Association, 2017. */
  aha2017: {
    ...{ unit, alertFrom: 2 },
    bands: [
      otherwise(names, 'normal', 'Normal'),
      { severity: 1, code: 'elevated', label: 'Elevated', combine: 'all', systolic: { gte: 120 } },
      from(2, 'stage1', 'Hypertension stage 1', 130, 80),
      from(3, 'stage2', 'Hypertension stage 2', 140, 90),
      {
        ...{ severity: 4, code: 'crisis', label: 'Hypertensive crisis', combine: 'any' },
        systolic: { gt: 180 },
        diastolic: { gt: 120 },
      },
    ],
  },
} satisfies Record<PresetName, Preset<Name>>

const ranges = { systolic: systolic.hard, diastolic: diastolic.hard }

/** What thresholds of a blood pressure bound; the usual ones first. */
export const bloodPressure: Thresholded<Name> = { names, unit, ranges, presets }
