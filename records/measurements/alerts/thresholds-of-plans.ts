import type { PlanPlace } from '../../registered/into.ts'
import { PlanDocuments } from '../../registered/plan-documents.ts'
import { refuseViolations } from '../../registered/refusals/refusals.ts'
import type { Holders, Writing } from '../../registered/registered.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { type ThresholdCheck, thresholdRules } from '../calculations/threshold-rules.ts'
import type { Thresholded, Thresholds } from '../calculations/thresholds.ts'
import type { MeasurementKind } from '../measurement.ts'
import { PlanThresholds } from './plan-thresholds.ts'

/** By kind of measurement, as the path family calls it. */
type OfKinds = Partial<Record<string, Thresholds>>

/** The rules of the thresholds of each kind, by what the path family calls it. */
export const thresholdRulesOf = (kinds: readonly MeasurementKind[]): ReadonlyMap<string, ThresholdCheck> =>
  new Map(kinds.map(({ path, thresholded }) => [path, thresholdRules(thresholded, path)]))

/** The thresholds of the care plans. */
export class ThresholdsOfPlans extends PlanDocuments<OfKinds> {
  readonly #typed: (name: string) => Promise<Thresholded | undefined>
  readonly #rules: ReadonlyMap<string, ThresholdCheck>

  /** @param typed what thresholds of a data type can be; undefined: there is no such type of numbers */
  constructor(
    records: Records,
    holders: Pick<Holders, 'plan'>,
    kinds: readonly MeasurementKind[],
    typed: (name: string) => Promise<Thresholded | undefined>,
  ) {
    super(records, holders, PlanThresholds)
    this.#typed = typed
    this.#rules = thresholdRulesOf(kinds)
  }

  /** @throws NotFound; Forbidden for one who may only read the plan; PreconditionFailed; RuleViolated */
  override async save(caller: Caller, place: PlanPlace, value: OfKinds, options: Writing) {
    const found = Object.entries(value).map(async ([path, thresholds]) => {
      if (thresholds === undefined) return []
      const rules = this.#rules.get(path) ?? (await this.#rulesOfType(path))
      return rules?.(thresholds) ?? [{ path, code: 'unknown', message: 'is not a kind of measurement' }]
    })
    refuseViolations((await Promise.all(found)).flat())
    return super.save(caller, place, value, options)
  }

  async #rulesOfType(name: string): Promise<ThresholdCheck | undefined> {
    const thresholded = await this.#typed(name)
    return thresholded && thresholdRules(thresholded, name)
  }
}
