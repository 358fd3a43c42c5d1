import kinds from 'virtual:measurement-kinds'
import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { type Me, recordPath } from '../../model/me.ts'
import { formatMoment, formatNumber, quantityName, unitName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { Table } from '../../ui/table/table.tsx'
import { type Measurement, measurementsQuery } from './measurements-query.ts'

/** The latest measurements of a kind, each with its history. */
export function MeasurementList({ me, path }: { me: Me; path: string }) {
  const t = useText()
  const measurements = useQuery(measurementsQuery(me.ehrId, path))
  const names = kinds.find((kind) => kind.path === path)?.quantities.map(({ name }) => name) ?? []
  return (
    <Loaded query={measurements}>
      {(items) => (
        <Table
          heads={[t('chart.time'), ...names.map((name) => quantityName(name, name)), t('history.title')]}
          endsWithLinks
          caption={<caption>{t('patient.latest')}</caption>}
          rows={items.map((item) => ({
            key: item.id,
            cells: [
              formatMoment(item.timestamp),
              ...names.map((name) => quantityText(item, name)),
              <Link key="history" to={`${recordPath(me)}/history/procedure/${path}/${item.id}`}>
                {t('history.show')} <span className="unseen">{formatMoment(item.timestamp)}</span>
              </Link>,
            ],
          }))}
        />
      )}
    </Loaded>
  )
}

const quantityText = (item: Measurement, name: string): string =>
  typeof item[name] === 'number' ? `${formatNumber(item[name])} ${unitName(String(item[`${name}Unit`]))}` : ''
