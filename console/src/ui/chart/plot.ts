import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface PlotSeries {
  label: string
  points: readonly { x: number; y: number }[]
}

export interface PlotOptions {
  series: readonly PlotSeries[]
  /** The period, in milliseconds. */
  from: number
  to: number
  width: number
  /** Formats the times and numbers of the axes. */
  formatTime: (ms: number) => string
  formatValue: (value: number) => string
}

export interface Plot {
  /** Marks a point; undefined removes the mark. */
  mark(point: { x: number; y: number } | undefined): void
  destroy(): void
}

/** Okabe and Ito's palette, which people with any colour vision can tell apart; dashes differ, too. */
const STROKES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7']
const DASHES = [[], [8, 4], [2, 4], [12, 4, 2, 4]]
const HEIGHT_PX = 220

function seriesOptions({ label }: PlotSeries, at: number): UPlot.Series {
  const stroke = STROKES[at % STROKES.length] ?? ''
  return {
    label,
    stroke,
    width: 2,
    dash: DASHES[at % DASHES.length] ?? [],
    spanGaps: true,
    points: { size: 6, fill: stroke },
  }
}

/** The lines with one column of times for all of them. */
function alignedData(series: readonly PlotSeries[]): UPlot.AlignedData {
  const tables = series.map(
    ({ points }): UPlot.AlignedData => [points.map(({ x }) => x), points.map(({ y }) => y)],
  )
  return UPlot.join(tables)
}

/** Draws lines over time. */
export function drawPlot(target: HTMLElement, options: PlotOptions): Plot {
  const { series, from, to, width, formatTime, formatValue } = options
  const text = getComputedStyle(target).color
  const axis = { stroke: text, grid: { stroke: `${text.replace('rgb(', 'rgba(').replace(')', ', 0.15)')}` } }
  const plot = new UPlot(
    {
      ...{ width, height: HEIGHT_PX, ms: 1, legend: { show: false } },
      scales: { x: { min: from, max: to } },
      axes: [
        { ...axis, space: 90, values: (_, times) => times.map(formatTime) },
        { ...axis, values: (_, values) => values.map(formatValue) },
      ],
      series: [{}, ...series.map(seriesOptions)],
    },
    alignedData(series),
    target,
  )
  return {
    mark: (point) =>
      plot.setCursor(
        point
          ? { left: plot.valToPos(point.x, 'x'), top: plot.valToPos(point.y, 'y') }
          : { left: -10, top: -10 },
      ),
    destroy: () => plot.destroy(),
  }
}
