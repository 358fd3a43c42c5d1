import type { MeasurementKind } from 'virtual:measurement-kinds'
import { Link } from '../../browser/router.tsx'
import { kindName, quantityName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { numbersText } from '../measurement/reading.ts'
import type { SavedMeasurement } from '../measurement/send-measurement.ts'

/** `isQueued`: it waits on this device, as there is no network. */
export type SavedReading = SavedMeasurement & { isQueued?: true }

interface SavedNoteProps {
  kind: MeasurementKind
  saved: readonly SavedReading[]
  onAgain: () => void
}

/** The note about a saved reading. Blood pressure is measured twice, a minute apart; then the mean counts. */
export function SavedNote({ kind, saved, onAgain }: SavedNoteProps) {
  const t = useText()
  const last = saved.slice(-1)
  const isPressure = kind.path === 'bloodpressure'
  const name = kindName(kind.path)
  const isSaidByNumber = kind.quantities.some((one) => quantityName(one.name, one.name) === name)
  const isQueued = last.some((one) => one.isQueued)
  return (
    <>
      <Heading title={t(isQueued ? 'queue.kept' : 'measure.saved')} />
      <p role="status">
        {!isSaidByNumber && `${name}: `}
        <Mean kind={kind} saved={last} />
      </p>
      {isQueued && <p>{t('queue.help')}</p>}
      {isPressure && saved.length === 1 && <p>{t('measure.second')}</p>}
      {saved.length > 1 && (
        <p>
          {t('measure.mean', { count: saved.length })} <Mean kind={kind} saved={saved} />
        </p>
      )}
      <div className="actions">
        <Link to="/" className="button primary">
          {t('measure.toHome')}
        </Link>
        <button type="button" onClick={onAgain}>
          {t('measure.again')}
        </button>
      </div>
    </>
  )
}

function Mean({ kind, saved }: Pick<SavedNoteProps, 'kind' | 'saved'>) {
  const means = kind.quantities.map(({ name }) => [
    name,
    saved.reduce((sum, one) => sum + Number(one[name]), 0) / saved.length,
  ])
  return <strong>{numbersText(kind, { ...saved[0], ...Object.fromEntries(means) })}</strong>
}
