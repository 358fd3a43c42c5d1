import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { mayWrite, participantsQuery, planQuery } from '../../model/health-record.ts'
import { atPatient, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { RecordHeading } from '../../patient/banner/record-heading.tsx'
import { useText } from '../../texts/translate.ts'
import { Loaded, LoadedPage } from '../../ui/loaded.tsx'
import { alertRulesQuery } from './alert-rules-query.ts'
import { EscalationSection } from './escalation-section.tsx'
import { ExpectedMeasurements } from './expected-measurements.tsx'
import { Mutes } from './mutes.tsx'

/** The rules of a plan for alerts: their recipients, expected measurements and muted alerts. */
export default function AlertRulesPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const { planId = '' } = params
  const plan = useQuery(planQuery(me.ehrId, planId))
  const participants = useQuery(participantsQuery(me.ehrId, planId))
  const rules = useQuery(alertRulesQuery(me.ehrId, planId))
  return (
    <LoadedPage query={plan}>
      {({ name }) => (
        <>
          <RecordHeading me={me} title={t('alertRules.of', { plan: name })} />
          <p>
            <Link to={recordPath(me)}>{t('back')}</Link>
          </p>
          <Loaded query={rules} lines={6}>
            {(data) => (
              <Loaded query={participants} lines={6}>
                {(items) => {
                  const props = { me, planId, rules: data, isWriter: mayWrite(items, me) }
                  return (
                    <>
                      {!props.isWriter && <p className="note">{t('plan.readOnly')}</p>}
                      <ExpectedMeasurements {...props} />
                      <Mutes {...props} />
                      <EscalationSection {...props} participants={items} />
                    </>
                  )
                }}
              </Loaded>
            )}
          </Loaded>
        </>
      )}
    </LoadedPage>
  )
}
