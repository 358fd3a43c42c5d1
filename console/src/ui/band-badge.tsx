import { useId } from 'react'
import type { Band, BandRange } from '../model/newest-values.ts'
import { bandName, formatNumber } from '../texts/format.ts'
import { useText } from '../texts/translate.ts'

const levels = { NORMAL: 'good', BORDERLINE: 'warn', ALERT: 'bad' } as const
export const levelOf = ({ level }: Band) => levels[level]
/** A sign and words say what the colour says. */
const signs = { good: '✓', warn: '▲', bad: '◆' }

export function BandBadge({ band }: { band: Band }) {
  const level = levelOf(band)
  return (
    <span className={`band ${level}`}>
      <span aria-hidden="true">{signs[level]} </span>
      {bandName(band.code, band.label)}
    </span>
  )
}

interface BandListProps {
  bands: readonly BandRange[]
  /** The quantity whose bands they are, and its unit. */
  label: string
  unit: string
}

/** The names of bands with their limits. */
export function BandList({ bands, label, unit }: BandListProps) {
  const t = useText()
  const id = useId()
  if (bands.length === 0) return null
  const limitsOf = ({ from, to }: BandRange): string => {
    const limits = { from: formatNumber(from ?? 0), to: formatNumber(to ?? 0), unit }
    if (from === null) return to === null ? '' : t('bands.below', limits)
    return t(to === null ? 'bands.from' : 'bands.between', limits)
  }
  return (
    <>
      <p id={id}>{t('bands.of', { label })}</p>
      <ul className="bands" aria-labelledby={id}>
        {bands.map((band) => (
          <li key={band.code + band.from}>
            <BandBadge band={band} /> {limitsOf(band)}
          </li>
        ))}
      </ul>
    </>
  )
}
