import type { Violation } from '../../../schemas/validation/violations.ts'
import type { EhrWriteOptions } from '../../ehr-records/ehr-records.ts'
import type { PlanParentIds } from '../../ehr-records/parents/parents.ts'
import { PlanDocuments } from '../../ehr-records/plan-documents.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import { createThresholdCheck, type ThresholdCheck } from '../calculations/threshold-check.ts'
import type { Thresholds, ThresholdTarget } from '../calculations/thresholds.ts'
import type { MeasurementKind } from '../measurement.ts'
import { PlanThresholds } from './plan-thresholds.ts'

/** Thresholds by the kind's name in the path family. */
type ThresholdsByKind = Partial<Record<string, Thresholds>>

/** The threshold checks by the kind's name in the path family. */
export const thresholdChecksOf = (kinds: readonly MeasurementKind[]): ReadonlyMap<string, ThresholdCheck> =>
  new Map(kinds.map(({ path, thresholdTarget }) => [path, createThresholdCheck(thresholdTarget, path)]))

/** The data types, of which this folder knows nothing else. */
interface DataTypes {
  /** Finds what thresholds of a data type can limit; undefined if no numeric data type has this name. */
  findTarget(name: string): Promise<ThresholdTarget | undefined>
  /** Keeps a data type from being deleted. @returns whether it still exists */
  markUsed(name: string): Promise<boolean>
}

export class PlanThresholdStore extends PlanDocuments<ThresholdsByKind> {
  readonly #types: DataTypes
  readonly #checks: ReadonlyMap<string, ThresholdCheck>

  constructor(context: StoreContext, kinds: readonly MeasurementKind[], types: DataTypes) {
    super(context, PlanThresholds)
    this.#types = types
    this.#checks = thresholdChecksOf(kinds)
  }

  /** @throws NotFound; Forbidden if the caller may only read the plan; PreconditionFailed; RuleViolated */
  override async save(
    caller: Caller,
    parentIds: PlanParentIds,
    value: ThresholdsByKind,
    options: EhrWriteOptions,
  ) {
    const violationsByPath = Object.entries(value).map(async ([path, thresholds]) => {
      if (thresholds === undefined) return []
      const rules = this.#checks.get(path) ?? (await this.#checkOfType(path))
      return rules?.(thresholds) ?? [unknownKind(path)]
    })
    requireNoViolations((await Promise.all(violationsByPath)).flat())
    return super.save(caller, parentIds, value, options)
  }

  protected override async afterSave(
    _tx: Transaction,
    _place: PlanParentIds,
    value: ThresholdsByKind,
  ): Promise<void> {
    for (const path of Object.keys(value))
      if (!this.#checks.has(path) && !(await this.#types.markUsed(path)))
        requireNoViolations([unknownKind(path)])
  }

  async #checkOfType(name: string): Promise<ThresholdCheck | undefined> {
    const thresholdTarget = await this.#types.findTarget(name)
    return thresholdTarget && createThresholdCheck(thresholdTarget, name)
  }
}

const unknownKind = (path: string): Violation => ({
  path,
  code: 'unknown',
  message: 'is not a kind of measurement with thresholds',
})
