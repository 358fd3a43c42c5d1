import { memo, useDeferredValue, useMemo } from 'react'
import { navigate, useRoute } from '../../browser/router.tsx'
import type { GraphSeries } from '../../model/health-record.ts'
import { kindName, quantityName, unitName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Chart } from '../../ui/chart/chart.tsx'

const DAY_MS = 86_400_000
const PERIODS = { week: 7 * DAY_MS, month: 30 * DAY_MS, year: 365 * DAY_MS, all: undefined }
type Period = keyof typeof PERIODS

const isPeriod = (name: string | null): name is Period => name !== null && name in PERIODS

/** The period in the URL. */
export function usePeriod(): Period {
  const period = useRoute().query.get('period')
  return isPeriod(period) ? period : 'month'
}

/** Buttons for the period, which is in the URL. */
export function PeriodChoice() {
  const t = useText()
  const { path, query } = useRoute()
  const period = usePeriod()
  const choose = (name: Period) =>
    navigate(`${path}?${new URLSearchParams({ ...Object.fromEntries(query), period: name })}`, {
      replace: true,
    })
  return (
    <fieldset className="choice">
      <legend>{t('overview.period')}</legend>
      {(Object.keys(PERIODS) as Period[]).map((name) => (
        <button key={name} type="button" aria-pressed={name === period} onClick={() => choose(name)}>
          {t(`period.${name}`)}
        </button>
      ))}
    </fieldset>
  )
}

interface ChartsProps {
  series: readonly GraphSeries[]
  /** Only this kind; null for all. */
  kind: string | null
}

/** All kinds over the period of the URL, one below the other. */
export function Charts({ series, kind }: ChartsProps) {
  const t = useText()
  // The buttons show the choice before the graphs are ready.
  const period = useDeferredValue(usePeriod())
  const lines = useMemo(
    () => series.filter(({ points, measure }) => points.length > 0 && (kind === null || measure === kind)),
    [series, kind],
  )
  const end = endOfToday()
  const { from, to } = useMemo(() => periodOf(period, lines, end), [period, lines, end])
  const groups = useMemo(
    () => [...Map.groupBy(lines, ({ measure, unit }) => `${measure} ${unit}`).values()],
    [lines],
  )
  if (groups.length === 0) return <p>{t('home.nothingMeasured')}</p>
  return groups.map((group) => <KindChart key={group[0]?.id} lines={group} from={from} to={to} />)
}

const endOfToday = (): number => new Date().setHours(23, 59, 59, 999)

/** Until the end of today, or the last value: the clock that gave its time may be ahead. */
function periodOf(period: Period, lines: readonly GraphSeries[], end: number): { from: number; to: number } {
  const to = Math.max(end, ...lines.map(({ points }) => points.at(-1)?.x ?? 0))
  const length = PERIODS[period]
  const first = Math.min(to - DAY_MS, ...lines.map(({ points }) => points[0]?.x ?? to))
  return { from: length === undefined ? first : to - length, to }
}

interface KindChartProps {
  lines: GraphSeries[]
  from: number
  to: number
}

const KindChart = memo(({ lines, from, to }: KindChartProps) => {
  const [first] = lines
  const series = useMemo(
    () =>
      lines.map(({ id, measure, label, points, bands }) => ({
        label: quantityName(id.slice(measure.length + 1), label),
        points,
        bands,
      })),
    [lines],
  )
  if (!first) return null
  return (
    <Chart title={kindName(first.measure)} unit={unitName(first.unit)} series={series} from={from} to={to} />
  )
})
