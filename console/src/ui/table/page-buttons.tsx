import { startTransition, useState } from 'react'
import { type TextId, useText } from '../../texts/translate.ts'

/** The pages of a list that somebody has turned: the position of the present one, and of those before it. */
export interface TurnedPages<P> {
  /** undefined on the first page. */
  position: P | undefined
  turn(next: P): void
  turnBack?: (() => void) | undefined
}

export function useTurnedPages<P>(): TurnedPages<P> {
  const [positions, setPositions] = useState<P[]>([])
  // The click ends before the page renders.
  const show = (next: P[]) => startTransition(() => setPositions(next))
  return {
    position: positions.at(-1),
    turn(next) {
      // The button is that of the page before until the next one has arrived.
      if (next !== positions.at(-1)) show([...positions, next])
    },
    turnBack: positions.length > 0 ? () => show(positions.slice(0, -1)) : undefined,
  }
}

interface PageButtonsProps<P> {
  pages: TurnedPages<P>
  /** The position of the next page; null on the last one. */
  next: P | null
  /** Default: from newer to older entries. */
  labels?: { back: TextId; next: TextId }
}

const BY_AGE = { back: 'newer', next: 'older' } as const
/** For lists that are not in the order of time. */
export const PLAIN_LABELS = { back: 'previousPage', next: 'nextPage' } as const

/** The buttons to the pages before and after the present one. */
export function PageButtons<P>({ pages: { turn, turnBack }, next, labels = BY_AGE }: PageButtonsProps<P>) {
  const t = useText()
  if (!turnBack && next === null) return null
  return (
    <div className="actions">
      {turnBack && (
        <button type="button" onClick={turnBack}>
          {t(labels.back)}
        </button>
      )}
      {next !== null && (
        <button type="button" onClick={() => turn(next)}>
          {t(labels.next)}
        </button>
      )}
    </div>
  )
}
