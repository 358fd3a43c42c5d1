import { useQuery } from '@tanstack/react-query'
import { saveFile } from '../../browser/save-file.ts'
import { formatNumber } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { PageButtons, PLAIN_LABELS, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { Table } from '../../ui/table/table.tsx'
import { type AqlRequest, type AqlResult, aqlQuery, readCsv } from './aql-query.ts'

/** The rows of a query, by pages, and as a file. */
export function QueryResult({ request }: { request: AqlRequest }) {
  const t = useText()
  const pages = useTurnedPages<number>()
  const { position: offset = 0 } = pages
  const result = useQuery(aqlQuery(request, offset))
  const saving = useSubmit(async () => saveFile('query.csv', await readCsv(request)))
  return (
    <section aria-labelledby="result">
      <h2 id="result">{t('query.result')}</h2>
      <Loaded query={result} lines={6}>
        {(data) => (
          <>
            <p role="status">{countText(t, data, offset)}</p>
            {data.rows.length > 0 && <Rows result={data} offset={offset} />}
            <PageButtons pages={pages} next={data.meta.next_offset ?? null} labels={PLAIN_LABELS} />
          </>
        )}
      </Loaded>
      {saving.problem && <FailureNote error={saving.problem} />}
      <div className="actions">
        <button type="button" aria-disabled={saving.isBusy} onClick={saving.submit}>
          {t('chart.csv')}
        </button>
      </div>
    </section>
  )
}

function countText(t: ReturnType<typeof useText>, { rows, meta }: AqlResult, offset: number): string {
  if (rows.length === 0) return t('query.empty')
  const [from, to] = [offset + 1, offset + rows.length].map((one) => formatNumber(one))
  return t(meta.next_offset === undefined ? 'query.lastRows' : 'query.rows', { from, to })
}

function Rows({ result: { columns, rows }, offset }: { result: AqlResult; offset: number }) {
  const t = useText()
  return (
    <Table
      heads={['#', ...columns.map(({ name }) => name)]}
      caption={<caption className="unseen">{t('query.result')}</caption>}
      rows={rows.map((row, at) => {
        const number = offset + at + 1
        return {
          key: number,
          cells: [number, ...columns.map(({ name }, column) => <Cell key={name} value={row[column]} />)],
        }
      })}
    />
  )
}

/** Values as they are stored, so that they can be compared with the query; objects as JSON. */
function Cell({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span>–</span>
  return typeof value === 'object' ? <code>{JSON.stringify(value)}</code> : <span>{String(value)}</span>
}
