/** The ranges of an index's keys that a query looks at. */
import { inSpace, spaceBounds } from '../collections/catalog.ts'
import type { Index } from '../collections/indexes.ts'
import { after, encodeBound, textPrefix, typePrefix } from '../collections/key-codec.ts'
import type { Demand } from './predicates.ts'

/** Keys from `low` up to, not including, `high`; all begin with the same `shared` bytes. */
export interface Bounds {
  low: Buffer
  high: Buffer
  shared: number
}

/** What is demanded of the component behind the points. */
export interface Range {
  lower?: Demand
  upper?: Demand
  prefix?: string
}

/** Keys shorter than this are never cut. */
export const CERTAINLY_UNCUT = 1000

/** What the space's number takes of a key. */
const SPACE_BYTES = 4

export const boundsOf = (
  index: Index,
  { points, range }: { points: unknown[][]; range: Range | undefined },
): Bounds[] =>
  points
    .map((row): Bounds => {
      const prefix = encodeBound(row, index.descending, index.collation)
      const [low, high] = range ? rangeBounds(index, row, prefix, range) : [prefix, after(prefix)]
      const [spaceLow, spaceHigh] = spaceBounds(index.space)
      return {
        low: low.length > 0 ? inSpace(index.space, low) : spaceLow,
        high: high.length > 0 ? inSpace(index.space, high) : spaceHigh,
        shared: SPACE_BYTES + prefix.length,
      }
    })
    .sort((a, b) => Buffer.compare(a.low, b.low))
    .filter(({ low }, i, all) => i === 0 || !low.equals((all[i - 1] as Bounds).low))

/** What is equal to the bound is not looked at, unless the bound is cut and says less than its value. */
const isStrict = (demand: Demand | undefined, bound: Buffer): boolean =>
  !demand?.operator.endsWith('e') && bound.length < CERTAINLY_UNCUT

const rangeBounds = (
  index: Index,
  row: unknown[],
  prefix: Buffer,
  { lower, upper, prefix: text }: Range,
): [low: Buffer, high: Buffer] => {
  const descending = index.descending[row.length] === true
  if (text !== undefined) {
    const low = Buffer.concat([prefix, textPrefix(text, descending)])
    return [low, after(low)]
  }
  const type = Buffer.concat([prefix, typePrefix((lower ?? upper)?.operand, descending)])
  const at = (demand: Demand) => encodeBound([...row, demand.operand], index.descending, index.collation)
  const [first, last] = descending ? [upper, lower] : [lower, upper]
  const [low, high] = [first && at(first), last && at(last)]
  return [
    low ? (isStrict(first, low) ? after(low) : low) : type,
    high ? (isStrict(last, high) ? high : after(high)) : after(type),
  ]
}
