import { useQuery } from '@tanstack/react-query'
import { Link, useRoute } from '../../browser/router.tsx'
import { graphQuery, plansQuery } from '../../model/health-record.ts'
import { useLiveWorklist } from '../../model/live.ts'
import { atPatient, type Me, recordPath } from '../../model/me.ts'
import { newestValues } from '../../model/newest-values.ts'
import type { PageProps } from '../../model/page-props.ts'
import { PatientBanner } from '../../patient/banner/patient-banner.tsx'
import { NewestList } from '../../patient/home/newest-list.tsx'
import { MeasurementList } from '../../patient/overview/measurement-list.tsx'
import { Charts, PeriodChoice } from '../../patient/overview/period-charts.tsx'
import { Plans } from '../../patient/plan/plan-list.tsx'
import { QueuedMeasurements } from '../../patient/queue/queued-measurements.tsx'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { PatientAlerts } from './patient-alerts.tsx'
import { SideForm } from './side-form.tsx'
import { useWritablePlans } from './writable-plans.ts'

/** The page of one patient: waiting alerts and tasks, last values, and the plan or a form next to the charts. */
export default function PatientPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  useLiveWorklist()
  const graph = useQuery(graphQuery(me.ehrId))
  const kind = useRoute().query.get('kind')
  return (
    <>
      <PatientBanner ehrId={me.ehrId} isHeading />
      <p className="links">
        <Link to={`${recordPath(me)}/record`}>{t('patient.record')}</Link>
        <Link to={`${recordPath(me)}/messages`}>{t('messages.title')}</Link>
      </p>
      <PatientAlerts me={me} />
      <section aria-labelledby="vitals">
        <h2 id="vitals">{t('patient.vitals')}</h2>
        <Loaded query={graph}>
          {({ series }) => <NewestList values={newestValues(series)} overview={recordPath(me)} />}
        </Loaded>
      </section>
      <div className="beside">
        <div>
          <QueuedMeasurements me={me} />
          <SideForm me={me} />
          <PlanColumn me={me} />
        </div>
        <section aria-labelledby="charts">
          <h2 id="charts">{t('overview.title')}</h2>
          <PeriodChoice />
          {kind && (
            <p>
              <Link to={recordPath(me)}>{t('overview.all')}</Link>
            </p>
          )}
          <Loaded query={graph} lines={8}>
            {({ series }) => <Charts series={series} kind={kind} />}
          </Loaded>
          {kind && <MeasurementList me={me} path={kind} />}
        </section>
      </div>
    </>
  )
}

function PlanColumn({ me }: { me: Me }) {
  const t = useText()
  const plans = useQuery(plansQuery(me.ehrId))
  const { plans: writable = [] } = useWritablePlans(me)
  return (
    <section aria-labelledby="plan">
      <h2 id="plan">{t('patient.plans')}</h2>
      <Loaded query={plans}>
        {(items) => (
          <>
            <Plans me={me} ids={items.map(({ id }) => id)} />
            {writable.length > 0 && (
              <ul className="rows">
                {writable.map(({ id, name }) => (
                  <li key={id}>
                    <Link to={`${recordPath(me)}/plan/${id}/thresholds`}>
                      {t('thresholds.of', { plan: name })}
                    </Link>
                    <Link to={`${recordPath(me)}/plan/${id}/alerts`}>
                      {t('alertRules.of', { plan: name })}
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}
