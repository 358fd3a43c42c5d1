/** Points sorted by time; both arrays have the same length. */
export interface Points {
  x: Float64Array
  y: Float64Array
}

/**
 * Largest Triangle Three Buckets (Steinarsson, 2013): from each bucket it selects the point that forms the
 * largest triangle with the previously selected point and the mean of the next bucket.
 * @returns the indexes of at most `most` points, including the first and the last one
 */
export function lttb({ x, y }: Points, most: number): number[] {
  const total = x.length
  if (most >= total) return Array.from({ length: total }, (_, i) => i)
  if (most < 3) return [0, total - 1].slice(-most)
  const width = (total - 2) / (most - 2)
  const edge = (bucket: number): number => Math.floor(bucket * width) + 1
  const indexes = [0]
  for (let bucket = 0; bucket < most - 2; bucket++) {
    const from = edge(bucket)
    const to = edge(bucket + 1)
    const next = meanPointOf(x, y, to, Math.min(edge(bucket + 2), total))
    indexes.push(findLargestTriangle(x, y, from, to, indexes.at(-1) as number, next))
  }
  indexes.push(total - 1)
  return indexes
}

function meanPointOf(x: Float64Array, y: Float64Array, from: number, to: number): [x: number, y: number] {
  let sumX = 0
  let sumY = 0
  for (let i = from; i < to; i++) {
    sumX += x[i] as number
    sumY += y[i] as number
  }
  return [sumX / (to - from), sumY / (to - from)]
}

/** Index of the point in a bucket that forms the largest triangle. */
function findLargestTriangle(
  x: Float64Array,
  y: Float64Array,
  from: number,
  to: number,
  before: number,
  [nextX, nextY]: [number, number],
): number {
  const lastX = x[before] as number
  const lastY = y[before] as number
  let best = from
  let largest = -1
  for (let i = from; i < to; i++) {
    const area = Math.abs(
      (lastX - nextX) * ((y[i] as number) - lastY) - (lastX - (x[i] as number)) * (nextY - lastY),
    )
    if (area > largest) [best, largest] = [i, area]
  }
  return best
}

/**
 * Samples like {@link lttb}, but keeps the lowest and the highest value if there is room: clinicians look for
 * outliers. A missing extreme replaces the nearest selected point other than the extremes and the first and
 * last point.
 */
export function samplePoints(points: Points, most: number, extremes: readonly number[]): number[] {
  const { y } = points
  const indexes = lttb(points, most)
  const values = new Set(indexes.map((i) => y[i]))
  const absent = extremes.filter((i) => !values.has(y[i]))
  for (const extreme of absent) {
    const farFrom = (i: number): number => Math.abs(i - extreme)
    const extremeIndexes = extremes.map((one) => indexes.find((i) => y[i] === y[one]))
    const replaceableIndexes = indexes.slice(1, -1).filter((i) => !extremeIndexes.includes(i))
    const [nearest] = replaceableIndexes.sort((a, b) => farFrom(a) - farFrom(b))
    if (nearest !== undefined) indexes[indexes.indexOf(nearest)] = extreme
  }
  return absent.length === 0 ? indexes : indexes.sort((a, b) => a - b)
}
