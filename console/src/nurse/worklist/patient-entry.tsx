import { Link } from '../../browser/router.tsx'
import { formatDate, formatMoment } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { AlertRow } from '../alerts/alert-row.tsx'
import type { Selection } from '../alerts/selection.ts'
import type { WorklistEntry } from '../alerts/worklist-query.ts'

interface PatientEntryProps {
  mvUid: string
  entry: WorklistEntry
  selection: Selection
}

/** The needs of a patient in words, with the alerts. */
export function PatientEntry({ mvUid, entry, selection }: PatientEntryProps) {
  const t = useText()
  const { ehrId, name, birthDate, since, openAlerts } = entry
  const facts = [
    birthDate && t('patient.born', { date: formatDate(birthDate) }),
    since && t('worklist.since', { at: formatMoment(since) }),
  ]
  return (
    <li>
      <div className="grow">
        <h2>
          <Link to={`/patients/${ehrId}`}>{name ?? t('patient.unnamed', { ehrId })}</Link>
        </h2>
        <p className="help">{facts.filter(Boolean).join('. ')}</p>
        <Counts entry={entry} />
        {openAlerts.length > 0 && (
          <ul className="alerts">
            {openAlerts.map((alert) => (
              <AlertRow key={alert.id} mvUid={mvUid} alert={{ ...alert, ehrId }} selection={selection} />
            ))}
          </ul>
        )}
      </div>
    </li>
  )
}

const COUNTS = ['alerts', 'assigned', 'taken', 'missed', 'overdueTasks', 'unreadMessages'] as const

export function Counts({ entry }: Pick<PatientEntryProps, 'entry'>) {
  const t = useText()
  const texts = COUNTS.flatMap((name) =>
    entry[name] > 0 ? t(`worklist.${name}`, { count: entry[name] }) : [],
  )
  return <p>{texts.join(', ') || t('patient.nothingWaits')}</p>
}
