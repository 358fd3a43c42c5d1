import { useEffect, useState } from 'react'
import { useText } from '../texts/translate.ts'

/** Most answers come earlier, and nobody could read the text. */
const TEXT_DELAY_MS = 1000

/** Stands in for content that is on its way. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const t = useText()
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), TEXT_DELAY_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="skeleton" role="status">
      <p className={isSlow ? undefined : 'early'}>{t('loading')}</p>
      {Array.from({ length: lines }, (_, i) => `line-${i}`).map((key) => (
        <div key={key} className="skeleton-line" />
      ))}
    </div>
  )
}
