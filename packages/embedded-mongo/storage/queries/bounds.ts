/** The ranges of index keys that a query reads. */
import type { Index } from '../collections/indexes.ts'
import { encodeBound, endOfPrefix, textPrefix, typePrefix } from '../collections/keys/key-encoding.ts'
import type { IndexCondition } from './index-conditions.ts'

/** Keys from `low` up to, not including, `high`; all begin with the same `prefixLength` bytes. */
export interface KeyBounds {
  low: Buffer
  high: Buffer
  prefixLength: number
}

/** The condition on the component after the points. */
export interface Range {
  lower?: IndexCondition
  upper?: IndexCondition
  prefix?: string
}

/** Keys shorter than this are never cut. */
export const MAX_UNCUT_BYTES = 1000

export const boundsOf = (
  index: Index,
  { points, range }: { points: unknown[][]; range: Range | undefined },
): KeyBounds[] => {
  const unique = new Map<string, KeyBounds>()
  for (const row of points) {
    const start = encodeBound(index, row)
    const [low, high] = range ? rangeBounds(index, row, start, range) : [start, endOfPrefix(start)]
    unique.set(low.toString('latin1'), { low, high, prefixLength: start.length })
  }
  // As latin1 texts they sort like the keys, and compare in a fraction of the time.
  return [...unique.keys()].sort().map((low) => unique.get(low) as KeyBounds)
}

/** Excludes keys equal to the bound, unless the bound was cut and represents more than its value. */
const isStrict = (condition: IndexCondition | undefined, bound: Buffer): boolean =>
  !condition?.operator.endsWith('e') && bound.length < MAX_UNCUT_BYTES

const rangeBounds = (
  index: Index,
  row: unknown[],
  start: Buffer,
  { lower, upper, prefix: text }: Range,
): [low: Buffer, high: Buffer] => {
  const descending = index.descending[row.length] === true
  if (text !== undefined) {
    const low = Buffer.concat([start, textPrefix(text, descending)])
    return [low, endOfPrefix(low)]
  }
  const type = Buffer.concat([start, typePrefix((lower ?? upper)?.operand, descending)])
  const at = (condition: IndexCondition) => encodeBound(index, [...row, condition.operand])
  const [first, last] = descending ? [upper, lower] : [lower, upper]
  const low = first && at(first)
  const high = last && at(last)
  return [
    low ? (isStrict(first, low) ? endOfPrefix(low) : low) : type,
    high ? (isStrict(last, high) ? high : endOfPrefix(high)) : endOfPrefix(type),
  ]
}
