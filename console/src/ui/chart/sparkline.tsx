interface SparklineProps {
  points: readonly { x: number; y: number }[]
}

const WIDTH = 120
const HEIGHT = 32

/** A small line without axes. It only decorates: the value and its band are in words beside it. */
export function Sparkline({ points }: SparklineProps) {
  if (points.length < 2) return null
  const xs = points.map(({ x }) => x)
  const ys = points.map(({ y }) => y)
  const left = Math.min(...xs)
  const right = Math.max(...xs)
  const low = Math.min(...ys)
  const high = Math.max(...ys)
  const place = ({ x, y }: { x: number; y: number }) =>
    `${(((x - left) / (right - left || 1)) * (WIDTH - 4) + 2).toFixed(1)},${(HEIGHT - 3 - ((y - low) / (high - low || 1)) * (HEIGHT - 6)).toFixed(1)}`
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="xMinYMid"
      aria-hidden="true"
    >
      <polyline points={points.map(place).join(' ')} />
    </svg>
  )
}
