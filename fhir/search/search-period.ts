import { inWholeDays, parsePeriod, rangeOfPeriod } from '../../records/fhir/search/search-values.ts'
import { parameterError } from '../outcome/issue.ts'

/** Whether a time, or a day, matches the text of a search parameter. @throws InvalidInput for a text that is not a date */
export function matchesPeriod(date: string, name: string, text: string): boolean {
  const period = parsePeriod(text)
  if (!period) throw parameterError(name, 'format', 'must be a date')
  const time = Date.parse(date)
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = rangeOfPeriod(
    date.includes('T') ? period : inWholeDays(period),
  )
  return (time >= Number(from) && time < Number(to)) === (period.prefix !== 'ne')
}
