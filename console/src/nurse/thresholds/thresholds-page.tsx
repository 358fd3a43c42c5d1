import kinds from 'virtual:measurement-kinds'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { planQuery } from '../../model/health-record.ts'
import { atPatient, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { PatientBanner } from '../../patient/banner/patient-banner.tsx'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { type Thresholds, ThresholdsForm } from './thresholds-form.tsx'

/** The thresholds of a care plan with their version. */
const thresholdsQuery = (ehrId: string, careplanId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'thresholds', careplanId),
    queryFn: async () => {
      const params = { path: { ehrId, careplanId } }
      const { data, response } = await api.GET('/ehr/{ehrId}/careplan/{careplanId}/thresholds', { params })
      return { thresholds: data as Thresholds, etag: response.headers.get('etag') ?? '"0"' }
    },
  })

/** Outside which values the measurements of a plan raise alerts. */
export default function ThresholdsPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const { planId = '' } = params
  const plan = useQuery(planQuery(me.ehrId, planId))
  const thresholds = useQuery(thresholdsQuery(me.ehrId, planId))
  return (
    <>
      <PatientBanner ehrId={me.ehrId} />
      <h2>{t('thresholds.of', { plan: plan.data?.name ?? '' })}</h2>
      <p>{t('thresholds.help')}</p>
      <p>
        <Link to={recordPath(me)}>{t('back')}</Link>
      </p>
      <Loaded query={thresholds} lines={6}>
        {(loaded) =>
          kinds
            .filter(({ thresholds: { names } }) => names.length > 0)
            .map((kind) => <ThresholdsForm key={kind.path} {...{ me, planId, kind, loaded }} />)
        }
      </Loaded>
    </>
  )
}
