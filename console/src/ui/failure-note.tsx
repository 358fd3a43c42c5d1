import { isProblem } from 'health-record-client'
import { translateName, useText } from '../texts/translate.ts'

interface FailureNoteProps {
  error: unknown
  onRetry?: (() => void) | undefined
}

/** The reason of a failure, with the id by which the operator finds the request. */
export function FailureNote({ error, onRetry }: FailureNoteProps) {
  const t = useText()
  const problem = isProblem(error) ? error : undefined
  const { code, detail, title } = problem ?? {}
  const message = detail ?? title
  const text =
    problem &&
    translateName(`problem.${code}`, message ? t('problem.other', { code, message }) : t('failure.help'))
  return (
    <div role="alert" className="note bad">
      <p>{text ?? t('failure.help')}</p>
      {problem?.requestId && <p className="help">{t('failure.request', { id: problem.requestId })}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t('retry')}
        </button>
      )}
    </div>
  )
}
