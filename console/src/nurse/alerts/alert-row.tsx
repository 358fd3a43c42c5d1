import { formatAge, formatMoment } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { useAlertSteps } from './alert-steps.ts'
import { alertText } from './alert-text.ts'
import type { PlacedAlert, Selection } from './selection.ts'

/** A sign and a word say what the colour says. */
const LEVELS = { CRITICAL: 'bad', HIGH: 'bad', MODERATE: 'warn', LOW: 'good' } as const
const SIGNS = { CRITICAL: '◆', HIGH: '▲', MODERATE: '△', LOW: '○' } as const

function SeverityBadge({ severity }: Pick<PlacedAlert, 'severity'>) {
  const t = useText()
  return (
    <span className={`band ${LEVELS[severity]}`}>
      <span aria-hidden="true">{SIGNS[severity]} </span>
      {t(`severity.${severity}`)}
    </span>
  )
}

interface AlertRowProps {
  alert: PlacedAlert
  selection: Selection
}

/** An alert that can be ticked for a step with others, and taken with one button. */
export function AlertRow({ alert, selection }: AlertRowProps) {
  const t = useText()
  const take = useAlertSteps()
  const taking = useSubmit(() => take([alert], { action: 'TAKE' }))
  const { id, start, alertState } = alert
  const text = alertText(alert)
  return (
    <li className="alert">
      <label className="grow radio">
        <input type="checkbox" checked={selection.has(id)} onChange={() => selection.toggle(id)} />
        <span>
          {text} <SeverityBadge {...alert} />
        </span>
      </label>
      <span className="help">
        <time dateTime={start} title={formatMoment(start)}>
          {formatAge(start)}
        </time>
        , {t(`alertState.${alertState}`)}
      </span>
      {alertState !== 'TAKEN' && (
        <button type="button" aria-disabled={taking.isBusy} onClick={taking.submit}>
          {t('alert.take')} <span className="unseen">{text}</span>
        </button>
      )}
      {taking.problem && <FailureNote error={taking.problem} />}
    </li>
  )
}
