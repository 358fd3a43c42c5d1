import { formatAge, formatMoment, personName } from '../../texts/format.ts'
import { translate, useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { useAlertSteps } from './alert-steps.ts'
import { alertText } from './alert-text.ts'
import type { PatientAlert, Selection } from './selection.ts'

/** A sign and a word say what the colour says. */
const LEVELS = { CRITICAL: 'bad', HIGH: 'bad', MODERATE: 'warn', LOW: 'good' } as const
const SIGNS = { CRITICAL: '◆', HIGH: '▲', MODERATE: '△', LOW: '○' } as const

function SeverityBadge({ severity }: Pick<PatientAlert, 'severity'>) {
  const t = useText()
  return (
    <span className={`band ${LEVELS[severity]}`}>
      <span aria-hidden="true">{SIGNS[severity]} </span>
      {t(`severity.${severity}`)}
    </span>
  )
}

/** The state of handling of an alert: who handles it, and since when. */
function stateText({ alertState, takenBy, takenByName, takenAt }: PatientAlert, mvUid: string): string {
  if (alertState !== 'TAKEN' || takenAt === null) return translate(`alertState.${alertState}`)
  const at = formatMoment(takenAt)
  return takenBy === mvUid
    ? translate('alert.takenByYou', { at })
    : translate('alert.takenBy', { who: personName(takenByName), at })
}

interface AlertRowProps {
  mvUid: string
  alert: PatientAlert
  selection: Selection
}

/** An alert. Who may handle it can tick it for a step with others, or take it with one button. */
export function AlertRow({ mvUid, alert, selection }: AlertRowProps) {
  const t = useText()
  const take = useAlertSteps()
  const taking = useSubmit(() => take([alert], { action: 'TAKE' }))
  const { id, start, alertState, mayHandle } = alert
  const text = alertText(alert)
  return (
    <li className="alert">
      {mayHandle ? (
        <label className="grow radio">
          <input type="checkbox" checked={selection.has(id)} onChange={() => selection.toggle(id)} />
          <span>
            {text} <SeverityBadge {...alert} />
          </span>
        </label>
      ) : (
        <span className="grow">
          {text} <SeverityBadge {...alert} />
        </span>
      )}
      <span className="help">
        <time dateTime={start} title={formatMoment(start)}>
          {formatAge(start)}
        </time>
        , {stateText(alert, mvUid)}
      </span>
      {mayHandle && alertState !== 'TAKEN' && (
        <button type="button" aria-disabled={taking.isBusy} onClick={taking.submit}>
          {t('alert.take')} <span className="unseen">{text}</span>
        </button>
      )}
      {taking.problem && <FailureNote error={taking.problem} />}
    </li>
  )
}
