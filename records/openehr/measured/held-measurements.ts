import { isDeepStrictEqual } from 'node:util'
import { PlanThresholds } from '../../measurements/alerts/plan-thresholds.ts'
import type { MeasurementKind } from '../../measurements/measurement.ts'
import { Decisions } from '../../store/decisions.ts'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import { type ParseDocument, parseFormat } from '../../store/documents/parse-format.ts'
import type { Companion } from '../../store/writing/companions.ts'
import type { CompanionWrite } from '../../store/writing/decision.ts'
import type { RmObject } from '../rm/canonical.ts'
import { type HeldMeasurement, measurementsIn, readableOf } from './measurements-in.ts'

/** A composition that is being written. */
interface Holding {
  id: string
  ehrId: string
  carePlanId?: string
  archetypes: readonly string[]
  json?: string
}

type Format = ReturnType<typeof parseFormat>

/** The measurements that compositions hold, which are made, changed and removed with them; and what follows from those. */
export function heldMeasurements(all: readonly MeasurementKind[]): Companion {
  const kinds = readableOf(all)
  const formats = new Map([...kinds.values()].map((kind) => [kind, parseFormat(kind.schema)]))
  const heldBy = (composition: Holding | null): HeldMeasurement[] => {
    if (composition?.json === undefined || !composition.archetypes.some((id) => kinds.has(id))) return []
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
      const write = (one: HeldMeasurement, isGone: boolean) =>
        writeOf(caller, permissions, { ...one, format: formats.get(one.kind) as Format }, { isNew, isGone })
      return [...gone.map((one) => write(one, true)), ...(next ?? []).map((one) => write(one, false))]
    },
  }
}

function writeOf(
  caller: Caller,
  permissions: Permissions,
  { kind, id, record, format }: HeldMeasurement & { format: Format },
  { isNew, isGone }: { isNew: boolean; isGone: boolean },
): CompanionWrite {
  const { ehrId, carePlanId } = record as { ehrId: string; carePlanId?: string }
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
