import { hash } from 'node:crypto'
import { instantMsOf, parseDateTime } from '../rm/iso8601.ts'

/**
 * Facts: numbers and times of a composition with their places, each an entry of an index. They find
 * compositions by a value, put them in its order, and are added up. The embedded engine needs only the index for it;
 * MongoDB reads the compositions that it finds.
 */
export interface Fact {
  /** The key of the place. */
  k: string
  v: number | string
  /** Distinguishes equal values at one place: 1 for the second one, and so on. */
  i?: number
}

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

const KEY_LENGTH = 16

/** A short key for a text. It is a secure hash, since sums rely on it: nobody can find two texts with one key. */
export const shortKey = (text: string): string => hash('sha256', text, 'base64url').slice(0, KEY_LENGTH)

/** Both ends are inclusive; a missing end is open. */
export interface FactRange {
  $gte?: number
  $lte?: number
}

/** Filter for compositions with a number of this range in a place. */
export const factRangeFilter = (place: string, range: FactRange) => ({
  $elemMatch: { k: shortKey(place), ...(Object.keys(range).length > 0 && { v: range }) },
})

export const instantMsIn = (value: unknown): number | undefined => {
  const moment = typeof value === 'string' ? parseDateTime(value) : undefined
  return moment && instantMsOf(moment)
}

/** The place of the number of times that an archetype occurs, unless it occurs once as a node of its class. */
export const occurrenceCountPlace = (archetypeId: string): string => factPlace('times', archetypeId)

/**
 * The place of the structures in which an archetype occurs: which nodes it has, without their values
 * (`structure.ts`).
 */
export const structurePlace = (archetypeId: string): string => factPlace('structure', archetypeId)

/** Filter for compositions in which an archetype id occurs, but not exactly once as a node of its class. */
export const repeatedArchetypeFilter = (archetypeId: string) =>
  factRangeFilter(occurrenceCountPlace(archetypeId), {})

/** The number of occurrences of an archetype. */
export function occurrenceCount(facts: readonly Fact[], archetypeId: string): number {
  const key = shortKey(occurrenceCountPlace(archetypeId))
  const fact = facts.find(({ k }) => k === key)
  return fact === undefined ? 1 : Number(fact.v)
}
