import assert from 'node:assert/strict'
import fc from 'fast-check'
import { lttb, samplePoints } from '../../records/charts/lttb.ts'
import { bySize } from '../harness/test-size.ts'

type Point = [x: number, y: number]

/** The algorithm as in Sveinn Steinarsson's thesis, bucket by bucket, without optimization. */
function reference(points: Point[], most: number): Point[] {
  if (most >= points.length) return points
  const inner = points.slice(1, -1)
  const size = inner.length / (most - 2)
  const buckets = Array.from({ length: most - 2 }, (_, i) =>
    inner.filter((_, at) => at >= Math.floor(i * size) && at < Math.floor((i + 1) * size)),
  )
  const firstPoint = points[0] as Point
  const last = points.at(-1) as Point
  const selectedPoints = [firstPoint]
  for (const [i, bucket] of buckets.entries()) {
    const next = buckets[i + 1] ?? [last]
    const [cx, cy] = [0, 1].map(
      (axis) => next.reduce((sum, one) => sum + (one[axis] as number), 0) / next.length,
    )
    const [ax, ay] = selectedPoints.at(-1) as Point
    const area = ([bx, by]: Point) =>
      Math.abs((ax - (cx as number)) * (by - ay) - (ax - bx) * ((cy as number) - ay))
    selectedPoints.push(bucket.reduce((best, one) => (area(one) > area(best) ? one : best)))
  }
  return [...selectedPoints, last]
}

const columns = (points: Point[]) => ({
  x: Float64Array.from(points, ([x]) => x),
  y: Float64Array.from(points, ([, y]) => y),
})

const walks = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: -50, max: 50 })), {
    minLength: 3,
    maxLength: 400,
  })
  .map((steps) => {
    let x = 0
    let y = 0
    return steps.map(([dx, dy]): Point => {
      x += dx
      y += dy
      return [x, y]
    })
  })
const sizes = fc.integer({ min: 3, max: 120 })

/** With four points, the lowest value would occur twice and the highest not at all. */
const LOWEST_TWICE: Point[] = [
  [1, 0],
  [2, 0],
  [3, -7],
  [7, 23],
  [8, 51],
  [9, 18],
  [10, 6],
  [11, -7],
  [12, 34],
]

describe('LTTB', () => {
  it('selects the same points as the plain reference', () => {
    fc.assert(
      fc.property(walks, sizes, (points, most) => {
        const selectedPoints = lttb(columns(points), most).map((i) => points[i])
        assert.deepEqual(selectedPoints, reference(points, most))
      }),
    )
  })

  it('keeps the first, last, lowest and highest point, in order and as many as requested', () => {
    fc.assert(
      fc.property(walks, sizes, (points, most) => {
        const values = points.map(([, y]) => y)
        const min = Math.min(...values)
        const max = Math.max(...values)
        const indices = samplePoints(columns(points), Math.max(4, most), [
          values.indexOf(min),
          values.indexOf(max),
        ])
        assert.equal(indices.length, Math.min(points.length, Math.max(4, most)))
        assert.deepEqual([indices[0], indices.at(-1)], [0, points.length - 1])
        assert.deepEqual(
          indices,
          [...new Set(indices)].sort((a, b) => a - b),
        )
        const selectedValues = indices.map((i) => values[i] as number)
        assert.deepEqual([Math.min(...selectedValues), Math.max(...selectedValues)], [min, max])
      }),
      { numRuns: bySize(1_000, 20_000), examples: [[LOWEST_TWICE, 4]] },
    )
  })

  it('equals the plain selection if that contains the lowest and the highest point', () => {
    const points = Array.from({ length: 500 }, (_, i): Point => [i, i === 250 ? 90 : i === 300 ? -90 : i % 7])
    const at = [300, 250]
    assert.deepEqual(samplePoints(columns(points), 50, at), lttb(columns(points), 50))
  })

  it('accepts one point, two, none and more than there are', () => {
    const points = columns([
      [1, 5],
      [2, 7],
      [3, 6],
    ])
    assert.deepEqual(
      [1, 2, 3, 9].map((most) => lttb(points, most)),
      [[2], [0, 2], [0, 1, 2], [0, 1, 2]],
    )
    assert.deepEqual(lttb(columns([]), 10), [])
  })
})
