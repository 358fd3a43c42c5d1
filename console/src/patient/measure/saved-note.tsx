import type { MeasurementKind } from 'virtual:measurement-kinds'
import { Link } from '../../browser/router.tsx'
import { formatNumber, kindName, quantityName, unitName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'

/** A stored measurement: its numbers with their units, as they were sent. */
export type SavedReading = Readonly<Record<string, unknown>> & { id: string }

interface SavedNoteProps {
  kind: MeasurementKind
  saved: readonly SavedReading[]
  onAgain: () => void
}

/** What was saved. Blood pressure is measured twice, a minute apart; then the mean counts. */
export function SavedNote({ kind, saved, onAgain }: SavedNoteProps) {
  const t = useText()
  const last = saved.slice(-1)
  const isPressure = kind.path === 'bloodpressure'
  return (
    <>
      <Heading title={t('measure.saved')} />
      <p role="status">
        {kindName(kind.path)}: <Mean kind={kind} saved={last} />
      </p>
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
  const texts = kind.quantities.map(({ name }) => {
    const unit = String(saved[0]?.[`${name}Unit`] ?? '')
    const mean = saved.reduce((sum, one) => sum + Number(one[name]), 0) / saved.length
    return `${quantityName(name, name)} ${formatNumber(mean)} ${unitName(unit)}`
  })
  return <strong>{texts.join(', ')}</strong>
}
