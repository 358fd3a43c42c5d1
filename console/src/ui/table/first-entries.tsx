import { type ReactNode, useState } from 'react'
import { useText } from '../../texts/translate.ts'

/**
 * The first entries of a list that is there as a whole, and a note with a button that shows more of them.
 * @param step how many to show at first, and more with each use of the button
 */
export function useFirstEntries<T>(entries: readonly T[], step: number): [first: T[], more: ReactNode] {
  const t = useText()
  const [count, setCount] = useState(step)
  const left = entries.length - count
  const more = left > 0 && (
    <p>
      {t('notShown', { count: left })}{' '}
      <button type="button" onClick={() => setCount(count + step)}>
        {t('showMore')}
      </button>
    </p>
  )
  return [entries.slice(0, count), more]
}
