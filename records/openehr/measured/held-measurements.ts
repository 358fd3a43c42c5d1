import { isDeepStrictEqual } from 'node:util'
import { PlanThresholds } from '../../measurements/alerts/plan-thresholds.ts'
import type { MeasurementKind } from '../../measurements/measurement.ts'
import { Decisions } from '../../store/decisions.ts'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import { type ParseDocument, parseFormat } from '../../store/documents/parse-format.ts'
import type { Companion } from '../../store/writing/companions.ts'
import type { CompanionWrite } from '../../store/writing/decision.ts'
import type { RmObject } from '../rm/canonical.ts'
import { type HeldMeasurement, isReadable, measurementsIn } from './measurements-in.ts'
import { shapeOf } from './shapes.ts'

/** A composition that is being written. */
interface Holding {
  id: string
  ehrId: string
  carePlanId?: string
  archetypes: readonly string[]
  json?: string
}

/** The measurements that compositions hold, which are made, changed and removed with them; and what follows from those. */
export function heldMeasurements(all: readonly MeasurementKind[]): Companion {
  const kinds = all.filter(isReadable)
  const known = new Set(kinds.map((kind) => shapeOf(kind).archetype))
  const heldBy = (composition: Holding | null): HeldMeasurement[] => {
    if (composition?.json === undefined || !composition.archetypes.some((id) => known.has(id))) return []
    const { id: compositionId, ehrId, carePlanId, json } = composition
    return measurementsIn(kinds, JSON.parse(json) as RmObject, { ehrId, carePlanId, compositionId })
  }
  return {
    rules: PlanThresholds.collection,
    writesFor(caller, { before, after, permissions }) {
      const [now, next] = [before, after].map((one) => heldBy(one as Holding | null))
      const kept = new Set(next?.map(({ id }) => id))
      const gone = now?.filter(({ id }) => !kept.has(id)) ?? []
      const isNew = before === null
      return [
        ...gone.map((one) => writeOf(caller, permissions, one, { isNew, isGone: true })),
        ...(next ?? []).map((one) => writeOf(caller, permissions, one, { isNew, isGone: false })),
      ]
    },
  }
}

function writeOf(
  caller: Caller,
  permissions: Permissions,
  { kind, id, record }: HeldMeasurement,
  { isNew, isGone }: { isNew: boolean; isGone: boolean },
): CompanionWrite {
  const { ehrId, carePlanId } = record as { ehrId: string; carePlanId?: string }
  const format = parseFormat(kind.schema)
  const isSame = (found: ParseDocument) =>
    isDeepStrictEqual(format.toStored(record, found), format.toStored(format.fromStored(found), found))
  return {
    ...{ collection: kind.collection, id, isNew },
    holderId: carePlanId ?? ehrId,
    decide(found, _, at) {
      const decisions = new Decisions({ ...kind, refuseChange: undefined }, format, () => at)
      const key = { id, ehrId } as never
      if (!found)
        return isGone ? undefined : decisions.created(caller, [{ ...record, id }], permissions, null)
      if (isGone) return decisions.removed(caller, key, found, undefined)
      if (isSame(found)) return undefined
      const free = { expected: undefined, permissions: undefined, action: 'update' as const }
      return decisions.updated(caller, key, found, () => record, free)
    },
  }
}
