import type { Values } from '../../records/ehr-records/kind.ts'
import { validateNewRecord } from '../../records/ehr-records/validation/record-validation.ts'
import { isPresent } from '../../records/measurements/dependent-fields.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { idFromText } from '../../records/store/documents/ids.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { markedFieldNames } from '../../schemas/forms/fields.ts'
import { withUtcOffset } from '../../schemas/time/iso-time.ts'
import { observationArchetypeOf } from '../composition-views/measurements/observation-archetypes.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { instantMsOf, parseDateTime } from '../rm/iso8601.ts'

/** A measurement that a composition contains. */
export interface CompositionMeasurement {
  kind: MeasurementKind
  id: string
  record: Values
}

/** The parents that a measurement takes over from its composition. */
interface MeasurementParents {
  ehrId: string
  carePlanId?: string | undefined
  compositionId: string
}

/** The smallest part that the time of a measurement must have. Earlier versions of the service took a day for midnight. */
export type TimePrecision = 'minute' | 'day'

/** Limit for one composition; a device with more measurements sends several compositions. */
export const MAX_MEASUREMENTS = 1000

/**
 * Whether an observation contains all values of a kind: clients send all of its series themselves. The points
 * of a questionnaire, by contrast, follow from its answers, which an observation does not contain.
 */
export const isMappable = ({ series, fields, quantities }: MeasurementKind): boolean => {
  const ours = markedFieldNames(fields, 'derived', 'internal')
  return Object.entries(series).every(
    ([name, { field }]) => name in quantities || (field in fields && !ours.includes(field)),
  )
}

/** The mappable kinds by their archetypes. */
export const mappableByArchetype = (
  kinds: readonly MeasurementKind[],
): ReadonlyMap<string, MeasurementKind> =>
  new Map(kinds.filter(isMappable).map((kind) => [observationArchetypeOf(kind).archetype, kind]))

/**
 * The measurements of these kinds in a composition: one for each point of time in each observation of a
 * kind's archetype. Skips values that violate the kind's own rules, and those of a day without a time.
 */
export function fromComposition(
  kinds: ReadonlyMap<string, MeasurementKind>,
  composition: RmObject,
  parents: MeasurementParents,
  precision: TimePrecision = 'minute',
): CompositionMeasurement[] {
  const times = new Map<string, number>()
  const measurements: CompositionMeasurement[] = []
  for (const observation of findObservations(composition)) {
    const kind = kinds.get(String(observation.archetype_node_id))
    if (!kind) continue
    for (const event of listAttribute(observation.data, 'events')) {
      const record = event._type === 'POINT_EVENT' && toMeasurementRecord(kind, event, parents, precision)
      if (!record) continue
      const eventKey = [parents.compositionId, kind.path, record.timestamp].join('/')
      const nth = times.get(eventKey) ?? 0
      times.set(eventKey, nth + 1)
      measurements.push({ kind, id: idFromText(`${eventKey}/${nth}`), record })
      if (measurements.length === MAX_MEASUREMENTS) return measurements
    }
  }
  return measurements
}

/** All observations, in document order. */
function findObservations(value: unknown): RmObject[] {
  if (typeof value !== 'object' || value === null) return []
  if ((value as RmObject)._type === 'OBSERVATION') return [value as RmObject]
  return Object.values(value).flatMap(findObservations)
}

const listAttribute = (object: unknown, name: string): RmObject[] => {
  const members = (object as RmObject | undefined)?.[name]
  return Array.isArray(members) ? members : []
}

/** An event as a record of the kind; undefined if it violates the kind's rules. */
function toMeasurementRecord(
  kind: MeasurementKind,
  event: RmObject,
  parents: MeasurementParents,
  precision: TimePrecision,
): Values | undefined {
  const time = toTime((event.time as RmObject | undefined)?.value, precision)
  if (time === undefined) return undefined
  const values = {
    ...withoutUndefined(parents),
    ...time,
    ...readValues(kind, listAttribute(event.data, 'items')),
  }
  try {
    const record = validateNewRecord(kind, values)
    const { carePlanId: _, ...required } = kind.schema.properties
    const requiredNames = Object.keys(required).filter((name) => kind.schema.required?.includes(name))
    return requiredNames.every((name) => isPresent(record, name)) ? record : undefined
  } catch (error) {
    if (error instanceof ServiceError) return undefined
    throw error
  }
}

const withoutUndefined = (values: object): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

/** A time without a zone is in UTC. Keeps the offset of local time. */
function toTime(
  value: unknown,
  precision: TimePrecision,
): { timestamp: string; utcOffset?: string } | undefined {
  const moment = typeof value === 'string' ? parseDateTime(value) : undefined
  if (moment?.[precision] === undefined) return undefined
  return {
    ...withUtcOffset({ timestamp: value as string }),
    timestamp: new Date(instantMsOf(moment)).toISOString(),
  }
}

function readValues(kind: MeasurementKind, items: readonly RmObject[]): Values {
  const { series, quantities } = kind
  const nodes = observationArchetypeOf(kind).items
  const values = Object.entries(series).flatMap(([name, { field, unit }], i) => {
    const element = items.find(({ archetype_node_id: node }) => node === nodes[i])
    const quantity = readNumber(element?.value as RmObject | undefined)
    if (!quantity) return []
    if (name in quantities)
      return [
        [name, quantity.value],
        [`${name}Unit`, quantity.unit],
      ]
    return quantity.unit === unit ? [[field, quantity.value]] : []
  })
  return Object.fromEntries(values)
}

/** A proportion of any type becomes a percentage. */
function readNumber(quantityValue: RmObject | undefined): { value: number; unit: string } | undefined {
  const { _type, magnitude, units, numerator, denominator }: Values = quantityValue ?? {}
  const [value, unit] =
    _type === 'DV_QUANTITY'
      ? [magnitude as number, String(units)]
      : [((numerator as number) * 100) / (denominator as number), '%']
  return Number.isFinite(value) ? { value, unit } : undefined
}
