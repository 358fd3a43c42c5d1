import { useEffect, useMemo, useState } from 'react'
import { flushSync } from 'react-dom'
import { saveFile } from '../../browser/save-file.ts'
import { bandOf } from '../../model/newest-values.ts'
import { bandName, decimalText, formatMoment, formatNumber, toLocalTime } from '../../texts/format.ts'
import type { Language } from '../../texts/language.ts'
import { currentLanguage, useText } from '../../texts/translate.ts'
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
const ROWS_PER_PAGE = 25
/** On paper: about forty pages. A graph has at most 1,000 points a line. */
const MAX_PRINTED_ROWS = 2000

/** The newest rows first. They are among the latest points of each line, so the others need no look. */
const newestRows = (series: readonly PlotSeries[], count: number): Row[] =>
  rowsOf(series.map((one) => ({ ...one, points: one.points.slice(-count) }))).slice(0, count)

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

/** Spreadsheets calculate cells that begin so, and people name their own data. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

const quote = (text: string) => `"${FORMULA.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`

/** Spreadsheets otherwise take the letters for those of another alphabet. */
const BYTE_ORDER_MARK = '\ufeff'

/** Where numbers have a decimal comma, spreadsheets expect semicolons between values. */
const separatorOf = (language: Language): string => (language === 'nl' ? ';' : ',')

/** A CSV file as spreadsheets of the reader's language expect it, with local times as on the page. */
function csvOf(heads: readonly string[], rows: readonly Row[]): Blob {
  const lines = rows.map(([at, ...values]) => [
    toLocalTime(new Date(at)).replace('T', ' '),
    ...values.map((one) => (one === undefined ? '' : decimalText(one))),
  ])
  const separator = separatorOf(currentLanguage())
  const text = [heads.map(quote), ...lines].map((line) => line.join(separator)).join('\r\n')
  return new Blob([BYTE_ORDER_MARK + text], { type: 'text/csv;charset=utf-8' })
}

/** Whether the page is being printed. */
function useIsPrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    // The browser prints what is there when the listener returns.
    const start = () => flushSync(() => setPrinting(true))
    const end = () => setPrinting(false)
    window.addEventListener('beforeprint', start)
    window.addEventListener('afterprint', end)
    return () => {
      window.removeEventListener('beforeprint', start)
      window.removeEventListener('afterprint', end)
    }
  }, [])
  return isPrinting
}

/** The values of a graph as a table, which can be saved and printed. */
export function ValueTable({ title, unit, series }: ValueTableProps) {
  const t = useText()
  const pages = useTurnedPages<number>()
  const isPrinting = useIsPrinting()
  const { position = 0 } = pages
  const [from, end] = isPrinting ? [0, MAX_PRINTED_ROWS] : [position, position + ROWS_PER_PAGE]
  // One row more shows whether there is a next page.
  const rows = useMemo(() => newestRows(series, end + 1), [series, end])
  const heads = [t('chart.time'), ...series.map(({ label }) => `${label} (${unit})`)]
  return (
    <>
      <Table
        heads={heads}
        caption={<caption className="unseen">{title}</caption>}
        rows={rows.slice(from, end).map(([at, ...values]) => ({
          key: at,
          cells: [
            formatMoment(at),
            ...values.map((value, i) => (value === undefined ? '' : withBand(value, series[i]))),
          ],
        }))}
      />
      {isPrinting && end < rows.length && <p>{t('chart.printedRows', { count: MAX_PRINTED_ROWS })}</p>}
      <PageButtons pages={pages} next={end < rows.length ? end : null} />
      <button type="button" onClick={() => saveFile(`${title}.csv`, csvOf(heads, rowsOf(series)))}>
        {t('chart.csv')}
      </button>
    </>
  )
}
