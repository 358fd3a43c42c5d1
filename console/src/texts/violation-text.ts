import type { Violation } from 'health-record-client'
import { formatNumber, unitName } from './format.ts'
import { translate, translateName } from './translate.ts'

/** The code of faults that the console finds by itself; their messages are in the language of the reader. */
export const FOUND_HERE = 'here'

/** A violation in a form. */
export type FormViolation = Violation & {
  /** The wrong one of several entries in the field. */
  entry?: string
}

const limitText = (limit: number | undefined, unit: string): string =>
  limit === undefined ? '' : [formatNumber(limit, 9), unit].join(' ').trim()

/** The limits or choices of a violation for its text. */
function detailsOf({
  minimum,
  maximum,
  unit = '',
  choices,
}: FormViolation): Record<string, string> | undefined {
  if (choices) return { choices: choices.join(', ') }
  if (minimum === undefined && maximum === undefined) return undefined
  const unitText = unitName(unit)
  // The unit follows the last limit.
  return { min: limitText(minimum, maximum === undefined ? unitText : ''), max: limitText(maximum, unitText) }
}

/** A range without one of its ends is a limit. */
function ruleOf({ code, minimum, maximum }: FormViolation): string {
  if (code !== 'range' || (minimum === undefined) === (maximum === undefined)) return code
  return minimum === undefined ? 'maximum' : 'minimum'
}

/** A rule says different things of different fields: a text of the field comes first, then one with the details. */
export function violationText(violation: FormViolation): string {
  const { code, path, message, entry } = violation
  if (code === FOUND_HERE) return message
  const field = path.split('.').at(-1) ?? ''
  const rule = ruleOf(violation)
  const details = detailsOf(violation)
  const other = translateName(`violation.${rule}`, translate('violation.other', { code, message }), { field })
  const general = details ? translateName(`violation.${rule}.details`, other, details) : other
  const text = translateName(`violation.${rule}.${field}`, general)
  return entry === undefined ? text : translate('violation.entry', { entry, text })
}
