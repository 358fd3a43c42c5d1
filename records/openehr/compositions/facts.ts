import type { RmObject } from '../rm/canonical.ts'
import { instantOf, parseDateTime } from '../rm/iso8601.ts'

/**
 * What stands where in a composition, each as a text of an index: where it is, hashed, and the number, so that texts sort as the
 * numbers do. What a query asks of one place is then a range of texts.
 */

/** Archetypes whose values are told by where they are in them; the structures within have no archetypes of their own, mostly. */
const HOLDER =
  /^openEHR-\w+-(?:OBSERVATION|EVALUATION|INSTRUCTION|ACTION|ADMIN_ENTRY|GENERIC_ENTRY|CLUSTER)\./

export const isHolder = (archetypeId: string): boolean => HOLDER.test(archetypeId)

/** @param path the attributes from the archetype's root on, without what is in brackets; @param nodeId of the last of them */
export const placeOf = (archetypeId: string, path: string, nodeId = ''): string =>
  `${archetypeId}|${path}|${nodeId}`

/** Two places that have the same hash would only let in more: it has to be quick, not secure. */
function hashed(text: string): string {
  let [a, b] = [0x811c9dc5, 0x9e3779b9]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul((b << 5) ^ (b >>> 27) ^ code, 0x85ebca6b)
  }
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

/** A number as a text that sorts as it does: its bits, those of a negative one turned. */
function sortable(number: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(number + 0)
  return turned(bytes, (bytes.readUInt8(0) & 0x80) !== 0).toString('hex')
}

/** The number of such a text. */
function numberOf(text: string): number {
  const bytes = Buffer.from(text, 'hex')
  return turned(bytes, (bytes.readUInt8(0) & 0x80) === 0).readDoubleBE()
}

function turned(bytes: Buffer, isNegative: boolean): Buffer {
  for (let i = 0; i < 8; i++) bytes[i] = (bytes[i] as number) ^ (isNegative ? 0xff : i === 0 ? 0x80 : 0)
  return bytes
}

const factOf = (place: string, number: number): string => hashed(place) + sortable(number)

/** Both ends belong to it; without one it has none. */
export interface Range {
  $gte?: number
  $lte?: number
}

/** What is true of the facts of a composition that has a number of a range in a place. */
export const factsOfRange = (place: string, { $gte, $lte }: Range) => {
  const all = hashed(place)
  return {
    $elemMatch: {
      $gte: $gte === undefined ? all : factOf(place, $gte),
      $lte: $lte === undefined ? `${all}g` : factOf(place, $lte),
    },
  }
}

export const momentIn = (value: unknown): number | undefined => {
  const moment = typeof value === 'string' ? parseDateTime(value) : undefined
  return moment && instantOf(moment)
}

interface Within {
  archetypeId: string
  path: string
}

const timesPlace = (archetypeId: string): string => placeOf('times', archetypeId)

/** What is true of the facts of a composition in which an archetype is not there exactly once, though it is named. */
export const repeatsOf = (archetypeId: string) => factsOfRange(timesPlace(archetypeId), {})

/** How often an archetype is there, by the facts of such a composition. */
export function timesIn(facts: readonly string[], archetypeId: string): number {
  const place = hashed(timesPlace(archetypeId))
  const fact = facts.find((one) => one.startsWith(place))
  return fact === undefined ? 1 : numberOf(fact.slice(place.length))
}

/** What a composition is found by: its facts, and when its context began. */
export function indexedIn(composition: RmObject): { facts: string[]; start?: number } {
  const { start_time } = (composition.context ?? {}) as { start_time?: RmObject }
  const start = momentIn(start_time?.value)
  return { facts: factsIn(composition), ...(start !== undefined && { start }) }
}

/** The magnitudes of the elements, and the times of the events, of all archetypes in a composition. */
function factsIn(composition: RmObject): string[] {
  const facts = new Set<string>()
  const times = new Map<string, number>()
  const visit = (value: unknown, within: Within | undefined): void => {
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const one of value) visit(one, within)
      return
    }
    const object = value as RmObject
    const id = String(object.archetype_node_id ?? '')
    if (id.startsWith('openEHR-'))
      times.set(id, (times.get(id) ?? 0) + (id.split(/[-.]/)[2] === object._type ? 1 : 0))
    const here = isHolder(id) ? { archetypeId: id, path: '' } : within
    if (here) for (const fact of factsOf(object, id, here)) facts.add(fact)
    for (const [name, member] of Object.entries(object))
      if (typeof member === 'object')
        visit(member, here && { ...here, path: here.path === '' ? name : `${here.path}/${name}` })
  }
  visit(composition, undefined)
  for (const [id, count] of times) if (count !== 1) facts.add(factOf(timesPlace(id), count))
  return [...facts]
}

function factsOf({ value, time }: RmObject, nodeId: string, { archetypeId, path }: Within): string[] {
  if (path.endsWith('items')) {
    const magnitude = (value as RmObject | undefined)?.magnitude
    return typeof magnitude === 'number' ? [factOf(placeOf(archetypeId, path, nodeId), magnitude)] : []
  }
  const at = path.endsWith('events') ? momentIn((time as RmObject | undefined)?.value) : undefined
  return at === undefined ? [] : [factOf(placeOf(archetypeId, `${path}/time`), at)]
}
