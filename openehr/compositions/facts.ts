import type { RmObject } from '../rm/canonical-json.ts'
import { instantMsOf, parseDateTime } from '../rm/iso8601.ts'

/**
 * Facts: numbers and times of a composition with their places, each as a text for an index. The text consists
 * of the hashed place and the number in a form that sorts like the number. A condition on one place is then a
 * range of texts.
 */

/**
 * Places in these archetypes are relative to the archetype; structures inside mostly have no archetypes of
 * their own.
 */
const FACT_ARCHETYPES =
  /^openEHR-\w+-(?:OBSERVATION|EVALUATION|INSTRUCTION|ACTION|ADMIN_ENTRY|GENERIC_ENTRY|CLUSTER)\./

export const hasFacts = (archetypeId: string): boolean => FACT_ARCHETYPES.test(archetypeId)

/**
 * @param path attributes from the archetype's root, without predicates
 * @param nodeId node id of the last attribute
 */
export const factPlace = (archetypeId: string, path: string, nodeId = ''): string =>
  `${archetypeId}|${path}|${nodeId}`

/** A collision only lets in more compositions, so the hash must be fast, not secure. */
function hashPlace(text: string): string {
  let [a, b] = [0x811c9dc5, 0x9e3779b9]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul((b << 5) ^ (b >>> 27) ^ code, 0x85ebca6b)
  }
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

/**
 * A text that sorts like the number: its bits with the sign inverted, of a negative number all bits inverted.
 */
function toSortableText(number: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(number + 0)
  return invertBits(bytes, (bytes.readUInt8(0) & 0x80) !== 0).toString('hex')
}

function fromSortableText(text: string): number {
  const bytes = Buffer.from(text, 'hex')
  return invertBits(bytes, (bytes.readUInt8(0) & 0x80) === 0).readDoubleBE()
}

function invertBits(bytes: Buffer, isNegative: boolean): Buffer {
  for (let i = 0; i < 8; i++) bytes[i] = (bytes[i] as number) ^ (isNegative ? 0xff : i === 0 ? 0x80 : 0)
  return bytes
}

const createFact = (place: string, number: number): string => hashPlace(place) + toSortableText(number)

/** Both ends are inclusive; a missing end is open. */
export interface FactRange {
  $gte?: number
  $lte?: number
}

/** Filter for compositions with a number of this range in a place. */
export const factRangeFilter = (place: string, { $gte, $lte }: FactRange) => {
  const all = hashPlace(place)
  return {
    $elemMatch: {
      $gte: $gte === undefined ? all : createFact(place, $gte),
      $lte: $lte === undefined ? `${all}g` : createFact(place, $lte),
    },
  }
}

export const instantMsIn = (value: unknown): number | undefined => {
  const moment = typeof value === 'string' ? parseDateTime(value) : undefined
  return moment && instantMsOf(moment)
}

interface FactContext {
  archetypeId: string
  path: string
}

const occurrenceCountPlace = (archetypeId: string): string => factPlace('times', archetypeId)

/** Filter for compositions in which an archetype id occurs, but not exactly once as a node of its class. */
export const repeatedArchetypeFilter = (archetypeId: string) =>
  factRangeFilter(occurrenceCountPlace(archetypeId), {})

/** How often an archetype occurs; a composition has no such fact if it occurs once. */
export function occurrenceCount(facts: readonly string[], archetypeId: string): number {
  const place = hashPlace(occurrenceCountPlace(archetypeId))
  const fact = facts.find((one) => one.startsWith(place))
  return fact === undefined ? 1 : fromSortableText(fact.slice(place.length))
}

/** The indexed values of a composition: its facts, and the start of its context. */
export function extractIndexedValues(composition: RmObject): { facts: string[]; start?: number } {
  const { start_time } = (composition.context ?? {}) as { start_time?: RmObject }
  const start = instantMsIn(start_time?.value)
  return { facts: extractFacts(composition), ...(start !== undefined && { start }) }
}

/** Extracts magnitudes of elements and times of events from all archetypes of a composition. */
function extractFacts(composition: RmObject): string[] {
  const facts = new Set<string>()
  const times = new Map<string, number>()
  const visit = (value: unknown, within: FactContext | undefined): void => {
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const one of value) visit(one, within)
      return
    }
    const object = value as RmObject
    const id = String(object.archetype_node_id ?? '')
    if (id.startsWith('openEHR-'))
      times.set(id, (times.get(id) ?? 0) + (id.split(/[-.]/)[2] === object._type ? 1 : 0))
    const here = hasFacts(id) ? { archetypeId: id, path: '' } : within
    if (here) for (const fact of factsOfObject(object, id, here)) facts.add(fact)
    for (const [name, member] of Object.entries(object))
      if (typeof member === 'object')
        visit(member, here && { ...here, path: here.path === '' ? name : `${here.path}/${name}` })
  }
  visit(composition, undefined)
  for (const [id, count] of times) if (count !== 1) facts.add(createFact(occurrenceCountPlace(id), count))
  return [...facts]
}

function factsOfObject(
  { value, time }: RmObject,
  nodeId: string,
  { archetypeId, path }: FactContext,
): string[] {
  if (path.endsWith('items')) {
    const magnitude = (value as RmObject | undefined)?.magnitude
    return typeof magnitude === 'number' ? [createFact(factPlace(archetypeId, path, nodeId), magnitude)] : []
  }
  const at = path.endsWith('events') ? instantMsIn((time as RmObject | undefined)?.value) : undefined
  return at === undefined ? [] : [createFact(factPlace(archetypeId, `${path}/time`), at)]
}
