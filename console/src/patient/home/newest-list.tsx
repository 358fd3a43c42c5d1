import { Link } from '../../browser/router.tsx'
import type { NewestValue } from '../../model/newest-values.ts'
import { formatAge, formatMoment, formatNumber, spokenUnit, unitName } from '../../texts/format.ts'
import { translateName, useText } from '../../texts/translate.ts'
import { BandBadge } from '../../ui/band-badge.tsx'
import { Sparkline } from '../../ui/chart/sparkline.tsx'

/** `128/82 mmHg`, read aloud as `128 over 82 millimetres of mercury`. */
function ValueText({ values, unit }: Pick<NewestValue, 'values' | 'unit'>) {
  const t = useText()
  const numbers = values.map(({ value }) => formatNumber(value))
  return (
    <span className="value">
      <span aria-hidden="true">
        {numbers.join('/')} <small>{unitName(unit)}</small>
      </span>
      <span className="unseen">
        {numbers.join(` ${t('spoken.over')} `)} {spokenUnit(unit)}
      </span>
    </span>
  )
}

interface NewestListProps {
  values: readonly NewestValue[]
  /** The page that shows all values of a kind. */
  overview?: string
}

export function NewestList({ values, overview = '/overview' }: NewestListProps) {
  const t = useText()
  if (values.length === 0) return <p>{t('home.nothingMeasured')}</p>
  return (
    <ul className="cards">
      {values.map(({ measure, at, unit, values, band, line }) => (
        <li key={measure}>
          <h3>
            <Link to={`${overview}?kind=${measure}`}>
              {translateName(`kind.${measure}`, values[0]?.label ?? measure)}
            </Link>
          </h3>
          <p>
            <ValueText values={values} unit={unit} />
          </p>
          {band && (
            <p>
              <BandBadge band={band} />
            </p>
          )}
          <p className="help">
            <time dateTime={new Date(at).toISOString()} title={formatMoment(at)}>
              {formatAge(at)}
            </time>
          </p>
          <Sparkline points={line} />
        </li>
      ))}
    </ul>
  )
}
