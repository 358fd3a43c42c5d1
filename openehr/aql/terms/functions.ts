import { numberOfTerm, type Term, textOfTerm } from './terms.ts'

type FunctionResult = string | number | boolean | undefined

/** A term as a text, for joining. */
const termText = (term: Term): string | undefined => {
  const found = textOfTerm(term) ?? numberOfTerm(term)
  return found === undefined ? undefined : String(found)
}

function applyToTexts(
  first: Term,
  second: Term,
  work: (one: string, other: string) => FunctionResult,
): FunctionResult {
  const [one, other] = [textOfTerm(first), textOfTerm(second)]
  return one === undefined || other === undefined ? undefined : work(one, other)
}

function applyToNumber(term: Term | undefined, work: (value: number) => number): FunctionResult {
  const value = term && numberOfTerm(term)
  if (value === undefined) return undefined
  const result = work(value)
  return Number.isFinite(result) ? result : undefined
}

/** Rounds half away from zero, as on paper. */
function roundHalfAwayFromZero(value: number, digits: number): number {
  const factor = 10 ** Math.max(-15, Math.min(15, Math.trunc(digits)))
  return (Math.sign(value) * Math.round(Math.abs(value) * factor)) / factor
}

/** Positions start at 1. */
function substringOf(text: Term, from: Term, length: Term | undefined): FunctionResult {
  const [value, start] = [textOfTerm(text), numberOfTerm(from)]
  const count = length ? numberOfTerm(length) : Number.POSITIVE_INFINITY
  if (value === undefined || start === undefined || count === undefined) return undefined
  const begin = Math.trunc(start) - 1
  return [...value].slice(Math.max(0, begin), Math.max(0, begin + Math.trunc(count))).join('')
}

const joinTexts = (separator: string, terms: readonly Term[]): FunctionResult =>
  terms.flatMap((term) => termText(term) ?? []).join(separator)

/** Applies a function to its arguments; undefined if an argument is missing or of the wrong type. */
export function applyFunction(name: string, terms: readonly Term[], now: Date): FunctionResult {
  const [first = { value: undefined }, second = { value: undefined }, third] = terms
  const at = now.toISOString()
  switch (name) {
    case 'LENGTH': {
      const text = textOfTerm(first)
      return text === undefined ? undefined : [...text].length
    }
    case 'CONTAINS':
      return applyToTexts(first, second, (text, part) => text.includes(part))
    case 'POSITION':
      return applyToTexts(first, second, (part, text) => text.indexOf(part) + 1)
    case 'SUBSTRING':
      return substringOf(first, second, third)
    case 'CONCAT':
      return joinTexts('', terms)
    case 'CONCAT_WS':
      return joinTexts(textOfTerm(first) ?? '', terms.slice(1))
    case 'ABS':
      return applyToNumber(first, Math.abs)
    case 'MOD':
      return applyToNumber(first, (value) => value % (numberOfTerm(second) ?? Number.NaN))
    case 'CEIL':
      return applyToNumber(first, Math.ceil)
    case 'FLOOR':
      return applyToNumber(first, Math.floor)
    case 'ROUND':
      return applyToNumber(first, (value) =>
        roundHalfAwayFromZero(value, terms[1] ? (numberOfTerm(second) ?? Number.NaN) : 0),
      )
    case 'CURRENT_DATE':
      return at.slice(0, 10)
    case 'CURRENT_TIME':
      return at.slice(11)
    case 'CURRENT_TIMEZONE':
      return 'Z'
    default:
      return at
  }
}
