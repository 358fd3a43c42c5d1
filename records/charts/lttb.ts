/** Points in the order of their times; both arrays are of the same length. */
export interface Points {
  x: Float64Array
  y: Float64Array
}

/**
 * Largest Triangle Three Buckets (Steinarsson, 2013): of each bucket the point that makes the largest triangle with the
 * one chosen before and the mean of the next bucket.
 * @returns the indexes of at most `most` points, the first and the last one among them
 */
export function lttb({ x, y }: Points, most: number): number[] {
  const total = x.length
  if (most >= total) return Array.from({ length: total }, (_, i) => i)
  if (most < 3) return [0, total - 1].slice(-most)
  const width = (total - 2) / (most - 2)
  const edge = (bucket: number): number => Math.floor(bucket * width) + 1
  const chosen = [0]
  for (let bucket = 0; bucket < most - 2; bucket++) {
    const [from, to] = [edge(bucket), edge(bucket + 1)]
    const next = meanOf(x, y, to, Math.min(edge(bucket + 2), total))
    chosen.push(farthest(x, y, from, to, chosen.at(-1) as number, next))
  }
  chosen.push(total - 1)
  return chosen
}

function meanOf(x: Float64Array, y: Float64Array, from: number, to: number): [x: number, y: number] {
  let [sumX, sumY] = [0, 0]
  for (let i = from; i < to; i++) {
    sumX += x[i] as number
    sumY += y[i] as number
  }
  return [sumX / (to - from), sumY / (to - from)]
}

/** The point of a bucket that makes the largest triangle. */
function farthest(
  x: Float64Array,
  y: Float64Array,
  from: number,
  to: number,
  before: number,
  [nextX, nextY]: [number, number],
): number {
  const [lastX, lastY] = [x[before] as number, y[before] as number]
  let [best, largest] = [from, -1]
  for (let i = from; i < to; i++) {
    const area = Math.abs(
      (lastX - nextX) * ((y[i] as number) - lastY) - (lastX - (x[i] as number)) * (nextY - lastY),
    )
    if (area > largest) [best, largest] = [i, area]
  }
  return best
}

/**
 * The same with the lowest and the highest value kept, where there is room: an outlier is what a clinician looks for.
 * One that was not chosen takes the place of the nearest point that none of them needs, nor is the first or the last one.
 */
export function sampled(points: Points, most: number, extremes: readonly number[]): number[] {
  const { y } = points
  const chosen = lttb(points, most)
  const values = new Set(chosen.map((i) => y[i]))
  const absent = extremes.filter((i) => !values.has(y[i]))
  for (const extreme of absent) {
    const farFrom = (i: number): number => Math.abs(i - extreme)
    const needed = extremes.map((one) => chosen.find((i) => y[i] === y[one]))
    const others = chosen.slice(1, -1).filter((i) => !needed.includes(i))
    const [nearest] = others.sort((a, b) => farFrom(a) - farFrom(b))
    if (nearest !== undefined) chosen[chosen.indexOf(nearest)] = extreme
  }
  return absent.length === 0 ? chosen : chosen.sort((a, b) => a - b)
}
