import type {
  BloodPressureConditionParams,
  BloodPressureConditionResult,
} from '../../../schemas/measurements/blood-pressure-condition.ts'
import { convertExactly } from '../../../schemas/measurements/units.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import * as quantities from '../quantities/quantities.ts'
import { quantityViolations } from '../quantities/quantity.ts'
import { bloodPressureThresholds } from './blood-pressure-thresholds.ts'
import { createThresholdCheck } from './threshold-check.ts'
import { findBand, toAlertBands } from './thresholds.ts'

const checkPressureThresholds = createThresholdCheck(bloodPressureThresholds, 'thresholds')

/**
 * The violations that the schema cannot find: units, ranges, systolic below diastolic, inconsistent
 * thresholds.
 */
export const conditionViolations = ({
  systolic,
  diastolic,
  unit,
  thresholds,
}: BloodPressureConditionParams): Violation[] => {
  return [
    ...quantityViolations(quantities.systolic, 'systolic', systolic, unit, 'unit'),
    ...quantityViolations(quantities.diastolic, 'diastolic', diastolic, unit, 'unit').filter(
      ({ path }) => path !== 'unit',
    ),
    ...quantities.diastolicViolations({ systolic, systolicUnit: unit, diastolic, diastolicUnit: unit }),
    ...checkPressureThresholds(thresholds),
  ]
}

/** Classifies a blood pressure; compares exact values in the unit of the thresholds. */
export function classifyBloodPressure(params: BloodPressureConditionParams): BloodPressureConditionResult {
  const set = toAlertBands(bloodPressureThresholds, params.thresholds)
  const inUnit = (unit: string) => ({
    systolic: convertExactly(params.systolic, params.unit, unit),
    diastolic: convertExactly(params.diastolic, params.unit, unit),
  })
  const { systolic, diastolic } = inUnit('mm[Hg]')
  const band = findBand(set, bloodPressureThresholds.names, inUnit(set.unit))
  return {
    condition: band?.code ?? 'unclassified',
    label: band?.label ?? 'Unclassified',
    severity: band?.severity ?? null,
    isolatedSystolic: systolic.compareTo(140) >= 0 && diastolic.compareTo(90) < 0,
    thresholdSet: set.name,
    normalised: { systolic: systolic.round(2), diastolic: diastolic.round(2), unit: 'mm[Hg]' },
  }
}
