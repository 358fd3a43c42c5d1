import { type KeyboardEvent, startTransition, useEffect, useId, useMemo, useRef, useState } from 'react'
import { bandName, formatAxisTime, formatDate, formatMoment, formatNumber } from '../../texts/format.ts'
import { useLanguage, useText } from '../../texts/translate.ts'
import { BandList, levelOf } from '../band-badge.tsx'
import type { Plot, PlotOptions, PlotSeries } from './plot.ts'
import { ValueTable } from './value-table.tsx'

/** Loads while the values are read. */
const plotModule = import('./plot.ts')

export interface ChartProps {
  title: string
  /** The unit of all series. */
  unit: string
  series: readonly PlotSeries[]
  from: number
  to: number
}

/**
 * Lines over time that everybody can read: a sentence, the graph, its points by arrow keys, and a table of the same
 * values. Areas show the bands of the first line, since those of several would cover each other; the table names the
 * band of every value.
 */
export function Chart(props: ChartProps) {
  const id = useId()
  const { title, unit, series, from, to } = props
  const visibleSeries = useMemo(
    () => series.map((one) => ({ ...one, points: pointsBetween(one.points, from, to) })),
    [series, from, to],
  )
  const [areas] = series
  const isEmpty = visibleSeries.every(({ points }) => points.length === 0)
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption id={id}>
        <h2>{title}</h2>
        <ul className="legend">
          {series.map(({ label }, at) => (
            <li key={label} className={`series-${at}`}>
              {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <Summary series={visibleSeries} unit={unit} />
      {areas && <BandList bands={areas.bands} label={areas.label} unit={unit} />}
      {!isEmpty && <GraphOrTable {...props} visibleSeries={visibleSeries} />}
    </figure>
  )
}

interface GraphProps extends ChartProps {
  /** The points of the period. */
  visibleSeries: readonly PlotSeries[]
}

function GraphOrTable(props: GraphProps) {
  const t = useText()
  const language = useLanguage()
  const [isTable, setTable] = useState(false)
  const { title, visibleSeries } = props
  return (
    <>
      {isTable ? <ValueTable {...props} series={visibleSeries} /> : <Graph key={language} {...props} />}
      <button type="button" aria-expanded={isTable} onClick={() => startTransition(() => setTable(!isTable))}>
        {t(isTable ? 'chart.graph' : 'chart.table')} <span className="unseen">{title}</span>
      </button>
    </>
  )
}

/** Points are in the order of their times, so that most of them need no look. */
function pointsBetween(points: PlotSeries['points'], from: number, to: number): PlotSeries['points'] {
  const first = points.findIndex(({ x }) => x >= from)
  return first < 0 ? [] : points.slice(first, points.findLastIndex(({ x }) => x <= to) + 1)
}

/** The newest, lowest and highest value of each line in a sentence. */
function Summary({ series, unit }: Pick<ChartProps, 'series' | 'unit'>) {
  const t = useText()
  return series.map(({ label, points }) => {
    const last = points.at(-1)
    if (!last) return <p key={label}>{t('chart.none', { label })}</p>
    let low = last.y
    let high = last.y
    for (const { y } of points) {
      if (y < low) low = y
      if (y > high) high = y
    }
    const values = {
      label,
      unit,
      at: formatDate(last.x),
      count: points.length,
      value: formatNumber(last.y),
      low: formatNumber(low),
      high: formatNumber(high),
    }
    return <p key={label}>{t('chart.summary', values)}</p>
  })
}

const plotOptions = (series: readonly PlotSeries[], unit: string): PlotOptions => ({
  series,
  unit,
  areas: (series[0]?.bands ?? []).map((band) => ({
    ...band,
    label: bandName(band.code, band.label),
    level: levelOf(band),
  })),
  formatTime: formatAxisTime,
  formatValue: formatNumber,
})

function Graph({ title, unit, series, visibleSeries, from, to }: GraphProps) {
  const t = useText()
  const target = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(undefined)
  const { announced, onKeyDown, leave } = usePointWalk(visibleSeries, unit, plot)
  useEffect(() => {
    let isGone = false
    async function draw() {
      const { createPlot } = await plotModule
      if (target.current && plot.current?.series !== series) {
        const next = await createPlot(target.current, plotOptions(series, unit))
        if (isGone) return next.destroy()
        plot.current?.destroy()
        plot.current = next
      }
      if (!isGone) await plot.current?.show(from, to)
    }
    draw()
    return () => {
      isGone = true
    }
  }, [series, unit, from, to])
  useEffect(() => () => plot.current?.destroy(), [])
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: no element of HTML is a graph with points */}
      <div
        ref={target}
        className="plot"
        role="group"
        aria-label={t('chart.keys', { title })}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move through its points
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={leave}
      />
      <p className="point" role="status">
        {announced}
      </p>
    </>
  )
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}
const LINES: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 }

/** Moves through the points by keys, and says each. */
function usePointWalk(series: readonly PlotSeries[], unit: string, plot: { current: Plot | undefined }) {
  const [place, setPlace] = useState<{ line: number; point: number }>()
  const current = place && series[place.line]
  const point = place && current?.points[place.point]
  const go = (line: number, at: number) => {
    const points = series[line]?.points ?? []
    const next = Math.max(0, Math.min(points.length - 1, at))
    setPlace({ line, point: next })
    plot.current?.mark(points[next])
  }
  const leave = () => {
    setPlace(undefined)
    plot.current?.mark(undefined)
  }
  return {
    announced: point ? `${current?.label}: ${formatNumber(point.y)} ${unit}, ${formatMoment(point.x)}` : '',
    leave,
    onKeyDown(event: KeyboardEvent) {
      const { line, point: at } = place ?? { line: 0, point: series[0]?.points.length ?? 0 }
      const step = STEPS[event.key]
      const lines = LINES[event.key]
      if (event.key === 'Escape') return leave()
      if (step === undefined && lines === undefined) return
      event.preventDefault()
      if (step !== undefined) go(line, at + step)
      else go((line + (lines ?? 0) + series.length) % series.length, at)
    },
  }
}
