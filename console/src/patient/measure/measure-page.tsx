import kinds from 'virtual:measurement-kinds'
import { Link, useRoute } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { kindName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { QUESTIONNAIRES } from '../questionnaire/questionnaire-query.ts'
import { QueuedMeasurements } from '../queue/queued-measurements.tsx'
import { useRefused } from '../queue/refused-measurement.ts'
import { MeasureForm } from './measure-form.tsx'

/** Chooses what to measure, then asks for the values. */
export default function MeasurePage({ me }: PageProps) {
  const t = useText()
  const { query } = useRoute()
  const refusedMeasurement = useRefused(me)
  const kind = kinds.find(({ path }) => path === query.get('kind'))
  if (refusedMeasurement === null) return <Skeleton />
  if (kind)
    return <MeasureForm key={query.toString()} me={me} kind={kind} refusedMeasurement={refusedMeasurement} />
  return (
    <>
      <Heading title={t('measure.title')} />
      <QueuedMeasurements me={me} />
      <ul className="tiles">
        {kinds.map(({ path }) => (
          <li key={path}>
            <Link className="button" to={`/measure?kind=${path}`}>
              {kindName(path)}
            </Link>
          </li>
        ))}
      </ul>
      <h2>{t('questionnaire.title')}</h2>
      <ul className="tiles">
        {QUESTIONNAIRES.map((id) => (
          <li key={id}>
            <Link className="button" to={`/measure/questionnaire/${id}`}>
              {kindName(id)}
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
