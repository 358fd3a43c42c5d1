import { useEffect, useState } from 'react'
import { useText } from '../texts/translate.ts'

/** Most answers come earlier, and nobody could read the text. */
const TEXT_DELAY_MS = 1000
/** The client may wait much longer, as a service under load asks for it. */
const LONG_WAIT_MS = 8000

/** Whether the component is there for this long. */
function useIsAfter(delayMs: number): boolean {
  const [isAfter, setAfter] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setAfter(true), delayMs)
    return () => clearTimeout(timer)
  }, [delayMs])
  return isAfter
}

/** Says, after a moment, that something is on its way. Its place is there from the start, so that nothing moves. */
function LoadingText() {
  const t = useText()
  const isReadable = useIsAfter(TEXT_DELAY_MS)
  const isLong = useIsAfter(LONG_WAIT_MS)
  return <p className={isReadable ? undefined : 'early'}>{t(isLong ? 'longWait' : 'loading')}</p>
}

/** Says that the next page of a list is on its way, below the former one. */
export const TurningNote = () => (
  <div role="status">
    <LoadingText />
  </div>
)

/** Stands in for content that is on its way. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status">
      <LoadingText />
      {Array.from({ length: lines }, (_, i) => `line-${i}`).map((key) => (
        <div key={key} className="skeleton-line" />
      ))}
    </div>
  )
}

/** Says that something takes long, once it does. */
export function LongWaitNote() {
  const t = useText()
  const isLong = useIsAfter(LONG_WAIT_MS)
  return <p role="status">{isLong && t('longWait')}</p>
}
