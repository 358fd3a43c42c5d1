import type { Band } from '../model/newest-values.ts'
import { bandName } from '../texts/format.ts'

/** Bands are numbered by severity from 0; a sign and words say what the colour says. */
const levelOf = (severity: number) => (severity <= 1 ? 'good' : severity <= 3 ? 'warn' : 'bad')
const signs = { good: '✓', warn: '▲', bad: '⬥' }

export function BandBadge({ band }: { band: Band }) {
  const level = levelOf(band.severity)
  return (
    <span className={`band ${level}`}>
      <span aria-hidden="true">{signs[level]} </span>
      {bandName(band.code, band.label)}
    </span>
  )
}
