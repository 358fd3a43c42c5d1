import { useMemo } from 'react'
import { bandOf } from '../../model/newest-values.ts'
import { bandName, formatMoment, formatNumber } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { PageButtons, useTurnedPages } from '../table/page-buttons.tsx'
import { Table } from '../table/table.tsx'
import type { PlotSeries } from './plot.ts'

interface ValueTableProps {
  title: string
  unit: string
  series: readonly PlotSeries[]
}

/** A time with the value of each line. */
type Row = [at: number, ...values: (number | undefined)[]]

/** More at once would hold the page for a moment. */
const ROWS_PER_PAGE = 100

/** Newest first. */
function rowsOf(series: readonly PlotSeries[]): Row[] {
  const times = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => b - a)
  const columns = series.map(({ points }) => new Map(points.map(({ x, y }) => [x, y])))
  return times.map((at) => [at, ...columns.map((column) => column.get(at))])
}

/** The value, with the name of its band. */
function withBand(value: number, series: PlotSeries | undefined): string {
  const band = series && bandOf(series, value)
  return band ? `${formatNumber(value)} (${bandName(band.code, band.label)})` : formatNumber(value)
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

/** Lines of a CSV file, with times in UTC and decimal points, for spreadsheets and programs. */
const linesOf = (rows: readonly Row[]): string =>
  rows
    .map(
      ([at, ...values]) => `\r\n${[new Date(at).toISOString(), ...values.map((one) => one ?? '')].join(',')}`,
    )
    .join('')

/** The values of a graph as a table, which can be saved and printed. */
export function ValueTable({ title, unit, series }: ValueTableProps) {
  const t = useText()
  const rows = useMemo(() => rowsOf(series), [series])
  const pages = useTurnedPages<number>()
  const { position: from = 0 } = pages
  const end = from + ROWS_PER_PAGE
  const heads = [t('chart.time'), ...series.map(({ label }) => `${label} (${unit})`)]
  const lines = useMemo(() => encodeURIComponent(linesOf(rows)), [rows])
  const address = `data:text/csv;charset=utf-8,${encodeURIComponent(heads.map(quoted).join(','))}${lines}`
  return (
    <>
      <Table heads={heads} caption={<caption className="unseen">{title}</caption>}>
        {rows.slice(from, end).map(([at, ...values]) => (
          <tr key={at}>
            <th scope="row">{formatMoment(at)}</th>
            {values.map((value, i) => (
              <td key={heads[i + 1]}>{value === undefined ? '' : withBand(value, series[i])}</td>
            ))}
          </tr>
        ))}
      </Table>
      <PageButtons pages={pages} next={end < rows.length ? end : null} />
      <a href={address} download={`${title}.csv`}>
        {t('chart.csv')}
      </a>
    </>
  )
}
