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

const NUMBER = '-?\\d+(?:\\.\\d+)?'
/** `must be between 0.5 and 60 mmol/L, the possible values.`, `must be at least 1.` */
const LIMITS = new RegExp(
  `must be (?:between|from|within|at least|at most) (${NUMBER})(?: (?:and|to) (${NUMBER})(?: ([^ ,]+))?)?`,
)
const CHOICES = /must be one of (.+)/

const withoutDot = (text = ''): string => text.replace(/\.$/, '')

/** The limits or choices in a message of the service. */
function detailsIn(message: string): Record<string, string> | undefined {
  const [, choices] = CHOICES.exec(message) ?? []
  if (choices !== undefined) return { choices: withoutDot(choices) }
  const [, first, second = first, unit] = LIMITS.exec(message) ?? []
  if (first === undefined) return undefined
  const [min, max] = [first, second].map((one) => formatNumber(Number(one), 9))
  return { min: min ?? '', max: [max, unitName(withoutDot(unit))].join(' ').trim() }
}

/** A rule says different things of different fields: a text of the field comes first, then one with the details. */
export function violationText({ code, path, message, entry }: FormViolation): string {
  if (code === FOUND_HERE) return message
  const field = path.split('.').at(-1) ?? ''
  const details = detailsIn(message)
  const other = translateName(`violation.${code}`, translate('violation.other', { code, message }), { field })
  const general = details ? translateName(`violation.${code}.details`, other, details) : other
  const text = translateName(`violation.${code}.${field}`, general)
  return entry === undefined ? text : translate('violation.entry', { entry, text })
}
