import { createHash } from 'node:crypto'
import { ServiceError } from '../../../schemas/errors.ts'
import { namesOf } from '../../../schemas/forms/fields.ts'
import type { MeasurementKind } from '../../measurements/measurement.ts'
import { isThere } from '../../measurements/together.ts'
import type { Values } from '../../registered/kind.ts'
import { validNew } from '../../registered/rules.ts'
import type { RmObject } from '../rm/canonical.ts'
import { instantOf, parseDateTime } from '../rm/iso8601.ts'
import { shapeOf } from './shapes.ts'

/** A measurement that a composition holds. */
export interface HeldMeasurement {
  kind: MeasurementKind
  id: string
  record: Values
}

/** What of a composition its measurements say, too. */
interface Holder {
  ehrId: string
  carePlanId?: string | undefined
  compositionId: string
}

/** Of one composition: a device that sends more of them sends compositions. */
export const MOST_HELD = 1000

/**
 * The kinds whose values an observation gives: all of their series are what a client says. The points of a questionnaire
 * follow from its answers, which no such observation has.
 */
export const isReadable = ({ series, fields, quantities }: MeasurementKind): boolean => {
  const ours = namesOf(fields, 'derived', 'internal')
  return Object.entries(series).every(
    ([name, { field }]) => name in quantities || (field in fields && !ours.includes(field)),
  )
}

/** Those of the kinds that are readable, by their archetypes. */
export const readableOf = (kinds: readonly MeasurementKind[]): ReadonlyMap<string, MeasurementKind> =>
  new Map(kinds.filter(isReadable).map((kind) => [shapeOf(kind).archetype, kind]))

/**
 * The measurements of some kinds that are in a composition: one for each point of time in each observation of a kind's
 * archetype. What is no measurement by the kind's own rules is none.
 */
export function measurementsIn(
  kinds: ReadonlyMap<string, MeasurementKind>,
  composition: RmObject,
  holder: Holder,
): HeldMeasurement[] {
  const times = new Map<string, number>()
  const held: HeldMeasurement[] = []
  for (const observation of observationsIn(composition)) {
    const kind = kinds.get(String(observation.archetype_node_id))
    if (!kind) continue
    for (const event of membersOf(observation.data, 'events')) {
      const record = event._type === 'POINT_EVENT' && recordOf(kind, event, holder)
      if (!record) continue
      const about = [holder.compositionId, kind.path, record.timestamp].join('/')
      const nth = times.get(about) ?? 0
      times.set(about, nth + 1)
      held.push({ kind, id: idOf(`${about}/${nth}`), record })
      if (held.length === MOST_HELD) return held
    }
  }
  return held
}

/** All observations, in the order in which they stand. */
function observationsIn(value: unknown): RmObject[] {
  if (typeof value !== 'object' || value === null) return []
  if ((value as RmObject)._type === 'OBSERVATION') return [value as RmObject]
  return Object.values(value).flatMap(observationsIn)
}

const membersOf = (holder: unknown, name: string): RmObject[] => {
  const members = (holder as RmObject | undefined)?.[name]
  return Array.isArray(members) ? members : []
}

/** What an event says as a record of the kind; undefined: it is none. */
function recordOf(kind: MeasurementKind, event: RmObject, holder: Holder): Values | undefined {
  const timestamp = momentOf((event.time as RmObject | undefined)?.value)
  if (timestamp === undefined) return undefined
  const values = { ...defined(holder), timestamp, ...valuesIn(kind, membersOf(event.data, 'items')) }
  try {
    const record = validNew(kind, values)
    const { carePlanId: _, ...required } = kind.schema.properties
    const demanded = Object.keys(required).filter((name) => kind.schema.required?.includes(name))
    return demanded.every((name) => isThere(record, name)) ? record : undefined
  } catch (error) {
    if (error instanceof ServiceError) return undefined
    throw error
  }
}

const defined = (values: object): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

/** A whole day at least; a time that says no zone is in UTC. */
function momentOf(value: unknown): string | undefined {
  const moment = typeof value === 'string' ? parseDateTime(value) : undefined
  return moment?.day === undefined ? undefined : new Date(instantOf(moment)).toISOString()
}

function valuesIn(kind: MeasurementKind, items: readonly RmObject[]): Values {
  const { series, quantities } = kind
  const nodes = shapeOf(kind).items
  const values = Object.entries(series).flatMap(([name, { field, unit }], i) => {
    const element = items.find(({ archetype_node_id: node }) => node === nodes[i])
    const said = numberIn(element?.value as RmObject | undefined)
    if (!said) return []
    if (name in quantities)
      return [
        [name, said.value],
        [`${name}Unit`, said.unit],
      ]
    return said.unit === unit ? [[field, said.value]] : []
  })
  return Object.fromEntries(values)
}

/** A proportion is told in percent, whatever it is of. */
function numberIn(said: RmObject | undefined): { value: number; unit: string } | undefined {
  const { _type, magnitude, units, numerator, denominator }: Values = said ?? {}
  const [value, unit] =
    _type === 'DV_QUANTITY'
      ? [magnitude as number, String(units)]
      : [((numerator as number) * 100) / (denominator as number), '%']
  return Number.isFinite(value) ? { value, unit } : undefined
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** An id that follows from a text, in the form of all records' ids. */
function idOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest()
  return Array.from({ length: 10 }, (_, i) => LETTERS[bytes.readUInt16BE(2 * i) % LETTERS.length]).join('')
}
