import { isProblem } from 'health-record-client'
import { useEffect, useSyncExternalStore } from 'react'
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

interface PageFailure {
  error: unknown
  retry: () => void
}

/** The parts of the page that the network or a busy service kept from loading. */
let pageFailures: readonly PageFailure[] = []
const listeners = new Set<() => void>()

function changeFailures(next: readonly PageFailure[]): void {
  pageFailures = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const WITHOUT_ANSWER = [0, 429, 502, 503, 504]

/** Whether the failure would meet each part of the page alike. */
const isOfPage = (error: unknown): boolean => isProblem(error) && WITHOUT_ANSWER.includes(error.status)

/**
 * The failure of a part of the page. One that would meet each part alike is in the note of the page.
 * @param retry stays the same function
 */
export function PartFailure({ error, retry }: PageFailure) {
  const isForPage = isOfPage(error)
  useEffect(() => {
    if (!isForPage) return
    const failure = { error, retry }
    changeFailures([...pageFailures, failure])
    return () => changeFailures(pageFailures.filter((one) => one !== failure))
  }, [isForPage, error, retry])
  return isForPage ? null : <FailureNote error={error} onRetry={retry} />
}

/** The failure that parts of the page have in common, with one button that loads all of them again. */
export function PageFailureNote() {
  const failures = useSyncExternalStore(subscribe, () => pageFailures)
  const [first] = failures
  if (!first) return null
  const retryAll = () => {
    for (const { retry } of failures) retry()
  }
  return <FailureNote error={first.error} onRetry={retryAll} />
}
