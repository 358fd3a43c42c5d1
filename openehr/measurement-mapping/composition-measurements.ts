import { isDeepStrictEqual } from 'node:util'
import { ALERT_RULES_COLLECTIONS } from '../../records/measurements/alerts/alerts.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import type { Caller, Permissions } from '../../records/store/documents/caller.ts'
import { createParseFormat, type ParseDocument } from '../../records/store/documents/parse-format.ts'
import { WriteDecider } from '../../records/store/write-decider.ts'
import type { RecordDerivation } from '../../records/store/writing/derived-records.ts'
import type { DerivedWrite } from '../../records/store/writing/write-decision.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import {
  type CompositionMeasurement,
  fromComposition,
  mappableByArchetype,
  type TimePrecision,
} from './from-composition.ts'

/** A composition that is being written. */
interface WrittenComposition {
  id: string
  ehrId: string
  carePlanId?: string
  archetypes: readonly string[]
  json?: string
}

type MeasurementFormat = ReturnType<typeof createParseFormat>

/**
 * Derives the measurements that a composition contains: they are created, changed and deleted with it, alerts
 * included.
 */
export function compositionMeasurements(measurementKinds: readonly MeasurementKind[]): RecordDerivation {
  const kinds = mappableByArchetype(measurementKinds)
  const formats = new Map([...kinds.values()].map((kind) => [kind, createParseFormat(kind.schema)]))
  const heldBy = (
    composition: WrittenComposition | null,
    precision?: TimePrecision,
  ): CompositionMeasurement[] => {
    if (composition?.json === undefined || !composition.archetypes.some((id) => kinds.has(id))) return []
    const { id: compositionId, ehrId, carePlanId, json } = composition
    const parents = { ehrId, carePlanId, compositionId }
    return fromComposition(kinds, JSON.parse(json) as RmObject, parents, precision)
  }
  return {
    rulesCollections: ALERT_RULES_COLLECTIONS,
    deriveWrites(caller, { before, after, permissions }) {
      const former = heldBy(before as WrittenComposition | null, 'day')
      const next = heldBy(after as WrittenComposition | null)
      const keptIds = new Set(next.map(({ id }) => id))
      const gone = former.filter(({ id }) => !keptIds.has(id))
      const isNew = before === null
      const write = (one: CompositionMeasurement, isGone: boolean) =>
        toDerivedWrite(
          caller,
          permissions,
          { ...one, format: formats.get(one.kind) as MeasurementFormat },
          { isNew, isGone },
        )
      return [...gone.map((one) => write(one, true)), ...next.map((one) => write(one, false))]
    },
  }
}

function toDerivedWrite(
  caller: Caller,
  permissions: Permissions,
  { kind, id, record, format }: CompositionMeasurement & { format: MeasurementFormat },
  { isNew, isGone }: { isNew: boolean; isGone: boolean },
): DerivedWrite {
  const { ehrId, carePlanId } = record as { ehrId: string; carePlanId?: string }
  const isSame = (document: ParseDocument) =>
    isDeepStrictEqual(
      format.toStored(record, document),
      format.toStored(format.fromStored(document), document),
    )
  return {
    collection: kind.collection,
    id,
    isNew,
    parentId: carePlanId ?? ehrId,
    decide({ document, at, first }) {
      const decisions = new WriteDecider({ ...kind, refuseChange: undefined }, format, () => at)
      const key = { id, ehrId } as never
      if (!document)
        return isGone
          ? undefined
          : decisions.decideCreate(caller, [{ ...record, id }], permissions, null, first)
      if (isGone) return decisions.decideRemoval(caller, key, document)
      if (isSame(document)) return undefined
      return decisions.decideUpdate(caller, key, document, () => record)
    },
  }
}
