import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../model/me.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { AlertForm } from '../alerts/alert-form.tsx'
import { AlertRow } from '../alerts/alert-row.tsx'
import { useSelection } from '../alerts/selection.ts'
import { patientWorkQuery } from '../alerts/worklist-query.ts'
import { Counts } from '../worklist/patient-entry.tsx'

/** What waits for the professional at this patient. */
export function PatientAlerts({ me: { ehrId, mvUid } }: { me: Me }) {
  const t = useText()
  const work = useQuery(patientWorkQuery(ehrId))
  const selection = useSelection(work.data ? [work.data] : [])
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
              <ul className="alerts">
                {entry.openAlerts.map((alert) => (
                  <AlertRow key={alert.id} alert={{ ...alert, ehrId }} selection={selection} />
                ))}
              </ul>
              {entry.openAlerts.length > 0 && <AlertForm mvUid={mvUid} selection={selection} />}
            </>
          )
        }
      </Loaded>
    </section>
  )
}
