import { inWholeDays, parsePeriod, soughtRange } from '../../records/fhir/search/search-values.ts'
import { parameterError } from '../outcome/issue.ts'

/** Whether a time, or a day, fits the text of a search parameter. @throws InvalidInput for a text that is no date */
export function fitsPeriod(date: string, name: string, text: string): boolean {
  const period = parsePeriod(text)
  if (!period) throw parameterError(name, 'format', 'must be a date')
  const at = Date.parse(date)
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = soughtRange(
    date.includes('T') ? period : inWholeDays(period),
  )
  return (at >= Number(from) && at < Number(to)) === (period.prefix !== 'ne')
}
