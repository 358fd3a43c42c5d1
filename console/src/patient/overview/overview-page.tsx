import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link, navigate, useAddress } from '../../browser/router.tsx'
import { type GraphSeries, graphQuery } from '../../model/health-record.ts'
import type { PageProps } from '../../model/page-props.ts'
import { kindName, quantityName, unitName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'

const DAY_MS = 86_400_000
const PERIODS = { week: 7 * DAY_MS, month: 30 * DAY_MS, year: 365 * DAY_MS, all: undefined }
type Period = keyof typeof PERIODS

const isPeriod = (name: string | null): name is Period => name !== null && name in PERIODS

/** All kinds over the same time, one below the other. */
export default function OverviewPage({ me }: PageProps) {
  const t = useText()
  const { query } = useAddress()
  const graph = useQuery(graphQuery(me.ehrId))
  const named = query.get('period')
  const period = isPeriod(named) ? named : 'month'
  const kind = query.get('kind')
  return (
    <>
      <Heading title={t('overview.title')} />
      <fieldset className="choice">
        <legend>{t('overview.period')}</legend>
        {(Object.keys(PERIODS) as Period[]).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === period}
            onClick={() =>
              navigate(`/overview?${new URLSearchParams({ period: name, ...(kind && { kind }) })}`, {
                replace: true,
              })
            }
          >
            {t(`period.${name}`)}
          </button>
        ))}
      </fieldset>
      {kind && (
        <p>
          <Link to={`/overview?period=${period}`}>{t('overview.all')}</Link>
        </p>
      )}
      <Loaded query={graph} lines={8}>
        {({ series }) => <Charts series={series} period={period} kind={kind} />}
      </Loaded>
    </>
  )
}

interface ChartsProps {
  series: readonly GraphSeries[]
  period: Period
  kind: string | null
}

function Charts({ series, period, kind }: ChartsProps) {
  const t = useText()
  const lines = useMemo(
    () => series.filter(({ points, measure }) => points.length > 0 && (kind === null || measure === kind)),
    [series, kind],
  )
  const { from, to } = useMemo(() => periodOf(period, lines), [period, lines])
  const groups = useMemo(
    () => [...Map.groupBy(lines, ({ measure, unit }) => `${measure} ${unit}`).values()],
    [lines],
  )
  if (groups.length === 0) return <p>{t('home.nothingMeasured')}</p>
  return groups.map((group) => <KindChart key={group[0]?.id} lines={group} from={from} to={to} />)
}

/** Until the end of today. */
function periodOf(period: Period, lines: readonly GraphSeries[]): { from: number; to: number } {
  const to = new Date().setHours(23, 59, 59, 999)
  const length = PERIODS[period]
  const first = Math.min(to - DAY_MS, ...lines.map(({ points }) => points[0]?.x ?? to))
  return { from: length === undefined ? first : to - length, to }
}

function KindChart({ lines, from, to }: { lines: GraphSeries[]; from: number; to: number }) {
  const [first] = lines
  const series = useMemo(
    () =>
      lines.map(({ id, measure, label, points }) => ({
        label: quantityName(id.slice(measure.length + 1), label),
        points,
      })),
    [lines],
  )
  if (!first) return null
  return (
    <Chart title={kindName(first.measure)} unit={unitName(first.unit)} series={series} from={from} to={to} />
  )
}
