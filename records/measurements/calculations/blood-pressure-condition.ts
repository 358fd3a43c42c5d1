import type { ConditionParams, ConditionResult } from '../../../schemas/blood-pressure-condition.ts'
import type { Violation } from '../../../schemas/violation.ts'
import * as quantities from '../quantities/quantities.ts'
import { quantityViolations } from '../quantities/quantity.ts'
import { convert, rounded } from '../quantities/units.ts'
import { bloodPressure } from './blood-pressure-thresholds.ts'
import { thresholdRules } from './threshold-rules.ts'
import { alertBands, bandOf } from './thresholds.ts'

const thresholdViolations = thresholdRules(bloodPressure, 'thresholds')

/** What the schema cannot say about the parameters: units, ranges, order, and thresholds that make sense. */
export const conditionViolations = ({
  systolic,
  diastolic,
  unit,
  thresholds,
}: ConditionParams): Violation[] => {
  return [
    ...quantityViolations(quantities.systolic, 'systolic', systolic, unit, 'unit'),
    ...quantityViolations(quantities.diastolic, 'diastolic', diastolic, unit, 'unit').filter(
      ({ path }) => path !== 'unit',
    ),
    ...quantities.diastolicViolations({ systolic, systolicUnit: unit, diastolic, diastolicUnit: unit }),
    ...thresholdViolations(thresholds),
  ]
}

/** What a blood pressure means by the thresholds; compared unrounded, in the unit of the thresholds. */
export function bloodPressureCondition(params: ConditionParams): ConditionResult {
  const set = alertBands(bloodPressure, params.thresholds)
  const inUnit = (unit: string) => ({
    systolic: convert(params.systolic, params.unit, unit),
    diastolic: convert(params.diastolic, params.unit, unit),
  })
  const { systolic, diastolic } = inUnit('mm[Hg]')
  const band = bandOf(set, bloodPressure.names, inUnit(set.unit))
  return {
    condition: band?.code ?? 'unclassified',
    label: band?.label ?? 'Unclassified',
    severity: band?.severity ?? null,
    isolatedSystolic: systolic >= 140 && diastolic < 90,
    thresholdSet: set.name,
    normalised: { systolic: rounded(systolic, 2), diastolic: rounded(diastolic, 2), unit: 'mm[Hg]' },
  }
}
