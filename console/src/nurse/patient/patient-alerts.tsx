import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../model/me.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { AlertForm } from '../alerts/alert-form.tsx'
import { AlertRow } from '../alerts/alert-row.tsx'
import { useMarkSeen } from '../alerts/seen-alerts.ts'
import { type PatientAlert, type Selection, useSelection } from '../alerts/selection.ts'
import { patientWorkQuery } from '../alerts/worklist-query.ts'
import { Counts } from '../worklist/patient-entry.tsx'

/** The tasks of the professional for this patient, and the alerts that others have taken. */
export function PatientAlerts({ me: { ehrId, mvUid } }: { me: Me }) {
  const t = useText()
  const work = useQuery(patientWorkQuery(ehrId))
  const selection = useSelection(work.data ? [work.data] : [])
  const alerts = work.data?.openAlerts.map((alert) => ({ ...alert, ehrId })) ?? []
  useMarkSeen(alerts)
  const isTakenByOther = ({ alertState, takenBy }: PatientAlert) =>
    alertState === 'TAKEN' && takenBy !== mvUid
  const takenAlerts = alerts.filter(isTakenByOther)
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">{t('patient.waiting')}</h2>
      <Loaded query={work}>
        {(entry) =>
          entry === null ? (
            <p>{t('patient.nothingWaits')}</p>
          ) : (
            <>
              <Counts entry={entry} />
              <AlertList
                {...{ mvUid, selection }}
                alerts={alerts.filter((alert) => !isTakenByOther(alert))}
              />
              {takenAlerts.length > 0 && <h3>{t('patient.takenByOthers')}</h3>}
              <AlertList {...{ mvUid, selection }} alerts={takenAlerts} />
              {selection.isPossible && <AlertForm mvUid={mvUid} selection={selection} />}
            </>
          )
        }
      </Loaded>
    </section>
  )
}

interface AlertListProps {
  mvUid: string
  alerts: readonly PatientAlert[]
  selection: Selection
}

const AlertList = ({ mvUid, alerts, selection }: AlertListProps) =>
  alerts.length > 0 && (
    <ul className="alerts">
      {alerts.map((alert) => (
        <AlertRow key={alert.id} {...{ mvUid, alert, selection }} />
      ))}
    </ul>
  )
