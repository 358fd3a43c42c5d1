import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { BandRange } from '../../model/newest-values.ts'

export interface PlotSeries {
  label: string
  points: readonly { x: number; y: number }[]
  bands: readonly BandRange[]
}

/** A range of values with its name. */
interface PlotArea {
  label: string
  level: 'good' | 'warn' | 'bad'
  from: number | null
  to: number | null
}

export interface PlotOptions {
  series: readonly PlotSeries[]
  areas: readonly PlotArea[]
  /** Stands above the axis of values. */
  unit: string
  /** Formats the times and numbers of the axes. Times are `stepMs` apart. */
  formatTime: (ms: number, stepMs: number) => string
  /** @param digits after the decimal point at most */
  formatValue: (value: number, digits: number) => string
}

export interface Plot {
  series: readonly PlotSeries[]
  /** Draws the values of a period, in milliseconds. */
  show(from: number, to: number): Promise<void>
  /** Marks a point; undefined removes the mark. */
  mark(point: { x: number; y: number } | undefined): void
  destroy(): void
}

/** Okabe and Ito's palette, which people with any colour vision can tell apart; dashes differ, too. */
const STROKES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7']
const DASHES = [[], [8, 4], [2, 4], [12, 4, 2, 4]]
const HEIGHT_PX = 220
/** One line of text below its ticks. */
const TIME_AXIS_PX = 30
/** One line of text above the graph. */
const UNIT_PX = 20
/** From the edge of the graph to its lines, in places without an axis. */
const EDGE_PX = 8
/** So faint that lines keep a contrast of 3 to 1 before them, in both themes. */
const AREA_FILLS = {
  good: 'rgba(0, 158, 115, 0.1)',
  warn: 'rgba(230, 159, 0, 0.1)',
  bad: 'rgba(213, 94, 0, 0.13)',
}
const FONT_PX = 11

const drawLine = UPlot.paths.linear?.()

/** The page answers before the next task. */
const nextTask = () => new Promise((resolve) => setTimeout(resolve))

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
function alignSeries(series: readonly PlotSeries[]): UPlot.AlignedData {
  const tables = series.map(({ points }): [number[], number[]] => [
    points.map(({ x }) => x),
    points.map(({ y }) => y),
  ])
  const [first, ...others] = tables
  // The values of a measurement have the same times. The library would sort them.
  const isAligned = first && others.every(([times]) => isEqual(times, first[0]))
  return isAligned ? [first[0], ...tables.map(([, values]) => values)] : UPlot.join(tables)
}

const isEqual = (some: readonly number[], otherNumbers: readonly number[]): boolean =>
  some.length === otherNumbers.length && some.every((one, at) => one === otherNumbers[at])

/** Shades areas between their limits, and writes the name into each that is high enough. */
function drawAreas({ ctx, bbox, scales, valToPos }: UPlot, areas: readonly PlotArea[], text: string): void {
  // Without values there is no scale to compare them with.
  if (typeof scales.y?.min !== 'number') return
  const scale = devicePixelRatio
  const bottom = bbox.top + bbox.height
  const place = (value: number | null, open: number) =>
    value === null ? open : Math.min(bottom, Math.max(bbox.top, valToPos(value, 'y', true)))
  ctx.save()
  ctx.font = `${FONT_PX * scale}px sans-serif`
  ctx.textBaseline = 'top'
  // The axes have changed the alignment.
  ctx.textAlign = 'left'
  for (const { label, level, from, to } of areas) {
    const high = place(to, bbox.top)
    const low = place(from, bottom)
    ctx.fillStyle = AREA_FILLS[level]
    ctx.fillRect(bbox.left, high, bbox.width, low - high)
    ctx.fillStyle = text
    // The line tells neighbours of the same colour apart.
    if (high > bbox.top) ctx.fillRect(bbox.left, high, bbox.width, scale)
    if (low - high > (FONT_PX + 4) * scale) ctx.fillText(label, bbox.left + 4 * scale, high + 3 * scale)
  }
  ctx.restore()
}

/** Writes the unit above the axis of values. */
function drawUnit({ ctx, bbox }: UPlot, unit: string, text: string): void {
  const scale = devicePixelRatio
  ctx.save()
  ctx.font = `${FONT_PX * scale}px sans-serif`
  ctx.textBaseline = 'top'
  ctx.textAlign = 'left'
  ctx.fillStyle = text
  ctx.fillText(unit, 0, bbox.top - UNIT_PX * scale)
  ctx.restore()
}

const decimalsOf = (step: number): number => `${step}`.split('.')[1]?.length ?? 0

/** Both axes, in the colour of text. */
function createAxes(colour: () => string, { formatTime, formatValue }: PlotOptions): UPlot.Axis[] {
  const axis = {
    stroke: colour,
    grid: { stroke: () => colour().replace('rgb(', 'rgba(').replace(')', ', 0.15)') },
  }
  return [
    {
      ...axis,
      space: 90,
      size: TIME_AXIS_PX,
      values: (_, times, __, ___, stepMs) => times.map((ms) => formatTime(ms, stepMs)),
    },
    {
      ...axis,
      values: (_, values, __, ___, step) => values.map((value) => formatValue(value, decimalsOf(step))),
    },
  ]
}

const BLACK = 'rgb(0, 0, 0)'

type TextColour = ReturnType<typeof createTextColour>

/** The colour of text: it follows the theme of the page, and is black on paper. */
const createTextColour = (target: HTMLElement) => {
  let isPrinting = false
  return {
    current: () => (isPrinting ? BLACK : getComputedStyle(target).color),
    /** Calls `redraw` after each change, until the signal. */
    follow(redraw: () => void, signal: AbortSignal) {
      const print = (next: boolean) => () => {
        isPrinting = next
        redraw()
      }
      addEventListener('beforeprint', print(true), { signal })
      addEventListener('afterprint', print(false), { signal })
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw, { signal })
    },
  }
}

const sizeOf = (width: number) => ({ width, height: HEIGHT_PX })

/** Puts the graph into the page, where it follows the width of its place and the colour of text. */
function attach(plot: UPlot, target: HTMLElement, colour: TextColour, signal: AbortSignal): void {
  target.append(plot.root)
  const observer = new ResizeObserver(() => {
    const width = target.clientWidth
    if (width > 0 && width !== plot.width) plot.setSize(sizeOf(width))
  })
  observer.observe(target)
  signal.addEventListener('abort', () => observer.disconnect())
  colour.follow(() => plot.redraw(false), signal)
}

const OUTSIDE = { left: -10, top: -10 }

const markPoint = (plot: UPlot, point: { x: number; y: number } | undefined): void =>
  plot.setCursor(point ? { left: plot.valToPos(point.x, 'x'), top: plot.valToPos(point.y, 'y') } : OUTSIDE)

const NOT_STARTED = 0

/** A graph that draws nothing before its start. */
function createUPlot(options: UPlot.Options): { plot: UPlot; start: () => void } {
  let start = () => {}
  const plot = new UPlot(options, [[]], (_, init) => {
    start = init as () => void
  })
  return { plot, start }
}

/**
 * Makes an empty graph for lines over time. It is not in the page before its first period is drawn. Each step is a task of
 * its own, and so is the first drawing of each line.
 */
export async function createPlot(target: HTMLElement, options: PlotOptions): Promise<Plot> {
  const { series, areas, unit } = options
  await nextTask()
  const colour = createTextColour(target)
  const width = target.clientWidth
  await nextTask()
  const data = alignSeries(series)
  await nextTask()
  let drawnLines = 0
  const stop = new AbortController()
  const paths: UPlot.Series.PathBuilder = (one, at, ...range) =>
    (at <= drawnLines ? drawLine?.(one, at, ...range) : null) ?? null
  const { plot, start } = createUPlot({
    ...sizeOf(width),
    ms: 1,
    legend: { show: false },
    padding: [UNIT_PX, EDGE_PX, 0, 0],
    hooks: {
      drawClear: [(one) => drawAreas(one, areas, colour.current())],
      drawAxes: [(one) => drawUnit(one, unit, colour.current())],
    },
    axes: createAxes(colour.current, options),
    series: [{}, ...series.map((one, at) => ({ ...seriesOptions(one, at), paths }))],
  })
  await nextTask()
  return {
    series,
    async show(from, to) {
      plot.batch(() => {
        if (plot.status === NOT_STARTED) start()
        plot.setData(within(data, from, to), false)
        plot.setScale('x', { min: from, max: to })
      })
      while (!stop.signal.aborted && drawnLines < series.length) {
        await nextTask()
        drawnLines++
        // At once, as fonts take longer in a canvas that is in the page.
        plot.batch(() => plot.redraw(false))
      }
      if (!stop.signal.aborted && !plot.root.isConnected) attach(plot, target, colour, stop.signal)
    },
    mark: (point) => markPoint(plot, point),
    destroy() {
      stop.abort()
      plot.destroy()
    },
  }
}

/** The columns from one time to another. */
function within(data: UPlot.AlignedData, from: number, to: number): UPlot.AlignedData {
  const [times] = data
  const first = times.findIndex((time) => time >= from)
  const end = times.findLastIndex((time) => time <= to) + 1
  return data.map((column) => column.slice(first < 0 ? times.length : first, end)) as UPlot.AlignedData
}
