import type { PlanPlace } from '../../registered/into.ts'
import { PlanDocuments } from '../../registered/plan-documents.ts'
import { refuseViolations } from '../../registered/refusals/refusals.ts'
import type { Holders, Writing } from '../../registered/registered.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { thresholdRules } from '../calculations/threshold-rules.ts'
import type { Thresholds } from '../calculations/thresholds.ts'
import type { MeasurementKind } from '../measurement.ts'
import { PlanThresholds } from './plan-thresholds.ts'

/** By kind of measurement, as the path family calls it. */
type OfKinds = Partial<Record<string, Thresholds>>

/** The thresholds of the care plans. */
export class ThresholdsOfPlans extends PlanDocuments<OfKinds> {
  readonly #rules: ReadonlyMap<string, ReturnType<typeof thresholdRules>>

  constructor(records: Records, holders: Pick<Holders, 'plan'>, kinds: readonly MeasurementKind[]) {
    super(records, holders, PlanThresholds)
    this.#rules = new Map(kinds.map(({ path, thresholded }) => [path, thresholdRules(thresholded, path)]))
  }

  /** @throws NotFound; Forbidden for one who may only read the plan; PreconditionFailed; RuleViolated */
  override save(caller: Caller, place: PlanPlace, value: OfKinds, options: Writing) {
    refuseViolations(
      Object.entries(value).flatMap(([path, thresholds]) => {
        if (thresholds === undefined) return []
        return (
          this.#rules.get(path)?.(thresholds) ?? [
            { path, code: 'unknown', message: 'is not a kind of measurement' },
          ]
        )
      }),
    )
    return super.save(caller, place, value, options)
  }
}
