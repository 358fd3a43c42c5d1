import kinds from 'virtual:measurement-kinds'
import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { mayWrite, participantsQuery, planQuery } from '../../model/health-record.ts'
import { atPatient, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { RecordHeading } from '../../patient/banner/record-heading.tsx'
import { PlanFacts } from '../../patient/plan/plan-facts.tsx'
import { thresholdsQuery } from '../../patient/plan/thresholds-query.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded, LoadedPage } from '../../ui/loaded.tsx'
import { ThresholdsForm } from './thresholds-form.tsx'

/** Outside which values the measurements of a plan raise alerts. */
export default function ThresholdsPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const { planId = '' } = params
  const plan = useQuery(planQuery(me.ehrId, planId))
  const participants = useQuery(participantsQuery(me.ehrId, planId))
  const planThresholds = useQuery(thresholdsQuery(me.ehrId, planId))
  return (
    <LoadedPage query={plan}>
      {({ name }) => (
        <>
          <RecordHeading me={me} title={t('thresholds.of', { plan: name })} />
          <p>{t('thresholds.help')}</p>
          <p>
            <Link to={recordPath(me)}>{t('back')}</Link>
          </p>
          <Loaded query={participants} lines={6}>
            {(items) =>
              mayWrite(items, me) ? (
                <Loaded query={planThresholds} lines={6}>
                  {({ thresholds }) =>
                    kinds
                      .filter(({ thresholds: { names } }) => names.length > 0)
                      .map((kind) => <ThresholdsForm key={kind.path} {...{ me, planId, kind, thresholds }} />)
                  }
                </Loaded>
              ) : (
                <>
                  <p className="note">{t('plan.readOnly')}</p>
                  <PlanFacts ehrId={me.ehrId} planId={planId} />
                </>
              )
            }
          </Loaded>
        </>
      )}
    </LoadedPage>
  )
}
