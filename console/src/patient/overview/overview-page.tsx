import { useQuery } from '@tanstack/react-query'
import { Link, useRoute } from '../../browser/router.tsx'
import { graphQuery } from '../../model/health-record.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { MeasurementList } from './measurement-list.tsx'
import { Charts, PeriodChoice, usePeriod } from './period-charts.tsx'

/** All kinds over the same time, one below the other. */
export default function OverviewPage({ me }: PageProps) {
  const t = useText()
  const { query } = useRoute()
  const graph = useQuery(graphQuery(me.ehrId))
  const period = usePeriod()
  const kind = query.get('kind')
  return (
    <>
      <Heading title={t('overview.title')} />
      <PeriodChoice />
      {kind && (
        <p>
          <Link to={`/overview?period=${period}`}>{t('overview.all')}</Link>
        </p>
      )}
      <Loaded query={graph} lines={8}>
        {({ series }) => <Charts series={series} kind={kind} />}
      </Loaded>
      {kind && <MeasurementList me={me} path={kind} />}
    </>
  )
}
